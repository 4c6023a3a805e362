"""Half-truths: a caption against what is half true of its image (CS-CLIP, Eq. 1)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Protocol, Query, build_query, lacking_texts


class AboveHalfTruth(Protocol):
    """Every image asks: what is true of it has to score above its half-truth.

    The first right text is the anchor, the second, where there is one, the anchor truly completed,
    and the first wrong text the half-truth.
    """

    name = "half_truth"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields for each image `half_truth`, of the anchor, and `completion`."""
        for i in range(len(match)):
            true, false = np.flatnonzero(match[i]), np.flatnonzero(~match[i])
            for metric, column in zip(("half_truth", "completion"), true, strict=False):
                yield build_query(metric, i, match, (i,), (int(column), int(false[0])))

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks that each image has a right and a wrong text."""
        return lacking_texts(match)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns one half: the half-truth and a true text."""
        return 1 / options
