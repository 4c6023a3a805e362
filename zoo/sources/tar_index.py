"""Tar index: where the members of a tar lie, in an arrow file that all processes map.

It has a row a member, in the tar's order: its name, where its bytes begin, their number, and of a
small text the bytes themselves. It lies beside its tar, as TAR.arrow, where the tar was packed
here. That of any other tar is made once and kept, by the place, size and times of the tar.
"""

import hashlib
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.sources.places import file_exists, is_url, part, size_and_mark
from zoo.sources.tars import members
from zoo.support.caches import cache_folder, exclusive_lock
from zoo.support.files import write_atomically, write_bytes

VERSION = b"1"
SUFFIX = ".arrow"
KEPT = "tar_indices"
TEXTS = (".txt", ".json")
SMALL = 1 << 20  # bytes; a longer text is no caption
HEADER = tarfile.BLOCKSIZE
ROWS = 4096  # held as objects of Python at a time
SCHEMA = pa.schema(
    {"name": pa.string(), "start": pa.int64(), "size": pa.int64(), "text": pa.binary()}
)


class Tars:
    """Reads members of tars by their indices, each of which is mapped once."""

    def __init__(self) -> None:
        self._indices: dict[str, tuple[Path, pa.Table]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Returns what another process is sent; it maps the indices itself."""
        return {"_indices": {}}

    def index(self, place: str) -> Path:
        """Returns the file of a tar's index.

        Args:
            place: Path or URL of the tar.

        Raises:
            ZooError: The tar is not there, or not whole.
        """
        return self._open(place)[0]

    def member(self, place: str, name: str) -> bytes | None:
        """Returns the bytes of a member, None where there is none of that name.

        Args:
            place: Path or URL of the tar.
            name: The name of the member.

        Raises:
            ZooError: The tar is not whole, or not the one that its index is of.
        """
        file, table = self._open(place)
        row = pc.index(table["name"], name).as_py()
        if row < 0:
            return None
        start, size = table["start"][row].as_py(), table["size"][row].as_py()
        content = part(place, start - HEADER, HEADER + size)
        if len(content) < HEADER + size:
            raise ZooError(f"{place} ends within {name}: fetch the file again")
        if not _is_of(content[:HEADER], name, size):
            raise ZooError(
                f"{place}#{name} is not where {file} says, which is the index of another tar: "
                "delete that index, and it is made anew"
            )
        return content[HEADER:]

    def _open(self, place: str) -> tuple[Path, pa.Table]:
        if place not in self._indices:
            file = index_of(place)
            self._indices[place] = file, read_index(file)
        return self._indices[place]


def _is_of(header: bytes, name: str, size: int) -> bool:
    """Returns whether a member's header is that of this name and size."""
    try:
        found = tarfile.TarInfo.frombuf(header, tarfile.ENCODING, "surrogateescape")
    except tarfile.HeaderError:
        return False
    # a name that is too long for a header stands before it
    return found.size == size and (found.name == name or len(name.encode()) >= tarfile.LENGTH_NAME)


def index_of(place: str) -> Path:
    """Returns the file of a tar's index, which the first process to ask makes while others wait.

    Args:
        place: Path or URL of the tar.

    Raises:
        ZooError: The tar is not there or not whole, or the index beside it is of another.
    """
    size, mark = size_and_mark(place)
    beside = f"{place}{SUFFIX}"
    if not is_url(place) and file_exists(beside):
        read_index(Path(beside), of=size)
        return Path(beside)
    key = hashlib.sha256(f"{VERSION!r} {place} {size} {mark}".encode()).hexdigest()[:16]
    file = cache_folder(KEPT) / key / f"{place.rpartition('/')[2]}{SUFFIX}"
    if file.is_file():
        return file
    with exclusive_lock(file.parent, "$XDG_CACHE_HOME"):
        if not file.is_file():
            if file_exists(beside):
                write_bytes(file, part(beside, 0, size_and_mark(beside)[0]))
                read_index(file, of=size)
            else:
                write_index(place, file)
    return file


def write_index(place: str, file: Path) -> None:
    """Goes through a tar and writes its index, which appears when it is whole.

    Args:
        place: Path or URL of the tar.
        file: The index to write.

    Raises:
        ZooError: The tar is not whole, or the index cannot be written.
    """
    size, _ = size_and_mark(place)
    schema = SCHEMA.with_metadata({"version": VERSION, "size": str(size)})
    with (
        write_atomically(file) as written,
        pa.OSFile(str(written), "wb") as out,
        pa.ipc.new_file(out, schema) as table,
    ):
        rows: list[dict[str, Any]] = []
        for row in _rows(place):
            rows.append(row)
            if len(rows) == ROWS:
                table.write_batch(pa.RecordBatch.from_pylist(rows, schema))
                rows = []
        table.write_batch(pa.RecordBatch.from_pylist(rows, schema))


def _rows(place: str) -> Iterator[dict[str, Any]]:
    for member, text in members(place, _is_text):
        try:
            member.name.encode()
        except UnicodeEncodeError as error:
            raise ZooError(
                f"{place} has a member {member.name!r}, whose name is not UTF-8: rename it"
            ) from error
        yield {
            "name": member.name,
            "start": member.offset_data,
            "size": member.size,
            "text": text,
        }


def _is_text(member: tarfile.TarInfo) -> bool:
    return member.name.lower().endswith(TEXTS) and member.size <= SMALL


def read_index(file: Path, of: int | None = None) -> pa.Table:
    """Returns an index, which stays on disk.

    Args:
        file: The index.
        of: Size of the tar that it should be of; not asked where None.

    Raises:
        ZooError: It is not whole, of another version, or of another tar.
    """
    mend = "delete that index, and it is made anew"
    try:
        table = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
    except (OSError, pa.ArrowException) as error:
        raise ZooError(f"{file} is not a whole index of a tar ({error}): {mend}") from error
    said = table.schema.metadata or {}
    if said.get(b"version") != VERSION or table.schema.names != SCHEMA.names:
        raise ZooError(f"{file} is no index of a tar as this version writes it: {mend}")
    if of is not None and said.get(b"size") != str(of).encode():
        raise ZooError(
            f"{file} is the index of a tar of {int(said[b'size']):,} bytes, and the tar has "
            f"{of:,}: fetch the tar again where it was cut off; where it is meant, {mend}"
        )
    return table
