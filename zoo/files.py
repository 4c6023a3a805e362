"""Files that are whole or absent. Free of torch."""

import errno
import os
from pathlib import Path

from zoo.errors import ZooError

# of a path that cannot hold a file, whatever room there is
NO_PLACE = (
    errno.EISDIR,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENAMETOOLONG,
)


def write_beside(path: Path, data: bytes) -> None:
    """Writes a file that appears when it is whole or not at all; raises ZooError where there is no room for it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with open(beside, "wb") as out:
                out.write(data)
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise not_written(path, error, "which goes on from there") from error


def not_written(path: Path, error: OSError, then: str = "") -> ZooError:
    """Returns what to say of a file or folder that the system refused.

    Args:
        path: What was to be written.
        error: The system's.
        then: What the same command does once there is room.
    """
    room = ", ".join(filter(None, ["make room and run the same command again", then]))
    mend = "name another path" if error.errno in NO_PLACE else room
    return ZooError(f"{path} could not be written ({error.strerror or error}): {mend}")


def check_place(path: Path, overwrite: bool = False) -> None:
    """Makes sure, before any work is done, that a file can be written at `path`.

    Args:
        path: The file to be written; folders above it need not exist yet.
        overwrite: Whether a file that is there may be lost.

    Raises:
        ZooError: It is a folder, the folder that would hold it cannot be written to, or a file is there.
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
        raise ZooError(f"{path} could not be written ({os.strerror(fault)}): name another path")
    if path.exists() and not overwrite:
        raise ZooError(f"{path} exists: name another file, or add --overwrite if it may be lost")
