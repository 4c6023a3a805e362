"""Tar index: the positions of the members of a tar, in an Arrow file that all processes map.

It has one row per member, in the order of the tar: its name, the position and number of its bytes,
and the bytes themselves if it is a small text. `zoo data pack` writes the index next to each tar,
as TAR.arrow. The index of any other tar is built once and cached by the place, size and times of
the tar.
"""

import hashlib
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.sources.remote_files import file_exists, is_url, read_range, size_and_version
from zoo.sources.tars import read_members
from zoo.support.caches import cache_folder, exclusive_lock
from zoo.support.files import write_atomically, write_bytes

VERSION = b"1"
SUFFIX = ".arrow"
CACHE_NAME = "tar_indices"
TEXTS = (".txt", ".json")
MAX_TEXT_BYTES = 1 << 20  # bytes; a longer text is not a caption
HEADER = tarfile.BLOCKSIZE
ROWS = 4096  # rows that are Python objects at a time
SCHEMA = pa.schema(
    {"name": pa.string(), "start": pa.int64(), "size": pa.int64(), "text": pa.binary()}
)


class Tars:
    """Reads members of tars through their indices. Each index is mapped once."""

    def __init__(self) -> None:
        self._indices: dict[str, tuple[Path, pa.Table]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Returns an empty state: each process maps the indices itself."""
        return {"_indices": {}}

    def index(self, place: str) -> Path:
        """Returns the file of a tar's index.

        Args:
            place: Path or URL of the tar.

        Raises:
            ZooError: The tar is missing or incomplete.
        """
        return self._open(place)[0]

    def member(self, place: str, name: str) -> bytes | None:
        """Returns the bytes of a member, or None if there is no such member.

        Args:
            place: Path or URL of the tar.
            name: The name of the member.

        Raises:
            ZooError: The tar is incomplete, or does not match its index.
        """
        file, table = self._open(place)
        row = pc.index(table["name"], name).as_py()
        if row < 0:
            return None
        start, size = table["start"][row].as_py(), table["size"][row].as_py()
        content = read_range(place, start - HEADER, HEADER + size)
        if len(content) < HEADER + size:
            raise ZooError(f"{place} ends within {name}: download the file again")
        if not _header_matches(content[:HEADER], name, size):
            raise ZooError(
                f"{place}#{name} is not at the position given in {file}, which is the index of "
                "another tar: delete the index, and it will be built again"
            )
        return content[HEADER:]

    def _open(self, place: str) -> tuple[Path, pa.Table]:
        if place not in self._indices:
            file = find_or_build_tar_index(place)
            self._indices[place] = file, read_index(file)
        return self._indices[place]


def _header_matches(header: bytes, name: str, size: int) -> bool:
    """Returns whether a member's header has this name and size."""
    try:
        info = tarfile.TarInfo.frombuf(header, tarfile.ENCODING, "surrogateescape")
    except tarfile.HeaderError:
        return False
    # a name that is too long for the header is stored in front of it
    return info.size == size and (info.name == name or len(name.encode()) >= tarfile.LENGTH_NAME)


def find_or_build_tar_index(place: str) -> Path:
    """Returns the file of a tar's index. One process builds it while others wait.

    Args:
        place: Path or URL of the tar.

    Raises:
        ZooError: The tar is missing or incomplete, or the index next to it is of another tar.
    """
    size, mark = size_and_version(place)
    index_place = f"{place}{SUFFIX}"
    if not is_url(place) and file_exists(index_place):
        read_index(Path(index_place), tar_size=size)
        return Path(index_place)
    key = hashlib.sha256(f"{VERSION!r} {place} {size} {mark}".encode()).hexdigest()[:16]
    file = cache_folder(CACHE_NAME) / key / f"{place.rpartition('/')[2]}{SUFFIX}"
    if file.is_file():
        return file
    with exclusive_lock(file.parent, "$XDG_CACHE_HOME"):
        if not file.is_file():
            if file_exists(index_place):
                write_bytes(file, read_range(index_place, 0, size_and_version(index_place)[0]))
                read_index(file, tar_size=size)
            else:
                write_index(place, file)
    return file


def write_index(place: str, file: Path) -> None:
    """Reads a tar and writes its index atomically.

    Args:
        place: Path or URL of the tar.
        file: The index to write.

    Raises:
        ZooError: The tar is incomplete, or the index cannot be written.
    """
    size, _ = size_and_version(place)
    schema = SCHEMA.with_metadata({"version": VERSION, "size": str(size)})
    with (
        write_atomically(file) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, schema) as table,
    ):
        rows: list[dict[str, Any]] = []
        for row in _rows(place):
            rows.append(row)
            if len(rows) == ROWS:
                table.write_batch(pa.RecordBatch.from_pylist(rows, schema))
                rows = []
        table.write_batch(pa.RecordBatch.from_pylist(rows, schema))


def _rows(place: str) -> Iterator[dict[str, Any]]:
    for member, text in read_members(place, _is_text):
        try:
            member.name.encode()
        except UnicodeEncodeError as error:
            raise ZooError(
                f"{place}: the name of member {member.name!r} is not UTF-8: rename it"
            ) from error
        yield {
            "name": member.name,
            "start": member.offset_data,
            "size": member.size,
            "text": text,
        }


def _is_text(member: tarfile.TarInfo) -> bool:
    return member.name.lower().endswith(TEXTS) and member.size <= MAX_TEXT_BYTES


def read_index(file: Path, tar_size: int | None = None) -> pa.Table:
    """Returns an index, memory-mapped.

    Args:
        file: The index.
        tar_size: Expected size of its tar; None to skip the check.

    Raises:
        ZooError: The index is damaged, has another version, or belongs to another tar.
    """
    remedy = "delete the index, and it will be built again"
    try:
        table = pa.ipc.open_file(pa.memory_map(str(file))).read_all()
    except (OSError, pa.ArrowException) as error:
        raise ZooError(f"{file} is a damaged tar index ({error}): {remedy}") from error
    header = table.schema.metadata or {}
    if header.get(b"version") != VERSION or table.schema.names != SCHEMA.names:
        raise ZooError(f"{file} is not a tar index of this version: {remedy}")
    if tar_size is not None and header.get(b"size") != str(tar_size).encode():
        raise ZooError(
            f"{file} is the index of a tar of {int(header[b'size']):,} bytes, but the tar has "
            f"{tar_size:,}: if the tar is incomplete, download it again; otherwise {remedy}"
        )
    return table
