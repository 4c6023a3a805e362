"""Text only: a caption is compared with its paraphrase and a foil, without an image."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, right_above_wrong

RIGHT = np.array([True, False, False])


class TextOnly(Protocol):
    """Two captions with the same meaning have to be closer to each other than either is to a foil.

    No image is used. The score of the two captions with each other has to exceed the scores of each
    caption with the foil. The metric is `t2t`.
    """

    name = "text_only"
    drops_identical = True

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields the query `t2t`."""
        yield Query("t2t", 0, RIGHT, (), (0, 1))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields the outcome from the score of both captions and those of each with the foil."""
        (query,) = self.queries(match)
        compared = np.array([scores[0, 0], scores[0, 1], scores[1, 1]], dtype=np.float32)
        yield query.to_outcome(compared, *right_above_wrong(compared, RIGHT))

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: it needs two query captions, the second and a foil."""
        right = match.tolist() == [[True, False]] * 2
        return (
            ""
            if right
            else "does not have two query captions, with the second one and a foil as answers"
        )

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1/3."""
        return 1 / options
