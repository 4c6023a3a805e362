"""Tables with a header, comma or tab separated, read with errors that name line and column."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.errors import ZooError, suggest_names
from zoo.support.text_files import text_lines

# what image and caption are called where nobody says; the first that a table has is taken
IMAGE_COLUMNS = ("filepath", "image", "image_path", "file_name", "filename", "path")
CAPTION_COLUMNS = ("title", "caption", "text", "sentence", "description")


class Table:
    """A table of a file; a quoted field may hold line breaks.

    Args:
        file: The table.
        separator: One character. Where None, a tab if the header has one, else a comma.
        strict: Whether a quote inside a field is refused.

    Raises:
        ZooError: The file cannot be read, or the separator is not one character.
    """

    def __init__(self, file: Path, separator: str | None = None, strict: bool = False) -> None:
        if separator is not None and len(separator) != 1:
            raise ZooError(
                f"separator {separator!r} is not one character: give ',' or a tab, for instance"
            )
        if separator is None:
            separator = "\t" if "\t" in next(text_lines(file), "") else ","
        self.file = file
        self._rows = csv.reader(text_lines(file), delimiter=separator, strict=strict)
        self.header = next(self._read(), [])

    def column(self, given: str | None, argument: str, names: Sequence[str]) -> str:
        """Returns the name of a column.

        Args:
            given: Name that the user gives, None where the first of `names` that the table has is
                meant.
            argument: Argument by which a user gives it.
            names: Names that the column may have.

        Raises:
            ZooError: There is no such column, or it comes twice.
        """
        wanted = (given,) if given is not None else names
        found = next((name for name in wanted if name in self.header), None)
        if found is None:
            others = f" (nor {', '.join(wanted[1:])})" if wanted[1:] else ""
            raise ZooError(
                f"{self.file}:1 has no column "
                f"{wanted[0]!r}{suggest_names(wanted[0], self.header)}{others}: "
                f"it has {', '.join(map(repr, self.header)) or 'none'}; "
                f"say by {argument} which one it is"
            )
        if self.header.count(found) > 1:
            raise ZooError(
                f"{self.file}:1 has the column {found!r} {self.header.count(found)} times, "
                "and only one would count: rename the others"
            )
        return found

    def rows(self) -> Iterator[tuple[int, dict[str, str]]]:
        """Yields the line on which a row ends, and the row by column name.

        Raises:
            ZooError: A row has too few or too many fields, or is not CSV; the line is named.
        """
        for row in self._read():
            if row and len(row) != len(self.header):
                raise ZooError(
                    f"{self.file}:{self._rows.line_num} has {len(row)} fields where the header has "
                    f"{len(self.header)}: mend the line, a field that holds the separator wants "
                    "quotes"
                )
            if row:
                yield self._rows.line_num, dict(zip(self.header, row, strict=True))

    def _read(self) -> Iterator[list[str]]:
        try:
            yield from self._rows
        except csv.Error as error:
            raise ZooError(
                f"{self.file}:{self._rows.line_num} is not CSV ({error}): mend the line"
            ) from error
