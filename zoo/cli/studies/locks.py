"""Locks: a run is done by one process at a time, and by the child that a killed one left."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(file: Path, wait: bool) -> Iterator[int | None]:
    """Yields a locked handle, which children inherit, or None where another process has it.

    The lock lasts until the last process that has the handle ends: a child that goes on after its
    parent was killed keeps it.

    Args:
        file: The file that is locked.
        wait: Whether to wait for another process.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(handle)
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)
