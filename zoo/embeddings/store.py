"""EmbeddingStore: a folder of encoded images and texts, with a bound on its size.

    FOLDER/GROUP/*.safetensors   items of one kind, in the format of `shards.py`
    FOLDER.lock                  locked while files are added to a bounded cache

Files are written atomically and never change, so that readers need no lock and killed processes
leave nothing half-written. The time of a file is that of its last use.
"""

import logging
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError, safe_open

from zoo.errors import ZooError
from zoo.support.caches import exclusive_lock
from zoo.support.files import build_write_error, remove_leftovers, write_bytes

log = logging.getLogger(__name__)

GIB = 1 << 30
SUFFIX = ".safetensors"
SHARE = 4  # a file has at most this fraction of the limit
RECOUNT = 64  # the size is measured again after this fraction of the limit was written
FRESH = 3600  # seconds for which a use is not recorded again
DAMAGE = (SafetensorError, KeyError, TypeError, ValueError)  # errors of a damaged file


@dataclass(frozen=True)
class StoreSummary:
    """The size of a store.

    Attributes:
        entries: Number of entries, each a vector or the tokens of an item.
        bytes: Size of all files.
    """

    entries: int
    bytes: int


class EmbeddingStore:
    """A folder of files of embeddings.

    `add` deletes the least recently used files if there is not enough space. Users that must not
    lose a file compare `size` with `limit` and write it themselves.

    Args:
        folder: The folder; it is created on the first write.
        limit: Maximum size in bytes.
        setting: The setting that changes the folder, for error messages.
    """

    def __init__(self, folder: Path, limit: int, setting: str = "--cache") -> None:
        self.folder, self.limit, self.setting = folder, limit, setting
        self._bytes: int | None = None  # when last measured
        self._added = 0  # since then

    @property
    def size(self) -> int:
        """The size of all files."""
        return sum(size for _, size, _ in self._files())

    def summarize(self) -> StoreSummary:
        """Returns the number of entries and the size.

        Raises:
            ZooError: A file is damaged.
        """
        entries = size = 0
        for _, file_size, file in self._files():
            try:
                with safe_open(file, framework="numpy") as content:
                    entries += content.get_slice("pooled").get_shape()[0]
            except (OSError, *DAMAGE) as error:
                raise ZooError(
                    f"{file} was damaged ({error}): the next run that reads it deletes it, and so "
                    "does `zoo doctor --empty_cache`"
                ) from error
            size += file_size
        return StoreSummary(entries, size)

    def delete_all_files(self) -> None:
        """Deletes all files of embeddings.

        Raises:
            ZooError: The system refuses.
        """
        self._bytes = None
        try:
            for _, _, file in self._files():
                file.unlink(missing_ok=True)
            for group in self.folder.glob("*/"):
                remove_leftovers(group)
                with suppress(OSError):  # it has other files
                    group.rmdir()
        except OSError as error:
            raise build_write_error(self.folder, error) from error

    def add(self, file: Path, content: bytes) -> None:
        """Writes a file, after deleting the least recently used ones if space is needed.

        If several processes write, each may exceed the limit by 1/64 of it.

        Args:
            file: The file, in a subfolder of the folder.
            content: Its content, at most a quarter of the limit.

        Raises:
            ZooError: The folder cannot be used.
        """
        size = len(content)
        with exclusive_lock(self.folder, self.setting):
            if (
                self._bytes is None
                or self._bytes + self._added + size > self.limit
                or self._added > self.limit // RECOUNT
            ):
                try:
                    self._bytes, self._added = self._evict_files(size), 0
                except OSError as error:
                    raise build_write_error(self.folder, error) from error
            write_bytes(file, content, clean_up=False)
            self._added += size

    def _evict_files(self, size: int) -> int:
        """Deletes the least recently used files until there is space; returns the size of the rest.

        Args:
            size: Bytes of the new file.
        """
        files = sorted(self._files())
        total = sum(file_size for _, file_size, _ in files)
        if total + size <= self.limit:
            return total
        allowed = self.limit - size - self.limit // 20  # delete more, so that this is rare
        for _, file_size, file in files:
            if total <= allowed:
                break
            file.unlink(missing_ok=True)
            total -= file_size
        return total

    def _files(self) -> list[tuple[int, int, Path]]:
        """Returns time, size and path of every file."""
        files = []
        for file in self.folder.glob(f"*/*{SUFFIX}"):
            with suppress(FileNotFoundError):  # another process has deleted it
                stat = file.stat()
                files.append((stat.st_mtime_ns, stat.st_size, file))
        return files


def record_use(file: Path) -> None:
    """Sets the time of a file to now, unless that was done a short time ago."""
    with suppress(OSError):  # deleted, or in a folder that is only read
        if time.time() - file.stat().st_mtime > FRESH:
            os.utime(file)


def discard_damaged(file: Path, error: Exception) -> None:
    """Deletes a damaged file, with a warning.

    Raises:
        ZooError: The system refuses.
    """
    try:
        file.unlink(missing_ok=True)
    except OSError as refusal:
        raise build_write_error(file, refusal) from error
    log.warning(
        "%s was damaged (%s) and has been deleted: its items will be encoded again", file, error
    )
