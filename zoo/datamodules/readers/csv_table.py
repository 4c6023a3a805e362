"""Tables of paths and captions, as open_clip takes them."""

import csv
from collections.abc import Iterator
from pathlib import Path

from zoo.datamodules.photographs import OwnImages
from zoo.datamodules.readers.base import Reader
from zoo.datamodules.readers.files import caption, text_lines
from zoo.datamodules.sample import Sample
from zoo.errors import ZooError, near


def read_table(
    file: Path, separator: str, columns: tuple[str, ...]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields (line on which the row ends, row by column name) of a table with a header; a quoted field may hold line breaks.

    Raises ZooError that names the line of a row with too few or too many fields, and the column that the header lacks.
    """
    if len(separator) != 1:
        raise ZooError(
            f"separator {separator!r} is not one character: give ',' or a tab, for instance"
        )
    rows = csv.reader(text_lines(file), delimiter=separator)
    try:
        header = next(rows, [])
        for column in columns:
            if column not in header:
                raise ZooError(
                    f"{file}:1 has no column {column!r}{near(column, header)}: it has {', '.join(map(repr, header)) or 'none'}"
                )
        for row in rows:
            if row and len(row) != len(header):
                raise ZooError(
                    f"{file}:{rows.line_num} has {len(row)} fields where the header has {len(header)}: mend the line"
                )
            if row:
                yield rows.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        raise ZooError(
            f"{file}:{rows.line_num} is not a row of a table ({error}): mend the line"
        ) from error


class CsvTable(Reader):
    """A csv or tsv file with a header. Column names and separator start from open_clip's; a caption's id is its row, from 0."""

    def __init__(
        self,
        file: Path,
        image_column: str = "filepath",
        caption_column: str = "title",
        separator: str = "\t",
    ) -> None:
        self.file, self.image_column, self.caption_column, self.separator = (
            Path(file),
            image_column,
            caption_column,
            separator,
        )

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.file,)

    def samples(self) -> list[Sample]:
        samples, images = [], OwnImages(self.file.parent)
        for i, (line, row) in enumerate(
            read_table(self.file, self.separator, (self.image_column, self.caption_column))
        ):
            origin = f"{self.file}:{line}"
            if not row[self.image_column]:
                raise ZooError(
                    f"{origin} names no photograph in column {self.image_column!r}: write one or take the line out"
                )
            ref = images.ref(row[self.image_column])
            samples.append(
                Sample(
                    ref, caption(row[self.caption_column], origin), str(ref), str(i), origin=origin
                )
            )
        return samples
