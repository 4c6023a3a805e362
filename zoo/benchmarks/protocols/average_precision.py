"""Average precision: how high a text ranks its right images among the others."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, build_query, right_above_wrong


class AveragePrecision(Protocol):
    """Each text ranks the images of its case, and `ap` is the average precision of the ranking.

    The mean over texts is the mean average precision. If several images have the same score, all of
    them get the worst of their ranks.
    """

    name = "ap"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `ap` for each text."""
        images, texts = match.shape
        for j in range(texts):
            query = build_query("ap", j, match, range(images), (j,))
            yield Query(
                **{**vars(query), "options": images, "right_options": int(query.match.sum())}
            )

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, with its average precision."""
        for query in self.queries(match):
            column = scores[:, query.index]
            value = average_precision(query.match, column)
            yield query.to_outcome(column, *right_above_wrong(column, query.match), value)

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: each text needs a right image."""
        return "" if match.any(0).all() else "has a text without a right image"

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns the expected average precision of a ranking in random order.

        With R right ones among N, it is (R - 1) / (N - 1) (1 - H / N) + H / N, where H is the sum
        of 1 / k for k from 1 to N.
        """
        harmonic = np.array([(1 / np.arange(1, n + 1)).sum() for n in options])
        others_right = (right_options - 1) / np.maximum(options - 1, 1)
        expected: NDArray[np.float64] = others_right * (1 - harmonic / options) + harmonic / options
        return expected


def average_precision(right: NDArray[np.bool_], scores: NDArray[np.float32]) -> float:
    """Returns the mean, over right items, of the precision at each one, ties included.

    Args:
        right: Which items are right, at least one, `[n]`.
        scores: Their scores, `[n]`.
    """
    order = np.argsort(-scores, kind="stable")
    hits, ranked = np.cumsum(right[order]), scores[order]
    run_ends = np.flatnonzero(
        np.append(ranked[1:] != ranked[:-1], True)
    )  # ends of runs of equal scores
    n_found = np.diff(hits[run_ends], prepend=0)
    return float((n_found * hits[run_ends] / (run_ends + 1)).sum() / hits[-1])
