"""Image to text: each image chooses among the case's texts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Protocol, Query, build_query, invalid_texts_reason


class ImageToText(Protocol):
    """For each image, every right text has to score above every wrong text."""

    name = "i2t"
    drops_identical = True

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `i2t` for each image."""
        images, texts = match.shape
        for i in range(images):
            yield build_query("i2t", i, match, (i,), range(texts))

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: each image needs a right and a wrong text."""
        return invalid_texts_reason(match)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1 / (number of texts), with one right text."""
        return 1 / options
