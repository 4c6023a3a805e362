"""NegCLIP's training table: captions with sentence negatives and the rows of their hard images."""

import ast
import logging
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.sources.images import image_ref
from zoo.sources.readers.base import Reader
from zoo.sources.readers.tables import Table
from zoo.sources.sample import Sample
from zoo.support.text_files import caption

log = logging.getLogger(__name__)


class NegClipTsv(Reader):
    """{train,valid}_neg_clip.tsv (Yuksekgonul et al., 2023), the table that NegCLIP is trained on.

    Its columns are `title`, `filepath`, `neg_caption` and `neg_image`, the last two Python lists.
    `neg_image` counts rows of the complete file. Indices that a shortened file does not have are
    left out, counted and logged. A caption's id is its row, from 0.

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
            table.column(column, "the header", (column,))
        rows = list(table.rows())
        samples, asked, kept = [], 0, 0
        for i, (line, row) in enumerate(rows):
            origin = f"{self.file}:{line}"
            images = _list(row["neg_image"], int, "neg_image", origin)
            companions = tuple(image for image in images if 0 <= image < len(rows))
            asked, kept = asked + len(images), kept + len(companions)
            negatives = tuple(
                text.strip() for text in _list(row["neg_caption"], str, "neg_caption", origin)
            )
            ref = image_ref(row["filepath"])
            text = caption(row["title"], origin)
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
        if kept < asked:
            log.warning(
                "%s: %d of %d hard images are rows beyond the file's %d and left out",
                self.file,
                asked - kept,
                asked,
                len(rows),
            )
        return samples


def _list(text: str, kind: type, column: str, origin: str) -> list[Any]:
    try:
        values = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(type(v) is kind for v in values):
        raise ZooError(
            f"{origin} has {text[:40]!r} as {column!r}: "
            f"expected a list of {kind.__name__} as Python writes it"
        )
    return values
