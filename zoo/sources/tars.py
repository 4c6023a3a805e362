"""Tars: members of tar files, read by themselves."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

from zoo.errors import ZooError


class Tars:
    """Reads members of tar files, each of which is gone through once."""

    def __init__(self) -> None:
        self._places: dict[Path, dict[str, tuple[int, int]]] = {}

    def member(self, path: Path, name: str) -> bytes | None:
        """Returns the bytes of a member, None where there is none of that name.

        Args:
            path: The tar.
            name: The name of the member.

        Raises:
            ZooError: The tar is not whole.
        """
        if path not in self._places:
            self._places[path] = {m.name: (m.offset_data, m.size) for m, _ in members(path, "")}
        if name not in self._places[path]:
            return None
        start, size = self._places[path][name]
        with path.open("rb") as file:
            file.seek(start)
            return file.read(size)


def members(path: Path, read: str | tuple[str, ...]) -> Iterator[tuple[tarfile.TarInfo, bytes]]:
    """Yields the files of a tar, with their bytes where these are wanted.

    Args:
        path: The tar.
        read: Ends of the names of the files whose bytes are wanted; empty for none.

    Raises:
        ZooError: The tar is not whole.
    """
    try:
        with tarfile.open(path, "r:") as tar:
            for member in tar:
                if member.isfile():
                    wanted = bool(read) and member.name.endswith(read)
                    content = tar.extractfile(member) if wanted else None
                    yield member, b"" if content is None else content.read()
            whole = path.stat().st_size > tar.offset  # its end is marked by blocks of zeros
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ZooError(f"{path} is not a whole tar ({error}): fetch the file again") from error
    if not whole:
        raise ZooError(f"{path} is not a whole tar (its end is missing): fetch the file again")
