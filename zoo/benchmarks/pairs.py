"""Pairs: a user's own table of photographs with a caption and a foil."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zoo.benchmarks.annotations import locate
from zoo.benchmarks.base import Benchmark, Case, Part, Reading
from zoo.datamodules.photographs import OwnImages
from zoo.datamodules.readers.files import text_lines
from zoo.errors import ZooError, near

COLUMNS = ("image", "caption", "foil")


class Pairs(Benchmark):
    """One's own pairs, from a CSV with the columns image, caption, foil and, where wanted, subset.

    file: absolute, from the working directory or under the data root. image: a path, absolute, beside the CSV, from the working
    directory or under the data root; where nothing is there, the name of an image of COCO or Flickr.
    """

    name = "pairs"

    def __init__(self, file: str) -> None:
        self.file = file

    @property
    def parts(self) -> tuple[Part, ...]:
        how = f"write {self.file} with the columns image, caption, foil"
        return (Part(Path(self.file).stem, (self.file,), None, how, {"i2t": 50.0}, named=True),)

    def read(self, root: Path) -> Reading:
        path = locate(root, self.parts[0])
        if path is None:
            return Reading([], [], list(self.parts))
        cases = list(_cases(path))
        if not cases:
            raise ZooError(f"{path} has no row under its header: write one pair a line")
        return Reading(cases, [path], [])


def _cases(path: Path) -> Iterator[Case]:
    match, images = np.array([[True, False]]), OwnImages(path.parent)
    rows = csv.DictReader(text_lines(path), strict=True)
    try:
        columns = rows.fieldnames or []
        lacking = next((name for name in COLUMNS if name not in columns), None)
        if lacking is not None:
            raise ZooError(
                f"{path}:1 has no column {lacking!r}{near(lacking, columns)}: the header needs {', '.join(COLUMNS)}"
            )
        for row in rows:
            origin = f"{path}:{rows.line_num}"
            if None in row:
                raise ZooError(
                    f"{origin} has more fields than the header has columns: quote the field that holds a comma"
                )
            image, caption, foil = (_text(row, name, origin) for name in COLUMNS)
            subset = (row.get("subset") or "").strip() or path.stem
            yield Case(
                (images.ref(image),),
                (caption, foil),
                match,
                "i2t",
                subset,
                str(rows.line_num),
            )
    except csv.Error as error:
        raise ZooError(
            f"{path}:{rows.reader.line_num} is not CSV ({error}): mend the quotes of the line"
        ) from error


def _text(row: dict[str, str | None], column: str, origin: str) -> str:
    text = (row[column] or "").strip()
    if not text:
        raise ZooError(
            f"{origin} has nothing in column {column!r}: fill it in or take the line out"
        )
    return text
