"""Text to image: each text chooses among the case's images."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, above_all, lacking_images


class TextToImage(Protocol):
    """Every text asks: its right images have to score above the wrong ones."""

    name = "t2i"

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome `t2i` for each text."""
        images = tuple(range(len(match)))
        for j in range(match.shape[1]):
            right, tie = above_all(scores[:, j], match[:, j])
            yield Outcome("t2i", j, right, tie, scores[:, j], match[:, j], images, (j,))

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks that each text has a right and a wrong image."""
        return lacking_images(match)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns one in the number of images."""
        return 1 / options
