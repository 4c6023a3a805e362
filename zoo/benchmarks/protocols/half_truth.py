"""Half-truths: a true description against a half-true one (CS-CLIP, Eq. 1)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Protocol, Query, build_query, invalid_texts_reason


class AboveHalfTruth(Protocol):
    """For each image, the true texts have to score above its half-truth.

    The first right text is the anchor, the second one, if any, is the anchor with a true
    completion, and the first wrong text is the half-truth.
    """

    name = "half_truth"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields the queries `half_truth` (about the anchor) and `completion` for each image."""
        for i in range(len(match)):
            true, false = np.flatnonzero(match[i]), np.flatnonzero(~match[i])
            for metric, column in zip(("half_truth", "completion"), true, strict=False):
                yield build_query(metric, i, match, (i,), (int(column), int(false[0])))

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: each image needs a right and a wrong text."""
        return invalid_texts_reason(match)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1/2, as a query compares a true text and the half-truth."""
        return 1 / options
