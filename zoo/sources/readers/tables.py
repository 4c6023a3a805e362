"""CSV and TSV tables with a header. Errors name the line and the column."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.errors import ZooError, suggest_names
from zoo.support.text_files import text_lines

# default names of the columns; the first one that a table has is used
IMAGE_COLUMNS = ("filepath", "image", "image_path", "file_name", "filename", "path")
CAPTION_COLUMNS = ("title", "caption", "text", "sentence", "description")


class Table:
    """A CSV or TSV file. Quoted fields may have line breaks.

    Args:
        file: The table.
        separator: One character. If None, a tab if the header has one, else a comma.
        strict: Whether a quotation mark inside a field is an error.

    Raises:
        ZooError: The file cannot be read, or the separator is not one character.
    """

    def __init__(self, file: Path, separator: str | None = None, strict: bool = False) -> None:
        if separator is not None and len(separator) != 1:
            raise ZooError(
                f"separator {separator!r} is not a single character: use ',' or a tab, for example"
            )
        if separator is None:
            separator = "\t" if "\t" in next(text_lines(file), "") else ","
        self.file = file
        self._rows = csv.reader(text_lines(file), delimiter=separator, strict=strict)
        self.header = next(self._read(), [])

    def choose_column(self, column: str | None, argument: str, names: Sequence[str]) -> str:
        """Returns the name of a column.

        Args:
            column: Name from the user, or None to take the first of `names` that exists.
            argument: Name of the argument that sets it.
            names: Possible names of the column.

        Raises:
            ZooError: There is no such column, or it exists twice.
        """
        candidates = (column,) if column is not None else names
        name_in_header = next((name for name in candidates if name in self.header), None)
        if name_in_header is None:
            alternatives = f" (or {', '.join(candidates[1:])})" if candidates[1:] else ""
            raise ZooError(
                f"{self.file}:1 has no column "
                f"{candidates[0]!r}{suggest_names(candidates[0], self.header)}{alternatives}: "
                f"its columns are {', '.join(map(repr, self.header)) or 'missing'}; "
                f"choose one with {argument}"
            )
        if (count := self.header.count(name_in_header)) > 1:
            raise ZooError(
                f"{self.file}:1 has the column {name_in_header!r} {count} times, "
                "but names must be unique: rename the others"
            )
        return name_in_header

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yields the line on which a row ends, and the row by column name.

        Raises:
            ZooError: A row is not CSV or has a wrong number of fields; the message names the line.
        """
        for row in self._read():
            if row and len(row) != len(self.header):
                raise ZooError(
                    f"{self.file}:{self._rows.line_num} has {len(row)} fields, but the header has "
                    f"{len(self.header)}: correct the line; a field that contains the separator "
                    "must be quoted"
                )
            if row:
                yield self._rows.line_num, dict(zip(self.header, row, strict=True))

    def _read(self) -> Iterator[list[str]]:
        try:
            yield from self._rows
        except csv.Error as error:
            raise ZooError(
                f"{self.file}:{self._rows.line_num} is not CSV ({error}): correct the line"
            ) from error
