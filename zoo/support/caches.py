"""Caches: where they are by default, and one process at a time that fills a place in them."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer

from zoo.errors import ZooError

PATIENCE = 10.0  # seconds of waiting until a word is said

log = logging.getLogger(__name__)


def caches() -> Path:
    """Returns the folder of all caches, under $XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zoo"


def cache_folder(name: str) -> Path:
    """Returns the folder of a cache."""
    return caches() / name


@contextmanager
def exclusive_lock(folder: Path, named: str) -> Iterator[None]:
    """Lets one process at a time fill a folder; a process that dies leaves it open.

    A process that waits for long says so.

    Args:
        folder: The folder, which need not exist.
        named: The setting that names another, for messages.

    Raises:
        ZooError: Nothing can be written beside it, or its file system has no locks.
    """
    lock = folder.with_name(f"{folder.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = lock.open("w")
    except OSError as error:
        raise ZooError(
            f"{lock} could not be written ({error.strerror or error}): make room or let yourself "
            f"use it, or name another folder by {named}"
        ) from error
    said = "process %d waits for another one, which fills %s"
    word = Timer(PATIENCE, log.info, (said, os.getpid(), folder))
    word.daemon = True
    with held:
        word.start()
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError as error:
            raise ZooError(
                f"{lock} cannot be locked ({error.strerror or error}): name a folder on a file "
                f"system with locks by {named}"
            ) from error
        finally:
            word.cancel()
        yield
