"""Compiled tables: made once of files, in Arrow, and mapped by all processes that read them.

    KIND-KEY/manifest.json   what the tables were made of, and notes of who made them
    KIND-KEY/NAME.arrow      a table

KEY is a hash of what the tables were made of: the content of files, settings, the code that reads
them, and the version of the layout. So a file that changed has other tables, and those of another
version are not read.
"""

import fcntl
import hashlib
import inspect
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from zoo.errors import ZooError
from zoo.support.caches import cache_folder, exclusive_lock
from zoo.support.files import sweep, write_atomically
from zoo.support.text_files import sha256

log = logging.getLogger(__name__)

VERSION = 1  # of what is written
PLACE = "ZOO_TABLES"  # the environment's word on where tables are kept
LIMIT = "ZOO_TABLES_GIB"  # and on how large all of them may be
USUAL_GIB = 32.0
GIB = 1 << 30
MANIFEST = "manifest.json"
ROWS = 1 << 16  # of a batch of a table

Notes = dict[str, Any]
T = TypeVar("T")


class CompiledTables(Mapping[str, pa.Table]):
    """Tables by name, mapped from a folder or held in memory.

    Args:
        tables: The tables.
        notes: What their maker noted.
        folder: Their folder, None for tables in memory.
        held: The folder's manifest, locked so that nobody drops the tables meanwhile.
    """

    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        notes: Notes,
        folder: Path | None = None,
        held: BufferedReader | None = None,
    ) -> None:
        self._tables, self.notes, self.folder, self._held = dict(tables), notes, folder, held

    def __getitem__(self, name: str) -> pa.Table:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __reduce__(self) -> tuple[Any, ...]:
        # another process maps the files itself rather than be sent them
        if self.folder is None:
            return CompiledTables, (self._tables, self.notes)
        return _map_tables, (self.folder,)


class Writer:
    """Writes tables into a folder, or keeps them in memory.

    Args:
        folder: The folder, None for memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder
        self.tables: dict[str, pa.Table] = {}
        self.sizes: dict[str, int] = {}

    def write(self, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        """Writes a table.

        Args:
            name: Its name.
            schema: Its schema.
            batches: Its rows. All batches but the last have `ROWS` of them.

        Raises:
            OSError: The system refuses.
        """
        if self.folder is None:
            self.tables[name] = pa.Table.from_batches(list(batches), schema)
            return
        path = self.folder / f"{name}.arrow"
        # a file of Python's, whose errors say what the system said
        with path.open("wb") as out, pa.ipc.new_file(out, schema) as table:
            for batch in batches:
                table.write_batch(batch)
        self.sizes[name] = path.stat().st_size


Make = Callable[[Writer], Notes]


def in_memory(make: Make) -> CompiledTables:
    """Returns tables that this process alone has.

    Args:
        make: Writes the tables and returns notes.
    """
    writer = Writer(None)
    notes = make(writer)
    return CompiledTables(writer.tables, notes)


def compile_tables(
    kind: str,
    of: Mapping[str, Any],
    make: Make,
    fresh: Callable[[Notes], bool] = lambda notes: True,
) -> CompiledTables:
    """Returns tables, which the first process to ask makes while others wait.

    Those that no longer hold stay where another process uses them. They are made in memory then.

    Args:
        kind: What they are, the first word of their folder's name.
        of: All that they depend on, as plain data.
        make: Writes the tables and returns notes, which are plain data too.
        fresh: Tells by the notes whether tables still hold.

    Raises:
        ZooError: They cannot be written, or what they are made of is wrong.
    """
    code = code_of(make, compile_tables)
    content = json.dumps({"version": VERSION, "code": code, **of}, sort_keys=True)
    folder = place() / f"{kind}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    with exclusive_lock(folder, f"${PLACE}"):
        found = _map_complete(folder)
        if found is not None and not fresh(found.notes):
            found = None  # and with it our own lock
            if not _drop(folder):
                log.warning(
                    "%s no longer holds, and another process uses it: made in memory, for this "
                    "process alone",
                    folder,
                )
                return in_memory(make)
        if found is None:
            shutil.rmtree(folder, ignore_errors=True)
            with write_atomically(
                folder, f"or name another folder by ${PLACE}", folder=True
            ) as part:
                writer = Writer(part)
                manifest = {"of": of, "notes": make(writer), "sizes": writer.sizes}
                (part / MANIFEST).write_text(json.dumps(manifest), "utf-8")
            make_room(folder)
            found = _map_tables(folder)
        with suppress(OSError):  # another user's
            os.utime(folder / MANIFEST)
    return found


def code_of(*parts: type | Callable[..., Any]) -> str:
    """Returns a hash of the code of classes and functions, and of the modules beside theirs.

    Args:
        parts: The classes and functions.

    Raises:
        OSError: One is in no file that can be read.
        TypeError: One is in no file.
    """
    files = {Path(inspect.getfile(part)) for part in parts}
    beside = {module for file in files for module in file.parent.glob("*.py")}
    hashes = "".join(sha256(file) for file in sorted(files | beside))
    return hashlib.sha256(hashes.encode()).hexdigest()


def in_batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Yields the items, as many at a time as a batch of a table has."""
    each = iter(items)
    while some := list(islice(each, ROWS)):
        yield some


def place() -> Path:
    """Returns the folder of all tables."""
    named = os.environ.get(PLACE)
    return Path(named).expanduser() if named else cache_folder("tables")


def limit() -> float:
    """Returns how large all tables may be, in GiB.

    Raises:
        ZooError: The environment's word on it is no size.
    """
    named = os.environ.get(LIMIT)
    try:
        gib = USUAL_GIB if named is None else float(named)
    except ValueError:
        gib = 0.0
    if not gib > 0:
        raise ZooError(f"${LIMIT} is {named!r}: give a number of GiB above 0, or leave it out")
    return gib


@dataclass(frozen=True)
class CachedTables:
    """What the folder of tables holds.

    Attributes:
        sets: Number of sets of tables.
        bytes: Their size.
    """

    sets: int
    bytes: int


def cached_tables() -> CachedTables:
    """Returns what there is."""
    sets = _sets()
    return CachedTables(len(sets), sum(each.bytes for each in sets))


def empty() -> None:
    """Drops all tables that no process uses."""
    for each in _sets():
        _drop(each.folder)
    sweep(place())


def make_room(new: Path) -> None:
    """Drops tables that were not used for longest, until all take no more than they may.

    Those that a process uses stay.

    Args:
        new: The folder of tables that stay too.
    """
    sets = _sets()
    over = sum(each.bytes for each in sets) - limit() * GIB
    for each in sorted(sets, key=lambda each: each.used):
        if over > 0 and each.folder != new and _drop(each.folder):
            over -= each.bytes


@dataclass(frozen=True)
class _Set:
    folder: Path
    used: float
    bytes: int


def _sets() -> list[_Set]:
    found = []
    for manifest in place().glob(f"[!.]*/{MANIFEST}"):
        with suppress(FileNotFoundError):  # another process dropped it meanwhile
            size = sum(file.stat().st_size for file in manifest.parent.iterdir())
            found.append(_Set(manifest.parent, manifest.stat().st_mtime, size))
    return found


def _drop(folder: Path) -> bool:
    """Drops a set of tables; returns whether nobody uses it."""
    try:
        # network file systems give such a lock for a file that may be written
        with (folder / MANIFEST).open("rb+") as manifest:
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # the manifest goes first: what is left without one is no set of tables
            (folder / MANIFEST).unlink()
    except OSError:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _map_complete(folder: Path) -> CompiledTables | None:
    """Maps the tables of a folder, where they are all there."""
    try:
        return _map_tables(folder)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        log.warning("%s was damaged (%s) and is made again", folder, error)
        return None


def _map_tables(folder: Path) -> CompiledTables:
    manifest = (folder / MANIFEST).open("rb")
    with suppress(OSError):  # a file system without locks: tables are not dropped there either
        fcntl.flock(manifest, fcntl.LOCK_SH)
    (folder / MANIFEST).stat()  # it may have been dropped before it was locked
    said = json.load(manifest)
    tables = {name: _table(folder / f"{name}.arrow", size) for name, size in said["sizes"].items()}
    return CompiledTables(tables, said["notes"], folder, manifest)


def _table(path: Path, size: int) -> pa.Table:
    found = path.stat().st_size
    if found != size:
        raise ValueError(f"{path.name} has {found:,} bytes of {size:,}")
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
