"""Image to text: each image chooses among the case's texts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, above_all, lacking_texts


class ImageToText(Protocol):
    """Every image asks: its right texts have to score above its wrong ones."""

    name = "i2t"
    drops_identical = True

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome `i2t` for each image."""
        texts = tuple(range(match.shape[1]))
        for i in range(len(match)):
            right, tie = above_all(scores[i], match[i])
            yield Outcome("i2t", i, right, tie, scores[i], match[i], (i,), texts)

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks that each image has a right and a wrong text."""
        return lacking_texts(match)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns one in the number of texts."""
        return 1 / options
