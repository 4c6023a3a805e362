"""By kind: an image chooses among texts, and the answer counts for its kind of question too."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Query
from zoo.benchmarks.protocols.image_to_text import ImageToText


class ByKind(ImageToText):
    """An image chooses as in `i2t`, and the answer counts under the kind of the question too.

    Args:
        kind: What the metric of that kind is called; none is counted where it is empty.
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
