"""Text to image: each text chooses among the case's images."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Protocol, Query, build_query, invalid_images_reason


class TextToImage(Protocol):
    """For each text, every right image has to score above every wrong image."""

    name = "t2i"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `t2i` for each text."""
        images, texts = match.shape
        for j in range(texts):
            yield build_query("t2i", j, match, range(images), (j,))

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: each text needs a right and a wrong image."""
        return invalid_images_reason(match)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1 / (number of images), with one right image."""
        return 1 / options
