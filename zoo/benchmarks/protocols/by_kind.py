"""By kind: an image chooses among texts, and the answer also counts for its kind of question."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Query
from zoo.benchmarks.protocols.image_to_text import ImageToText


class ByKind(ImageToText):
    """An image chooses as in `i2t`, and the answer also counts for the kind of the question.

    Args:
        kind: The name of the kind's metric; if empty, only `i2t` is counted.
    """

    name = "by_kind"

    def __init__(self, kind: str = "") -> None:
        self.kind = kind

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `i2t` for each image, and the same as a query of the kind."""
        for query in super().queries(match):
            yield query
            if self.kind:
                yield replace(query, metric=self.kind)
