"""Tars: their members from first to last, here or at a URL."""

import tarfile
from collections.abc import Callable, Iterator

from zoo.errors import ZooError
from zoo.sources.places import open_stream


def members(
    place: str, wanted: Callable[[tarfile.TarInfo], bool]
) -> Iterator[tuple[tarfile.TarInfo, bytes | None]]:
    """Yields the files of a tar, with their bytes where these are wanted.

    Args:
        place: Path or URL of the tar.
        wanted: Whether the bytes of a file are.

    Raises:
        ZooError: The tar is not whole.
    """
    last = "none"
    try:
        with open_stream(place) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            for member in tar:
                last = member.name
                if member.isfile():
                    content = tar.extractfile(member) if wanted(member) else None
                    yield member, None if content is None else content.read()
            # its end is marked by blocks of zeros
            whole = file.seek(0, 2) > tar.offset
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ZooError(
            f"{place} is not a whole tar ({error}): fetch the file again, its last member is {last}"
        ) from error
    if not whole:
        raise ZooError(
            f"{place} is not a whole tar (its end is missing): fetch the file again, its last "
            f"member is {last}"
        )
