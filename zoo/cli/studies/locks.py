"""Locks: a run is done by one process at a time, and by the child that a killed one left."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.errors import ZooError
from zoo.support.files import not_written


@contextmanager
def lock_file(file: Path, wait: bool) -> Iterator[int | None]:
    """Yields a locked handle, which children inherit, or None where another process has it.

    The lock lasts until the last process that has the handle ends: a child that goes on after its
    parent was killed keeps it.

    Args:
        file: The file that is locked.
        wait: Whether to wait for another process.

    Raises:
        ZooError: The file cannot be written, or its file system has no locks.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise not_written(file, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        yield None
        return
    except OSError as error:
        os.close(handle)
        raise ZooError(
            f"{file} cannot be locked ({error.strerror or error}), so that two processes could do "
            "one run: name a folder on a file system with locks"
        ) from error
    try:
        yield handle
    finally:
        os.close(handle)
