"""NegCLIP's training table: captions with negative captions and the rows of hard images."""

import ast
import logging
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.sources.images import infer_image_ref
from zoo.sources.readers.base import Reader
from zoo.sources.readers.tables import Table
from zoo.sources.sample import Sample
from zoo.support.text_files import strip_caption

log = logging.getLogger(__name__)


class NegClipTsv(Reader):
    """NegCLIP's train_neg_clip.tsv or valid_neg_clip.tsv (Yuksekgonul et al., 2023).

    The columns are `title`, `filepath`, `neg_caption` and `neg_image`; the last two contain Python
    lists. `neg_image` lists the row numbers of hard images, from 0. If the file was shortened, hard
    images beyond its end are left out, and a warning reports how many. The id of a caption is its
    row number, from 0.

    Args:
        file: The table.
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)

    @property
    def files(self) -> tuple[Path, ...]:
        """The table."""
        return (self.file,)

    def samples(self) -> list[Sample]:
        """Returns a sample for each row."""
        table = Table(self.file, "\t")
        for column in ("title", "filepath", "neg_caption", "neg_image"):
            table.choose_column(column, "the header", (column,))
        rows = list(table.rows())
        samples, n_listed, n_present = [], 0, 0
        for i, (line, row) in enumerate(rows):
            origin = f"{self.file}:{line}"
            images = _parse_list(row["neg_image"], int, "neg_image", origin)
            companions = tuple(image for image in images if 0 <= image < len(rows))
            n_listed, n_present = n_listed + len(images), n_present + len(companions)
            negatives = tuple(
                text.strip() for text in _parse_list(row["neg_caption"], str, "neg_caption", origin)
            )
            ref = infer_image_ref(row["filepath"])
            text = strip_caption(row["title"], origin)
            samples.append(
                Sample(
                    ref,
                    text,
                    str(ref),
                    str(i),
                    negatives=negatives,
                    companions=companions,
                    origin=origin,
                )
            )
        if n_present < n_listed:
            log.warning(
                "%s: left out %d of %d hard images, whose rows are beyond the file's %d rows",
                self.file,
                n_listed - n_present,
                n_listed,
                len(rows),
            )
        return samples


def _parse_list(text: str, kind: type, column: str, origin: str) -> list[Any]:
    try:
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(type(v) is kind for v in values):
        raise ZooError(
            f"{origin} has {text[:40]!r} in column {column!r}: "
            f"expected a Python list of {kind.__name__}"
        )
    return values
