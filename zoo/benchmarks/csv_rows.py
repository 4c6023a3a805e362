"""Rows of a CSV file, checked against a schema, and cells that hold a list of texts."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from zoo.errors import ZooError
from zoo.sources.readers.tables import Table
from zoo.support.schema import validate_record

T = TypeVar("T")


def read_csv(
    path: Path, schema: type[T], advice: str = "download the file again", separator: str = ","
) -> Iterator[tuple[str, T]]:
    """Reads a CSV file with a header.

    Args:
        path: The file.
        schema: A msgspec struct whose fields are the columns; all hold texts.
        advice: Advice for the user if a row is invalid.
        separator: The character between two fields.

    Yields:
        The place of each row, 'FILE:LINE', and its record.

    Raises:
        ZooError: The file cannot be read, or a row is invalid.
    """
    for line, row in Table(path, separator).rows():
        place = f"{path}:{line}"
        yield place, validate_record(row, schema, place, advice)


def parse_texts(literal: str, field: str, place: str) -> tuple[str, ...]:
    """Returns the texts of a list, or of a set in sorted order.

    Args:
        literal: The content of the cell, such as "['a', 'b']".
        field: The column.
        place: File and line.

    Raises:
        ZooError: It is not a list or set of texts.
    """
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    texts = sorted(value, key=str) if isinstance(value, set) else value
    if not isinstance(texts, list) or not all(isinstance(t, str) for t in texts):
        raise ZooError(
            f"{place}: field '{field}' is not a list of texts: "
            f"download the file again (found {literal[:40]!r})"
        )
    return tuple(texts)
