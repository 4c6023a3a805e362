"""Text to image: each text chooses among the case's images."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Protocol, Query, build_query, lacking_images


class TextToImage(Protocol):
    """Every text asks: its right images have to score above the wrong ones."""

    name = "t2i"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `t2i` for each text."""
        images, texts = match.shape
        for j in range(texts):
            yield build_query("t2i", j, match, range(images), (j,))

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks that each text has a right and a wrong image."""
        return lacking_images(match)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns one in the number of images."""
        return 1 / options
