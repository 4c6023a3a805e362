"""Rows of a CSV file, checked against a schema."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from zoo.sources.readers.tables import Table
from zoo.support.schema import validate_record

T = TypeVar("T")


def read_csv(
    path: Path, schema: type[T], advice: str = "download the file again"
) -> Iterator[tuple[str, T]]:
    """Reads a CSV file with a header.

    Args:
        path: The file.
        schema: A msgspec struct whose fields are the columns; all hold texts.
        advice: Advice for the user if a row is invalid.

    Yields:
        The place of each row, 'FILE:LINE', and its record.

    Raises:
        ZooError: The file cannot be read, or a row is invalid.
    """
    for line, row in Table(path, ",").rows():
        place = f"{path}:{line}"
        yield place, validate_record(row, schema, place, advice)
