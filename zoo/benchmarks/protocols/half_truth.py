"""Half-truths: a true description against a half-true one (CS-CLIP, Eq. 1)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Protocol, Query, build_query, invalid_texts_reason


class AboveHalfTruth(Protocol):
    """A true text of an image has to score above a text with a wrong detail, the *half-truth*.

    A case has an *anchor*, which is a short true text. The half-truth adds a wrong detail to the
    anchor, and the *completion* adds a true detail. For metric `half_truth`, the anchor has to
    score above the half-truth. For metric `completion`, the completion has to score above the
    half-truth. The anchor is the first right text of the case, the completion is the second right
    text, and the half-truth is the first wrong text.
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
        """Returns 1/2."""
        return 1 / options
