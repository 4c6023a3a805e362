"""Files that are whole or absent."""

import errno
import fcntl
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zoo.errors import ZooError

# of a path that cannot hold a file, whatever room there is
NO_PLACE = (
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.ENOENT,
    errno.ENAMETOOLONG,
)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_bytes(path: Path, data: bytes, sweeps: bool = True) -> None:
    """Writes a file that appears when it is whole or not at all.

    Args:
        path: The file; folders above it are made.
        data: What it holds.
        sweeps: As for `whole`.

    Raises:
        ZooError: The system refuses.
    """
    with (
        write_atomically(path, "which goes on from there", sweeps=sweeps) as part,
        open(part, "wb") as out,
    ):
        out.write(data)


@contextmanager
def write_atomically(
    path: Path, then: str = "", folder: bool = False, sweeps: bool = True, over: bool = False
) -> Iterator[Path]:
    """Yields the place to write what appears at `path` whole or not at all; see `beside`.

    Args:
        path: What is to be written; folders above it are made.
        then: What the same command does once there is room.
        folder: Whether it is a folder.
        sweeps: Whether what a dead process left of the same is removed first.
        over: Whether a folder that is there is lost once the new one is whole.

    Yields:
        The place to write.

    Raises:
        ZooError: The system refuses.
    """
    try:
        with temporary_path(path, folder, sweeps, over) as part:
            yield part
    except OSError as error:
        raise not_written(path, error, then) from error


@contextmanager
def temporary_path(
    path: Path, folder: bool = False, sweeps: bool = True, over: bool = False
) -> Iterator[Path]:
    """Yields a place beside `path`, which is renamed to it when the block ends.

    Where the block fails, the place is removed. It is locked for as long as this process lives, so
    that others can tell what a dead one left.

    Args:
        path: As for `whole`.
        folder: As for `whole`.
        sweeps: As for `whole`.
        over: As for `whole`.

    Yields:
        The place to write.

    Raises:
        OSError: The system refuses.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if sweeps:
        sweep(path.parent, path.name)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    handle = _make_locked(part, folder)
    try:
        yield part
        if over and path.is_dir():
            _exchange(part, path)
        else:
            os.replace(part, path)
    finally:
        _remove(part)
        os.close(handle)


def sweep(folder: Path, name: str | None = None) -> None:
    """Removes what dead processes left half-written in a folder: all of it, or that of one file."""
    of = ".*.part" if name is None else f".{glob.escape(name)}.*.part"
    for part in folder.glob(of):
        try:
            handle = os.open(part, os.O_RDONLY)
        except OSError:
            continue  # gone by now, or another user's
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is(part, handle):
                _remove(part)
        except OSError:
            continue  # its process lives, or the file system has no locks
        finally:
            os.close(handle)


def _make_locked(part: Path, folder: bool) -> int:
    """Makes and locks a place; returns the handle whose end unlocks it."""
    while True:
        if folder:
            part.mkdir(exist_ok=True)
        else:
            part.touch()
        try:
            handle = os.open(part, os.O_RDONLY)
        except FileNotFoundError:
            continue  # swept between the two steps
        with suppress(OSError):  # a file system without locks: nobody sweeps there either
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is(part, handle):
            return handle
        os.close(handle)  # swept before it was locked


def _exchange(part: Path, path: Path) -> None:
    """Puts a folder in the place of another, which is removed."""
    # no folder is renamed over one with files, and one that is being removed is not whole
    old = path.with_name(f".{path.name}.{os.getpid()}.old.part")
    os.replace(path, old)
    os.replace(part, path)
    _remove(old)


def _is(part: Path, handle: int) -> bool:
    try:
        return os.path.samestat(part.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _remove(part: Path) -> None:
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)


def not_written(path: Path, error: OSError, then: str = "") -> ZooError:
    """Says that the system refused a file or folder.

    Args:
        path: What was to be written.
        error: The system's.
        then: What the same command does once there is room.

    Returns:
        The error to raise.
    """
    return ZooError(
        f"{path} could not be written ({error.strerror or error}): {mend_of(error, then)}"
    )


def mend_of(error: OSError, then: str = "") -> str:
    """Says what to do about a refusal of the system.

    Args:
        error: The system's.
        then: What the same command does once there is room.

    Returns:
        What to do, without a full stop.
    """
    if error.errno == errno.ELOOP:
        return "mend the link, which leads back to itself"
    if error.errno in REFUSED:
        return "let yourself use it, or name another path"
    if error.errno in NO_PLACE:
        return "name another path"
    return ", ".join(filter(None, ["make room and run the same command again", then]))


def check_ending(path: Path, ending: str) -> None:
    """Makes sure that a file to be written is called as what reads it expects.

    Args:
        path: The file.
        ending: How its name has to end, as in `.csv`.

    Raises:
        ZooError: It is called otherwise.
    """
    if path.suffix.lower() != ending:
        raise ZooError(f"--out {path} has to end in {ending}: name it {path.with_suffix(ending)}")


def check_place(path: Path, overwrite: bool = False) -> None:
    """Makes sure, before any work is done, that a file can be written at `path`.

    Args:
        path: The file to be written; folders above it need not exist yet.
        overwrite: Whether a file that is there may be lost.

    Raises:
        ZooError: It is a folder, the folder that would hold it cannot be written to, or a file is
            there.
    """
    above = next(folder for folder in path.absolute().parents if folder.exists())
    fault = 0
    if path.is_dir():
        fault = errno.EISDIR
    elif not above.is_dir():
        fault = errno.ENOTDIR
    elif not os.access(above, os.W_OK | os.X_OK):
        fault = errno.EACCES
    if fault:
        raise not_written(path, OSError(fault, os.strerror(fault)))
    if path.exists() and not overwrite:
        raise ZooError(f"{path} exists: name another file, or add --overwrite if it may be lost")
