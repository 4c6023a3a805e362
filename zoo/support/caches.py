"""Caches: where they are by default, and one process at a time that fills a place in them."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.errors import ZooError
from zoo.support.files import not_written


def cache_folder(name: str) -> Path:
    """Returns a folder of that name under $XDG_CACHE_HOME, by default ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "zoo" / name


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lets one process at a time fill a folder; a process that dies leaves it open.

    Args:
        folder: The folder, which need not exist.

    Raises:
        ZooError: Nothing can be written beside it, or its file system has no locks.
    """
    lock = folder.with_name(f"{folder.name}.lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        held = lock.open("w")
    except OSError as error:
        raise not_written(lock, error) from error
    with held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
        except OSError as error:
            raise ZooError(
                f"{lock} cannot be locked ({error.strerror or error}): keep caches on a file "
                "system with locks, which $ZOO_TABLES, $XDG_CACHE_HOME or data.image_cache names"
            ) from error
        yield
