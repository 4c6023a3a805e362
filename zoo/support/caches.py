"""The default cache folder, and a lock so that only one process fills a folder."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from zoo.errors import ZooError

NOTICE_DELAY = 10.0  # seconds of waiting before a notice is logged

log = logging.getLogger(__name__)


def cache_root() -> Path:
    """Returns the folder of all caches, under $XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zoo"


def cache_folder(name: str) -> Path:
    """Returns the folder of a cache."""
    return cache_root() / name


@contextmanager
def exclusive_lock(folder: Path, setting: str) -> Iterator[None]:
    """Locks a folder so that only one process at a time fills it.

    The lock is released when the process ends. A process that waits for long logs a notice.

    Args:
        folder: The folder. It need not exist.
        setting: The setting that changes the folder, for error messages.

    Raises:
        ZooError: The lock file cannot be written, or the file system does not support locks.
    """
    lock = folder.with_name(f"{folder.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock_file = lock.open("w")
    except OSError as error:
        raise ZooError(
            f"{lock} could not be written ({error.strerror or error}): free disk space, change its "
            f"permissions, or set {setting} to another folder"
        ) from error
    template = "process %d is waiting for another process that fills %s"
    notice = Timer(NOTICE_DELAY, log.info, (template, os.getpid(), folder))
    notice.daemon = True
    with lock_file:
        notice.start()
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX)
        except OSError as error:
            raise ZooError(
                f"{lock} cannot be locked ({error.strerror or error}): set {setting} to a folder "
                "on a file system that supports locks"
            ) from error
        finally:
            notice.cancel()
        yield
