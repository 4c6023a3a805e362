"""Hard positives: a caption, a paraphrase of it, and a foil."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, build_query, right_above_wrong

CHANCE = {"original": 1 / 2, "augmented": 1 / 3, "brittleness": 1 / 3}


class HardPositive(Protocol):
    """A foil is compared with a caption and with a paraphrase of the caption (*hard positive*).

    For metric `original`, the foil has to score below the caption. For metric `augmented`, the foil
    has to score below the caption and the hard positive. Metric `brittleness` is how often the foil
    scores between the two, so lower values are better. If the hard positive has a separate foil,
    `augmented` and `brittleness` use that foil instead of the caption's.
    """

    name = "hard_positive"
    lower_is_better = frozenset({"brittleness"})

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields the queries `original`, `augmented` and `brittleness`."""
        last_column = match.shape[1] - 1
        for metric, texts in zip(
            CHANCE, ((0, 2), (0, 1, last_column), (0, 1, last_column)), strict=True
        ):
            yield build_query(metric, 0, match, (0,), texts)

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query; a foil that ties with a text is not between both."""
        for query in self.queries(match):
            compared = scores[0, list(query.texts)]
            answer = right_above_wrong(compared, query.match)
            if query.metric == "brittleness":
                answer = _is_between(*compared)
            yield query.to_outcome(compared, *answer)

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: it needs one image, two right texts and 1 or 2 wrong."""
        allowed = ([True, True, False], [True, True, False, False])
        if match.tolist() in [[texts] for texts in allowed]:
            return ""
        return "does not have one image, a caption, its hard positive and one or two foils"

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1/2 (`original`) or 1/3 (`augmented`, `brittleness`)."""
        return np.full(len(options), CHANCE[metric])


def _is_between(caption: np.float32, positive: np.float32, foil: np.float32) -> tuple[bool, bool]:
    """Returns whether the foil scores between the two, and whether only a tie prevents that."""
    low, high = min(caption, positive), max(caption, positive)
    return bool(low < foil < high), bool(low <= foil <= high and foil in (low, high))
