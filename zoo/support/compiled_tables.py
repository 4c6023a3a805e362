"""Compiled tables: a cache of Arrow tables that are built once and mapped by all processes.

    KIND-KEY/manifest.json   the dependencies of the tables, and notes of the code that built them
    KIND-KEY/NAME.arrow      a table

KEY is a hash of the dependencies: the content of files, settings, the code that reads them, and the
version of the layout. If any of these changes, new tables are built.
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
from zoo.support.files import remove_leftovers, write_atomically
from zoo.support.text_files import sha256

log = logging.getLogger(__name__)

VERSION = 1  # of the layout
FOLDER_VARIABLE = "ZOO_TABLES"  # environment variable with the folder of all tables
LIMIT_VARIABLE = "ZOO_TABLES_GIB"  # environment variable with their maximum total size
DEFAULT_GIB = 32.0
GIB = 1 << 30
MANIFEST = "manifest.json"
ROWS = 1 << 16  # rows per batch of a table

Notes = dict[str, Any]
T = TypeVar("T")


class CompiledTables(Mapping[str, pa.Table]):
    """Tables by name, mapped from a folder or in memory.

    Args:
        tables: The tables.
        notes: Notes of the code that built them.
        folder: Their folder, None for tables in memory.
        locked_manifest: The open manifest of the folder, locked so that the tables are not deleted.
    """

    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        notes: Notes,
        folder: Path | None = None,
        locked_manifest: BufferedReader | None = None,
    ) -> None:
        self._tables, self.notes, self.folder, self._locked_manifest = (
            dict(tables),
            notes,
            folder,
            locked_manifest,
        )

    def __getitem__(self, name: str) -> pa.Table:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __reduce__(self) -> tuple[Any, ...]:
        # another process maps the files itself
        if self.folder is None:
            return CompiledTables, (self._tables, self.notes)
        return _map_tables, (self.folder,)


class Writer:
    """Writes tables to a folder, or collects them in memory.

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
            batches: Its rows. All batches but the last have `ROWS` rows.

        Raises:
            OSError: The table cannot be written.
        """
        if self.folder is None:
            self.tables[name] = pa.Table.from_batches(list(batches), schema)
            return
        path = self.folder / f"{name}.arrow"
        # a Python file, whose errors have the message of the system
        with path.open("wb") as file, pa.ipc.new_file(file, schema) as table:
            for batch in batches:
                table.write_batch(batch)
        self.sizes[name] = path.stat().st_size


Make = Callable[[Writer], Notes]


def build_in_memory(build: Make) -> CompiledTables:
    """Builds tables in memory.

    Args:
        build: Writes the tables and returns notes.
    """
    writer = Writer(None)
    notes = build(writer)
    return CompiledTables(writer.tables, notes)


def load_or_build_tables(
    kind: str,
    dependencies: Mapping[str, Any],
    build: Make,
    is_valid: Callable[[Notes], bool] = lambda notes: True,
) -> CompiledTables:
    """Returns cached tables. If there are none, one process builds them while others wait.

    Outdated tables that another process uses are not replaced; new ones are then built in memory.

    Args:
        kind: The kind of tables, the first word of the folder's name.
        dependencies: All dependencies of the tables, as plain data.
        build: Writes the tables and returns notes, as plain data.
        is_valid: Returns whether tables with given notes are still valid.

    Raises:
        ZooError: The tables cannot be written, or their input is invalid.
    """
    code = hash_modules_around(build, load_or_build_tables)
    content = json.dumps({"version": VERSION, "code": code, **dependencies}, sort_keys=True)
    folder = tables_folder() / f"{kind}-{hashlib.sha256(content.encode()).hexdigest()[:16]}"
    with exclusive_lock(folder, f"${FOLDER_VARIABLE}"):
        tables = _map_if_intact(folder)
        if tables is not None and not is_valid(tables.notes):
            tables = None  # which also releases our lock
            if not _delete_unless_used(folder):
                log.warning(
                    "%s is outdated, but in use by another process: building the tables in memory, "
                    "for this process only",
                    folder,
                )
                return build_in_memory(build)
        if tables is None:
            shutil.rmtree(folder, ignore_errors=True)
            with write_atomically(
                folder, f"or set ${FOLDER_VARIABLE} to another folder", folder=True
            ) as part:
                writer = Writer(part)
                manifest = {"of": dependencies, "notes": build(writer), "sizes": writer.sizes}
                (part / MANIFEST).write_text(json.dumps(manifest), "utf-8")
            delete_excess_tables(folder)
            tables = _map_tables(folder)
        with suppress(OSError):  # a file of another user
            os.utime(folder / MANIFEST)
    return tables


def hash_modules_around(*parts: type | Callable[..., Any]) -> str:
    """Returns a hash of the modules of classes and functions, and of all modules in their folders.

    Args:
        parts: The classes and functions.

    Raises:
        OSError: A module cannot be read.
        TypeError: A class or function was not defined in a file.
    """
    files = {Path(inspect.getfile(part)) for part in parts}
    neighbours = {module for file in files for module in file.parent.glob("*.py")}
    hashes = "".join(sha256(file) for file in sorted(files | neighbours))
    return hashlib.sha256(hashes.encode()).hexdigest()


def split_into_batches(items: Iterable[T]) -> Iterator[list[T]]:
    """Yields the items in lists of `ROWS`, the size of a batch of a table."""
    iterator = iter(items)
    while batch := list(islice(iterator, ROWS)):
        yield batch


def tables_folder() -> Path:
    """Returns the folder of all tables."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named).expanduser() if named else cache_folder("tables")


def size_limit_gib() -> float:
    """Returns the maximum total size of all tables, in GiB.

    Raises:
        ZooError: The environment variable is not a valid size.
    """
    named = os.environ.get(LIMIT_VARIABLE)
    try:
        gib = DEFAULT_GIB if named is None else float(named)
    except ValueError:
        gib = 0.0
    if not gib > 0:
        raise ZooError(
            f"${LIMIT_VARIABLE} is {named!r}: set it to a number of GiB above 0, or unset it"
        )
    return gib


@dataclass(frozen=True)
class CacheSize:
    """The content of the cache.

    Attributes:
        sets: Number of sets of tables.
        bytes: Total size.
    """

    sets: int
    bytes: int


def measure_cache() -> CacheSize:
    """Returns the number and the size of all cached tables."""
    sets = _table_sets()
    return CacheSize(len(sets), sum(table_set.bytes for table_set in sets))


def delete_tables_not_in_use() -> None:
    """Deletes all tables that are not in use."""
    for table_set in _table_sets():
        _delete_unless_used(table_set.folder)
    remove_leftovers(tables_folder())


def delete_excess_tables(new: Path) -> None:
    """Deletes the least recently used tables until the total size is within the limit.

    Tables that are in use are not deleted.

    Args:
        new: A folder of tables to keep.
    """
    sets = _table_sets()
    excess = sum(table_set.bytes for table_set in sets) - size_limit_gib() * GIB
    for table_set in sorted(sets, key=lambda table_set: table_set.last_used):
        if excess > 0 and table_set.folder != new and _delete_unless_used(table_set.folder):
            excess -= table_set.bytes


@dataclass(frozen=True)
class _TableSet:
    folder: Path
    last_used: float
    bytes: int


def _table_sets() -> list[_TableSet]:
    table_sets = []
    for manifest in tables_folder().glob(f"[!.]*/{MANIFEST}"):
        with suppress(FileNotFoundError):  # deleted by another process meanwhile
            size = sum(file.stat().st_size for file in manifest.parent.iterdir())
            table_sets.append(_TableSet(manifest.parent, manifest.stat().st_mtime, size))
    return table_sets


def _delete_unless_used(folder: Path) -> bool:
    """Deletes a set of tables unless it is in use; returns whether it was deleted."""
    try:
        # network file systems grant an exclusive lock only on files opened for writing
        with (folder / MANIFEST).open("rb+") as manifest:
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # deleted first: a folder without a manifest is not a set of tables
            (folder / MANIFEST).unlink()
    except OSError:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True


def _map_if_intact(folder: Path) -> CompiledTables | None:
    """Maps the tables of a folder; returns None if they are missing or damaged."""
    try:
        return _map_tables(folder)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        log.warning("%s is damaged (%s) and will be built again", folder, error)
        return None


def _map_tables(folder: Path) -> CompiledTables:
    manifest = (folder / MANIFEST).open("rb")
    with suppress(OSError):  # without locks on the file system, tables are never deleted
        fcntl.flock(manifest, fcntl.LOCK_SH)
    (folder / MANIFEST).stat()  # raises if it was deleted before it was locked
    content = json.load(manifest)
    tables = {
        name: _map_table(folder / f"{name}.arrow", size) for name, size in content["sizes"].items()
    }
    return CompiledTables(tables, content["notes"], folder, manifest)


def _map_table(path: Path, size: int) -> pa.Table:
    n_bytes = path.stat().st_size
    if n_bytes != size:
        raise ValueError(f"{path.name} has {n_bytes:,} bytes of {size:,}")
    return pa.ipc.open_file(pa.memory_map(str(path))).read_all()
