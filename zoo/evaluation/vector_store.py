"""Embedding store: encoded items as bytes by key in an SQLite file, shared by concurrent runs.

SQLite's transactions leave nothing half-written when a process is killed. Every entry has a
checksum; damaged entries are ignored. A file that is not a valid database is deleted.
"""

import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from zoo.errors import ZooError
from zoo.support.caches import cache_folder
from zoo.support.ranges import PositiveNumber, RangedType

log = logging.getLogger(__name__)

PLACE = "ZOO_EMBEDDINGS"  # the environment variable with the folder of vectors
OFF = "off"
GIB = 1 << 30
FILE = "embeddings.sqlite"
WAIT = 60.0  # seconds that a run waits for another that writes
PAGE = 1 << 15  # bytes; several vectors fit on a page
SHARE = 4  # at most this fraction of the limit is written at once
KEYS_AT_ONCE = 500
FRESH = 3600  # seconds for which a use is not recorded again
SETTINGS = f"""
PRAGMA page_size = {PAGE};
PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA synchronous = OFF;
"""
SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, used INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (
    id INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_use ON entries (used, id);
"""

T = TypeVar("T")


@dataclass(frozen=True)
class StoreSummary:
    """The size of a store.

    Attributes:
        entries: Number of entries, each a vector or the tokens of an item.
        bytes: Size of the file.
    """

    entries: int
    bytes: int


@dataclass(frozen=True)
class EmbeddingCache(metaclass=RangedType):
    """A cache of pooled vectors, so that further runs need not encode them.

    Args:
        folder: Folder of the vectors. None takes that of $ZOO_EMBEDDINGS, or else `zoo/embeddings`
            in the user's cache folder.
        limit_gib: Maximum size in GiB. The least recently used entries are deleted first.
        tokens: Whether the tokens that a head reads are stored as well. They need about fifty times
            the space of a vector.
    """

    folder: str | None = None
    limit_gib: PositiveNumber = 4.0
    tokens: bool = False

    @property
    def place(self) -> Path | None:
        """The folder, None if the environment turns the cache off."""
        folder = self.folder or os.environ.get(PLACE)
        if folder == OFF:
            return None
        return Path(folder).expanduser() if folder else cache_folder("embeddings")

    @property
    def store(self) -> "VectorStore | None":
        """The vectors of all models, None if the environment turns the cache off."""
        folder = self.place
        return None if folder is None else VectorStore(folder, int(self.limit_gib * GIB))


class VectorStore:
    """Bytes by key; the least recently used entries are deleted first.

    Args:
        folder: Folder of the file; it is created on the first write.
        limit: Maximum size in bytes.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.file, self.limit = folder / FILE, limit

    def has(self, keys: Iterable[bytes]) -> set[bytes]:
        """Returns the keys that exist, which counts as a use of them.

        Raises:
            ZooError: The file cannot be used.
        """
        if not self.file.exists():
            return set()
        with self._connect() as database:
            return {
                key for (key,) in self._select_rows(database, list(keys), "SELECT key FROM entries")
            }

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Returns the contents that exist and are undamaged, by key.

        Raises:
            ZooError: The file cannot be used.
        """
        contents = dict[bytes, bytes]()
        if not self.file.exists():
            return contents
        select = "SELECT key, checksum, vector FROM entries LEFT JOIN vectors USING (id)"
        with self._connect() as database:
            damaged = 0
            for key, checksum, content in self._select_rows(database, list(keys), select):
                if content is not None and checksum == _checksum(key, content):
                    contents[key] = content
                else:
                    damaged += 1
            if damaged:
                log.warning(
                    "%s holds %s damaged vectors, which will be encoded again",
                    self.file,
                    f"{damaged:,}",
                )
        return contents

    def put(self, contents: Mapping[bytes, bytes]) -> None:
        """Stores contents, and deletes others if there is not enough space.

        An entry that is larger than a share of the limit is not stored.

        Raises:
            ZooError: The file cannot be used.
        """
        with self._connect() as database:
            for group in _groups(contents, self.limit // SHARE):
                self._put(database, group)

    def _put(self, database: sqlite3.Connection, contents: Mapping[bytes, bytes]) -> None:
        """Stores contents, all or none."""
        now = int(time.time())
        database.execute("BEGIN IMMEDIATE")
        self._free_space(database, sum(map(_size_on_disk, contents.values())))
        database.executemany(
            "INSERT OR IGNORE INTO entries (key, used) VALUES (?, ?)",
            [(key, now) for key in contents],
        )
        database.executemany(
            "INSERT OR REPLACE INTO vectors SELECT id, ?, ? FROM entries WHERE key = ?",
            ((_checksum(key, content), content, key) for key, content in contents.items()),
        )
        database.execute("COMMIT")
        if self.file.stat().st_size > self.limit:
            database.executescript("PRAGMA incremental_vacuum;")

    def _select_rows(
        self, database: sqlite3.Connection, keys: Sequence[bytes], select: str
    ) -> Iterator[tuple[Any, ...]]:
        """Yields the rows of some keys, and records their use."""
        now = int(time.time())
        for chunk in _chunks(keys, KEYS_AT_ONCE):
            placeholders = f"({','.join('?' * len(chunk))})"
            yield from database.execute(f"{select} WHERE key IN {placeholders}", chunk)
            database.execute(
                f"UPDATE entries SET used = ? WHERE used < ? AND key IN {placeholders}",
                [now, now - FRESH, *chunk],
            )

    def summarize(self) -> StoreSummary:
        """Returns the number of entries and the size.

        Raises:
            ZooError: The file cannot be used.
        """
        if not self.file.exists():
            return StoreSummary(0, 0)
        with self._connect() as database:
            ((entries,),) = database.execute("SELECT count(*) FROM entries")
        return StoreSummary(entries, self.file.stat().st_size)

    def empty(self) -> None:
        """Deletes everything.

        Raises:
            ZooError: The file cannot be used.
        """
        if self.file.exists():
            with self._connect() as database:
                database.executescript("DELETE FROM vectors; DELETE FROM entries; VACUUM;")

    def _free_space(self, database: sqlite3.Connection, size: int) -> None:
        """Deletes the least recently used entries until there is space for new contents.

        Args:
            database: The database, in a transaction.
            size: Bytes of the new contents.
        """
        allowed = self.limit - size
        while (size_in_use := _bytes_in_use(database)) > allowed:
            ((entries,),) = database.execute("SELECT count(*) FROM entries")
            if not entries:
                return
            excess = size_in_use - allowed + self.limit // 20  # delete more, so that this is rare
            oldest = database.execute(
                "SELECT id FROM entries ORDER BY used, id LIMIT ?",
                [-(-excess * entries // size_in_use)],
            ).fetchall()
            for table in ("entries", "vectors"):
                database.executemany(f"DELETE FROM {table} WHERE id = ?", oldest)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Yields a connection, closed before any process is forked.

        Raises:
            ZooError: The file cannot be used.
        """
        try:
            with self._open_database() as database:
                yield database
        except sqlite3.OperationalError as error:
            raise ZooError(
                f"{self.file} cannot be used ({error}): check its permissions and the free space, "
                "or set another folder with --cache"
            ) from error
        except sqlite3.DatabaseError as error:
            for file in (self.file, Path(f"{self.file}-journal")):
                file.unlink(missing_ok=True)
            raise DamagedStoreError(
                f"{self.file} was damaged ({error}) and has been deleted: its vectors will be "
                "encoded again"
            ) from error
        except OSError as error:
            raise ZooError(
                f"{self.file} cannot be used ({error.strerror or error}): set another folder with "
                "--cache"
            ) from error

    @contextmanager
    def _open_database(self) -> Iterator[sqlite3.Connection]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self.file, timeout=WAIT, isolation_level=None)
        try:
            # checksums detect entries that a loss of power left incomplete
            database.executescript(SETTINGS + SCHEMA)
            yield database
        finally:
            database.close()


class DamagedStoreError(ZooError):
    """A store was not a valid database and has been deleted."""


def _bytes_in_use(database: sqlite3.Connection) -> int:
    ((pages,),), ((free,),) = (
        database.execute(f"PRAGMA {name}").fetchall() for name in ("page_count", "freelist_count")
    )
    return int(pages - free) * PAGE


def _size_on_disk(content: bytes) -> int:
    """Returns the bytes of a content on disk: large contents occupy whole pages."""
    size = len(content)
    return size if size <= PAGE // 8 else (size // PAGE + 1) * PAGE


def _groups(contents: Mapping[bytes, bytes], limit: int) -> Iterator[dict[bytes, bytes]]:
    """Splits contents into groups of limited size, without contents that are too large.

    Args:
        contents: The contents by key.
        limit: Maximum bytes on disk of a group.
    """
    group, group_size = dict[bytes, bytes](), 0
    for key, content in contents.items():
        size = _size_on_disk(content)
        if size > limit:
            continue
        if group_size + size > limit:
            yield group
            group, group_size = {}, 0
        group[key], group_size = content, group_size + size
    if group:
        yield group


def _checksum(key: bytes, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(key))


def _chunks(items: Sequence[T], size: int) -> Iterator[list[T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk
