"""Pairs: a custom table of images, each with a caption and a foil."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zoo.benchmarks.annotations import check_subsets, find_annotation_file
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.errors import ZooError
from zoo.sources.image_paths import OwnImages
from zoo.sources.readers.tables import CAPTION_COLUMNS, IMAGE_COLUMNS, Table

FOIL_COLUMNS = ("foil", "negative", "negative_caption")
SUBSET_COLUMN = "subset"
# The documented names come first: a table may also have the column names of open_clip.
IMAGES = tuple(sorted(IMAGE_COLUMNS, key="image".__ne__))
CAPTIONS = tuple(sorted(CAPTION_COLUMNS, key="caption".__ne__))


class Pairs(Benchmark):
    """Custom pairs of caption and foil, from a table with the columns image, caption and foil.

    `FILE` is the path of the table. An optional column `subset` names the subset of each pair.
    Without this column, all pairs form one subset, which is named after the table. The protocol is
    `i2t`, and a tie is wrong.

    An image is a path: absolute, or relative to the folder of the table, the working directory or
    the data root. If there is no such file, zoo searches for an image of COCO, Visual Genome or
    Flickr with this name.

    Args:
        file: The table, CSV or TSV: an absolute path, or one relative to the working directory or
            the data root.
        image_column: The column of the images. By default, the first of these that exists: image,
            filepath, image_path, file_name, filename, path.
        caption_column: The column of the captions. By default, the first of these that exists:
            caption, title, text, sentence, description.
        foil_column: The column of the foils. By default, the first of these that exists: foil,
            negative, negative_caption.
        separator: The separator of columns. By default, a tab if the header has one, else a comma.
        subsets: The chosen subsets; None for all.

    Examples:
        Each row of a table is a case; the column subset is optional:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import Pairs
        >>> _ = Path("pairs.csv").write_text('''image,caption,foil,subset
        ... 1.jpg,a red cup,a blue cup,color
        ... 2.jpg,two cups,three cups,number''')
        >>> [(case.subset, case.texts) for case in Pairs("pairs.csv").read(Path()).cases]
        [('color', ('a red cup', 'a blue cup')), ('number', ('two cups', 'three cups'))]
    """

    name = "pairs"
    colon_argument = "file"

    def __init__(
        self,
        file: str,
        image_column: str | None = None,
        caption_column: str | None = None,
        foil_column: str | None = None,
        separator: str | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        self.wanted = subsets
        self.file, self.separator = file, separator
        self.image_column, self.caption_column = image_column, caption_column
        self.foil_column = foil_column

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The whole table as one subset; its real subsets are known only when it is read."""
        instructions = f"write {self.file} with the columns image, caption, foil"
        return (
            Subset(
                Path(self.file).stem,
                (self.file,),
                None,
                instructions,
                {"i2t": 50.0},
                from_user=True,
            ),
        )

    def read(self, root: Path) -> Contents:
        """Returns a case for each row of the table; raises ZooError with the file and the line."""
        path = find_annotation_file(root, self.subsets[0])
        if path is None:
            return Contents([], [], list(self.subsets))
        cases = list(self._cases(path))
        if not cases:
            raise ZooError(f"{path} has no row after its header: write one pair per line")
        selected = check_subsets(
            str(path), self.wanted, dict.fromkeys(case.subset for case in cases)
        )
        return Contents([case for case in cases if case.subset in selected], [path], [])

    def _cases(self, path: Path) -> Iterator[Case]:
        match, images = np.array([[True, False]]), OwnImages(path.parent)
        table = Table(path, self.separator, strict=True)
        flags = f"`--benchmarks pairs --benchmarks.file {self.file} --benchmarks."
        columns = (
            table.choose_column(self.image_column, f"{flags}image_column NAME`", IMAGES),
            table.choose_column(self.caption_column, f"{flags}caption_column NAME`", CAPTIONS),
            table.choose_column(self.foil_column, f"{flags}foil_column NAME`", FOIL_COLUMNS),
        )
        if SUBSET_COLUMN in table.header:
            table.choose_column(SUBSET_COLUMN, "the header", (SUBSET_COLUMN,))
        for line, row in table.rows():
            image, caption, foil = (_text(row, name, f"{path}:{line}") for name in columns)
            subset = row.get(SUBSET_COLUMN, "").strip() or path.stem
            yield Case((images.ref(image),), (caption, foil), match, "i2t", subset, str(line))


def _text(row: dict[str, str], column: str, origin: str) -> str:
    text = row[column].strip()
    if not text:
        raise ZooError(f"{origin}: column {column!r} is empty: fill it in or delete the line")
    return text
