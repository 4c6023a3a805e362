"""Atomic writing of files and folders."""

import errno
import fcntl
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zoo.errors import ZooError

# errors of a path that cannot be a file
NOT_A_FILE = (
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.ENOENT,
    errno.ENAMETOOLONG,
)
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_bytes(path: Path, data: bytes, clean_up: bool = True) -> None:
    """Writes a file atomically.

    Args:
        path: The file. Parent folders are created.
        data: Its content.
        clean_up: As for `write_atomically`.

    Raises:
        ZooError: The system refuses.
    """
    with (
        write_atomically(path, "which resumes from there", clean_up=clean_up) as part,
        open(part, "wb") as file,
    ):
        file.write(data)


@contextmanager
def write_atomically(
    path: Path,
    resume_note: str = "",
    folder: bool = False,
    clean_up: bool = True,
    overwrite: bool = False,
) -> Iterator[Path]:
    """Yields a temporary path that replaces `path` when the block ends; see `temporary_path`.

    Args:
        path: The file or folder to write. Parent folders are created.
        resume_note: What the same command does once there is disk space, for the error message.
        folder: Whether it is a folder.
        clean_up: Whether to remove temporary files that killed processes left for this path.
        overwrite: Whether an existing folder is replaced when the new one is complete.

    Yields:
        The temporary path to write to.

    Raises:
        ZooError: The path cannot be written.
    """
    try:
        with temporary_path(path, folder, clean_up, overwrite) as part:
            yield part
    except OSError as error:
        raise build_write_error(path, error, resume_note) from error


@contextmanager
def temporary_path(
    path: Path, folder: bool = False, clean_up: bool = True, overwrite: bool = False
) -> Iterator[Path]:
    """Yields a temporary path in the same folder, which is renamed to `path` when the block ends.

    The temporary path is removed if the block fails. It is locked while this process lives, so that
    other processes recognize what a killed process left.

    Args:
        path: As for `write_atomically`.
        folder: As for `write_atomically`.
        clean_up: As for `write_atomically`.
        overwrite: As for `write_atomically`.

    Yields:
        The temporary path to write to.

    Raises:
        OSError: The path cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if clean_up:
        remove_leftovers(path.parent, path.name)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    handle = _create_locked_path(part, folder)
    try:
        yield part
        if overwrite and path.is_dir():
            _replace_folder(part, path)
        else:
            os.replace(part, path)
    finally:
        _remove(part)
        os.close(handle)


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Removes temporary files that killed processes left in a folder, for one name or all."""
    pattern = ".*.part" if name is None else f".{glob.escape(name)}.*.part"
    for part in folder.glob(pattern):
        try:
            handle = os.open(part, os.O_RDONLY)
        except OSError:
            continue  # already removed, or owned by another user
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_same_file(part, handle):
                _remove(part)
        except OSError:
            continue  # its process is alive, or the file system does not support locks
        finally:
            os.close(handle)


def _create_locked_path(part: Path, folder: bool) -> int:
    """Creates and locks a temporary path; returns the handle that holds the lock."""
    while True:
        if folder:
            part.mkdir(exist_ok=True)
        else:
            part.touch()
        try:
            handle = os.open(part, os.O_RDONLY)
        except FileNotFoundError:
            continue  # removed by another process between the two steps
        with suppress(OSError):  # without locks on the file system, nothing is swept
            fcntl.flock(handle, fcntl.LOCK_EX)
        if _is_same_file(part, handle):
            return handle
        os.close(handle)  # removed by another process before it was locked


def _replace_folder(part: Path, path: Path) -> None:
    """Replaces a folder by another one, and removes the old one."""
    # a folder cannot be renamed to a non-empty one, so the old one is moved away first
    old = path.with_name(f".{path.name}.{os.getpid()}.old.part")
    os.replace(path, old)
    os.replace(part, path)
    _remove(old)


def _is_same_file(part: Path, handle: int) -> bool:
    try:
        return os.path.samestat(part.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _remove(part: Path) -> None:
    if part.is_dir() and not part.is_symlink():
        shutil.rmtree(part, ignore_errors=True)
    else:
        part.unlink(missing_ok=True)


def build_write_error(path: Path, error: OSError, resume_note: str = "") -> ZooError:
    """Returns the error for a file or folder that could not be written.

    Args:
        path: The file or folder.
        error: The error of the system.
        resume_note: What the same command does once there is disk space.

    Returns:
        The error to raise.
    """
    return ZooError(
        f"{path} could not be written ({error.strerror or error}): {advice_on(error, resume_note)}"
    )


def advice_on(error: OSError, resume_note: str = "") -> str:
    """Returns advice on an error of the file system.

    Args:
        error: The error of the system.
        resume_note: What the same command does once there is disk space.

    Returns:
        The advice, without a full stop.
    """
    if error.errno == errno.ELOOP:
        return "fix the circular link"
    if error.errno in REFUSED:
        return "change its permissions, or choose another path"
    if error.errno in NOT_A_FILE:
        return "choose another path"
    return ", ".join(filter(None, ["free disk space and run the same command again", resume_note]))


def check_ending(path: Path, ending: str) -> None:
    """Checks the ending of an output file.

    Args:
        path: The file.
        ending: The expected ending, such as `.csv`.

    Raises:
        ZooError: The file has another ending.
    """
    if path.suffix.lower() != ending:
        raise ZooError(f"--out {path} must end in {ending}: use {path.with_suffix(ending)}")


def check_writable(path: Path, overwrite: bool = False) -> None:
    """Checks, before any work is done, that a file can be written at `path`.

    Args:
        path: The file to write. Parent folders need not exist.
        overwrite: Whether an existing file may be replaced.

    Raises:
        ZooError: The path is a folder, its parent folder is not writable, or the file exists.
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
        raise build_write_error(path, OSError(fault, os.strerror(fault)))
    if path.exists() and not overwrite:
        raise ZooError(f"{path} exists: choose another file, or add --overwrite to replace it")
