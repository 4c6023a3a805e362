"""Binary: does a text match an image? A threshold found from all scores says (SVO-Probes)."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, build_query


class Binary(Protocol):
    """Every pair of image and text asks whether it matches (`binary`).

    A score has no natural threshold. The one is taken under which the mean of the accuracies over
    matching and over other pairs of the subset is highest, the lowest where several are. A pair is
    said to match where it scores above the threshold.
    """

    name = "binary"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query for each pair."""
        for i, j in np.ndindex(match.shape):
            yield build_query("binary", i * match.shape[1] + j, match, (i,), (j,))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields the scores; whether they are right shows when all of them are known."""
        for query in self.queries(match):
            compared = scores[np.ix_(query.images, query.texts)].ravel()
            yield query.to_outcome(compared, right=False, tie=False)

    def judge_subset(
        self,
        metric: str,
        scores: Sequence[NDArray[np.float32]],
        match: Sequence[NDArray[np.bool_]],
    ) -> NDArray[np.bool_]:
        """Returns which pairs are judged rightly under the threshold that is best for all."""
        score, matches = np.concatenate(scores), np.concatenate(match)
        rightly: NDArray[np.bool_] = (score > threshold(score, matches)) == matches
        return rightly

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns one half."""
        return np.full(len(options), 0.5)


def threshold(scores: NDArray[np.float32], match: NDArray[np.bool_]) -> float:
    """Returns the threshold above which pairs best are said to match.

    Args:
        scores: Scores of the pairs, `[q]`.
        match: Which pairs match, `[q]`.

    Returns:
        The lowest of the scores, or minus infinity, for which the mean of two shares is highest: of
        the matching pairs above it, and of the others at or below it.
    """
    order = np.argsort(scores, kind="stable")
    ranked, matching = scores[order], match[order]
    last = np.append(ranked[1:] != ranked[:-1], True)  # where a run of equal scores ends
    missed = np.cumsum(matching)[last] / max(1, matching.sum())
    spared = np.cumsum(~matching)[last] / max(1, (~matching).sum())
    gain = np.append(0.0, spared - missed)
    return float(np.append(-np.inf, ranked[last])[np.argmax(gain)])
