"""Store: what was encoded, as bytes by key in a file of SQLite, which several runs may use at once.

SQLite's transactions leave nothing half-written when a process is killed. Every entry has a
checksum, so that a damaged one counts as none. A file that is no database any more is begun anew.
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

PLACE = "ZOO_EMBEDDINGS"  # the environment's word on where vectors are kept
OFF = "off"
GIB = 1 << 30
FILE = "embeddings.sqlite"
WAIT = 60.0  # seconds that a run waits for another that writes
PAGE = 1 << 15  # bytes; several vectors fit on a page
SHARE = 4  # of the limit, one of which is written at once at most
KEYS_AT_ONCE = 500
FRESH = 3600  # seconds for which a use is not noted again
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
    """What a store holds.

    Attributes:
        entries: Number of entries, each a vector or the tokens of an item.
        bytes: Size of the file.
    """

    entries: int
    bytes: int


@dataclass(frozen=True)
class EmbeddingCache(metaclass=RangedType):
    """Where pooled vectors are kept, so that further runs need not encode them.

    Args:
        folder: Folder of the vectors. Where None, that of $ZOO_EMBEDDINGS, or else
            `zoo/embeddings` in the user's cache folder.
        limit_gib: Size that it may have at most, in GiB. What was not used for longest goes first.
        tokens: Whether the tokens that a head reads are kept as well. They take some fifty times
            the room of a vector.
    """

    folder: str | None = None
    limit_gib: PositiveNumber = 4.0
    tokens: bool = False

    @property
    def place(self) -> Path | None:
        """The folder, None where the environment turns the cache off."""
        named = self.folder or os.environ.get(PLACE)
        if named == OFF:
            return None
        return Path(named).expanduser() if named else cache_folder("embeddings")

    @property
    def store(self) -> "VectorStore | None":
        """The vectors of all models, None where the environment turns the cache off."""
        place = self.place
        return None if place is None else VectorStore(place, int(self.limit_gib * GIB))


class VectorStore:
    """Bytes by key, of which those that were not used for longest go first.

    Args:
        folder: Folder of the file; it is made when something is kept.
        limit: Bytes that they take at most.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self.file, self.limit = folder / FILE, limit

    def has(self, keys: Iterable[bytes]) -> set[bytes]:
        """Returns the keys that are there, which counts as a use of them.

        Raises:
            ZooError: The file cannot be used.
        """
        if not self.file.exists():
            return set()
        with self._usable() as database:
            return {
                key for (key,) in self._select_rows(database, list(keys), "SELECT key FROM entries")
            }

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Returns the contents that are there and whole, by key.

        Raises:
            ZooError: The file cannot be used.
        """
        found = dict[bytes, bytes]()
        if not self.file.exists():
            return found
        select = "SELECT key, checksum, vector FROM entries LEFT JOIN vectors USING (id)"
        with self._usable() as database:
            damaged = 0
            for key, checksum, content in self._select_rows(database, list(keys), select):
                if content is not None and checksum == _checksum(key, content):
                    found[key] = content
                else:
                    damaged += 1
            if damaged:
                log.warning(
                    "%s holds %s damaged vectors, which are encoded again",
                    self.file,
                    f"{damaged:,}",
                )
        return found

    def put(self, contents: Mapping[bytes, bytes]) -> None:
        """Keeps contents, each of them whole, and drops others where there is no room.

        What takes more than a share of the limit by itself is not kept.

        Raises:
            ZooError: The file cannot be used.
        """
        with self._usable() as database:
            for some in _shares(contents, self.limit // SHARE):
                self._put(database, some)

    def _put(self, database: sqlite3.Connection, contents: Mapping[bytes, bytes]) -> None:
        """Keeps contents, all or none."""
        now = int(time.time())
        database.execute("BEGIN IMMEDIATE")
        self._make_room(database, sum(map(_room, contents.values())))
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
        """Yields the rows of some keys, and notes their use."""
        now = int(time.time())
        for some in _parts(keys, KEYS_AT_ONCE):
            these = f"({','.join('?' * len(some))})"
            yield from database.execute(f"{select} WHERE key IN {these}", some)
            database.execute(
                f"UPDATE entries SET used = ? WHERE used < ? AND key IN {these}",
                [now, now - FRESH, *some],
            )

    def summarize(self) -> StoreSummary:
        """Returns what there is.

        Raises:
            ZooError: The file cannot be used.
        """
        if not self.file.exists():
            return StoreSummary(0, 0)
        with self._usable() as database:
            ((entries,),) = database.execute("SELECT count(*) FROM entries")
        return StoreSummary(entries, self.file.stat().st_size)

    def empty(self) -> None:
        """Drops everything.

        Raises:
            ZooError: The file cannot be used.
        """
        if self.file.exists():
            with self._usable() as database:
                database.executescript("DELETE FROM vectors; DELETE FROM entries; VACUUM;")

    def _make_room(self, database: sqlite3.Connection, size: int) -> None:
        """Drops what was not used for longest, until there is room for other contents.

        Args:
            database: The database, in a transaction.
            size: Bytes of the others.
        """
        allowed = self.limit - size
        while (held := _bytes_in_use(database)) > allowed:
            ((entries,),) = database.execute("SELECT count(*) FROM entries")
            if not entries:
                return
            over = held - allowed + self.limit // 20  # so that this is seldom done
            oldest = database.execute(
                "SELECT id FROM entries ORDER BY used, id LIMIT ?", [-(-over * entries // held)]
            ).fetchall()
            for table in ("entries", "vectors"):
                database.executemany(f"DELETE FROM {table} WHERE id = ?", oldest)

    @contextmanager
    def _usable(self) -> Iterator[sqlite3.Connection]:
        """Yields a connection, which no process that is forked meanwhile inherits.

        Raises:
            ZooError: The file cannot be used.
        """
        try:
            with self._open_database() as database:
                yield database
        except sqlite3.OperationalError as error:
            raise ZooError(
                f"{self.file} cannot be used ({error}): let yourself use it, make room, or name "
                "another folder by --cache"
            ) from error
        except sqlite3.DatabaseError as error:
            for file in (self.file, Path(f"{self.file}-journal")):
                file.unlink(missing_ok=True)
            raise Damaged(
                f"{self.file} was damaged ({error}) and is begun anew: what it held is encoded "
                "again"
            ) from error
        except OSError as error:
            raise ZooError(
                f"{self.file} cannot be used ({error.strerror or error}): name another folder by "
                "--cache"
            ) from error

    @contextmanager
    def _open_database(self) -> Iterator[sqlite3.Connection]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(self.file, timeout=WAIT, isolation_level=None)
        try:
            # what a loss of power would tear has no right checksum
            database.executescript(SETTINGS + SCHEMA)
            yield database
        finally:
            database.close()


class Damaged(ZooError):
    """A store was no database any more, and is begun anew."""


def _bytes_in_use(database: sqlite3.Connection) -> int:
    ((pages,),), ((free,),) = (
        database.execute(f"PRAGMA {name}").fetchall() for name in ("page_count", "freelist_count")
    )
    return int(pages - free) * PAGE


def _room(content: bytes) -> int:
    """Returns the bytes that a content takes: a large one has pages of its own."""
    size = len(content)
    return size if size <= PAGE // 8 else (size // PAGE + 1) * PAGE


def _shares(contents: Mapping[bytes, bytes], most: int) -> Iterator[dict[bytes, bytes]]:
    """Yields all contents but those that are too large, some of them at once.

    Args:
        contents: The contents by key.
        most: Bytes of room that those at once take at most.
    """
    share, taken = dict[bytes, bytes](), 0
    for key, content in contents.items():
        room = _room(content)
        if room > most:
            continue
        if taken + room > most:
            yield share
            share, taken = {}, 0
        share[key], taken = content, taken + room
    if share:
        yield share


def _checksum(key: bytes, content: bytes) -> int:
    return zlib.crc32(content, zlib.crc32(key))


def _parts(items: Sequence[T], size: int) -> Iterator[list[T]]:
    each = iter(items)
    while some := list(islice(each, size)):
        yield some
