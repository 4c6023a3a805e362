"""Hard positives: a caption, the same in other words, and a foil."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, above_all, build_query

CHANCE = {"original": 1 / 2, "augmented": 1 / 3, "brittleness": 1 / 3}


class HardPositive(Protocol):
    """Is the foil under the caption, under caption and hard positive, or between the two?

    The texts are a caption, its hard positive and their foil; where the hard positive comes with a
    foil of its own, that is the last text. `brittleness` is the better the lower it is.
    """

    name = "hard_positive"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields the queries `original`, `augmented` and `brittleness`."""
        last = match.shape[1] - 1
        for metric, texts in zip(CHANCE, ((0, 2), (0, 1, last), (0, 1, last)), strict=True):
            yield build_query(metric, 0, match, (0,), texts)

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query; a foil level with one of two is not between them."""
        for query in self.queries(match):
            compared = scores[0, list(query.texts)]
            answer = above_all(compared, query.match)
            if query.metric == "brittleness":
                answer = _is_between(*compared)
            yield query.to_outcome(compared, *answer)

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks for an image, two right texts and then one or two wrong ones."""
        wanted = ([True, True, False], [True, True, False, False])
        if match.tolist() in [[texts] for texts in wanted]:
            return ""
        return "is not one image with a caption, its hard positive and a foil or two"

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns one in two or three."""
        return np.full(len(options), CHANCE[metric])


def _is_between(caption: np.float32, positive: np.float32, foil: np.float32) -> tuple[bool, bool]:
    """Tells whether the foil scores between the two, and whether only a tie keeps it from that."""
    low, high = min(caption, positive), max(caption, positive)
    return bool(low < foil < high), bool(low <= foil <= high and foil in (low, high))
