"""File locks, which let only one process at a time execute a run."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.errors import ZooError
from zoo.support.files import build_write_error


@contextmanager
def lock_file(file: Path, wait: bool) -> Iterator[int | None]:
    """Yields a locked handle, which children inherit, or None if another process holds the lock.

    The lock lasts until the last process with the handle ends: a child that survives its killed
    parent keeps it.

    Args:
        file: The file to lock.
        wait: Whether to wait until another process releases the lock.

    Raises:
        ZooError: The file cannot be written, or its file system does not support locks.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise build_write_error(file, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        yield None
        return
    except OSError as error:
        os.close(handle)
        raise ZooError(
            f"{file} cannot be locked ({error.strerror or error}), so two processes could execute "
            "the same run: choose a folder on a file system that supports locks"
        ) from error
    try:
        yield handle
    finally:
        os.close(handle)
