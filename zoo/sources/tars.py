"""Reads the members of a local or remote tar in order."""

import tarfile
from collections.abc import Callable, Iterator

from zoo.errors import ZooError
from zoo.sources.remote_files import open_stream


def read_members(
    place: str, is_selected: Callable[[tarfile.TarInfo], bool]
) -> Iterator[tuple[tarfile.TarInfo, bytes | None]]:
    """Yields the files of a tar, and the bytes of the selected ones.

    Args:
        place: Path or URL of the tar.
        is_selected: Returns whether to read the bytes of a file.

    Raises:
        ZooError: The tar is incomplete.
    """
    last_name = "none"
    try:
        with open_stream(place) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            for member in tar:
                last_name = member.name
                if member.isfile():
                    content = tar.extractfile(member) if is_selected(member) else None
                    yield member, None if content is None else content.read()
            # a complete tar ends with blocks of zeros
            is_complete = file.seek(0, 2) > tar.offset
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ZooError(
            f"{place} is not a complete tar ({error}): download it again. "
            f"Its last readable member is {last_name}"
        ) from error
    if not is_complete:
        raise ZooError(
            f"{place} is not a complete tar (its end is missing): download it again. "
            f"Its last readable member is {last_name}"
        )
