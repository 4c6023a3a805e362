"""Binary: does a text match an image? A threshold over all scores decides (SVO-Probes)."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, build_query


class Binary(Protocol):
    """Each pair of an image and a text is classified as matching or not matching.

    A pair is classified as matching if its score is above a threshold. All pairs of a subset have
    the same threshold: the one with the highest mean of two accuracies, on matching pairs and on
    other pairs. If several thresholds are best, the lowest is used. The threshold is chosen with
    the scores that it classifies, so random scores reach slightly more than 1/2.
    """

    name = "binary"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query for each pair."""
        for i, j in np.ndindex(match.shape):
            yield build_query("binary", i * match.shape[1] + j, match, (i,), (j,))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields outcomes with the scores; `judge_subset` decides later whether they are right."""
        for query in self.queries(match):
            compared = scores[np.ix_(query.images, query.texts)].ravel()
            yield query.to_outcome(compared, right=False, tie=False)

    def judge_subset(
        self,
        metric: str,
        scores: Sequence[NDArray[np.float32]],
        match: Sequence[NDArray[np.bool_]],
    ) -> NDArray[np.bool_]:
        """Returns which pairs are classified correctly with the best threshold for all pairs."""
        score, matches = np.concatenate(scores), np.concatenate(match)
        rightly: NDArray[np.bool_] = (score > threshold(score, matches)) == matches
        return rightly

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1/2, for a threshold that does not depend on the scores."""
        return np.full(len(options), 0.5)


def threshold(scores: NDArray[np.float32], match: NDArray[np.bool_]) -> float:
    """Returns the best threshold above which pairs count as matching.

    Args:
        scores: Scores of the pairs, `[q]`.
        match: Which pairs match, `[q]`.

    Returns:
        The lowest of the scores (or minus infinity) that maximises the mean of two shares: that of
        matching pairs above it, and that of other pairs at or below it.
    """
    order = np.argsort(scores, kind="stable")
    ranked, matching = scores[order], match[order]
    run_ends = np.append(ranked[1:] != ranked[:-1], True)  # ends of runs of equal scores
    missed_share = np.cumsum(matching)[run_ends] / max(1, matching.sum())
    rejected_share = np.cumsum(~matching)[run_ends] / max(1, (~matching).sum())
    gain = np.append(0.0, rejected_share - missed_share)
    return float(np.append(-np.inf, ranked[run_ends])[np.argmax(gain)])
