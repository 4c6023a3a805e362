"""Rows of a CSV file, held to a schema."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from zoo.sources.readers.tables import Table
from zoo.support.schema import record

T = TypeVar("T")


def read_csv(
    path: Path, schema: type[T], mend: str = "fetch the file again"
) -> Iterator[tuple[str, T]]:
    """Reads a CSV file with a header.

    Args:
        path: The file.
        schema: A struct of msgspec's, whose fields are columns and hold texts.
        mend: What the user can do.

    Yields:
        The place of each row, 'FILE:LINE', and its record.

    Raises:
        ZooError: The file cannot be read, or a row is wrong.
    """
    for line, row in Table(path, ",").rows():
        place = f"{path}:{line}"
        yield place, record(row, schema, place, mend)
