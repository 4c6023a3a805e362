"""Classification: is an image's class among the first k of all classes?"""

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query
from zoo.benchmarks.protocols.recall import chance_among_first

BEST_AND_RIVAL = np.array([True, False])


class Classification(Protocol):
    """Each image ranks the classes: is its class first (`acc@1`), or in the first five (`acc@5`)?

    `acc@5` is reported only if there are more than five classes. If an image has several classes,
    any of them is right. If a preset counts ties as wrong, the right class ranks after all wrong
    classes with the same score. Otherwise, classes with the same score rank in the order in which
    the classes are listed. For each image, the results contain only two scores: the score of the
    right class, and the highest score of a wrong class.

    Attributes:
        depths: The values of k.
    """

    name = "classify"
    by_image = True
    depths: ClassVar[tuple[int, ...]] = (1, 5)

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query at each depth for each image; its group is the image's first class."""
        k_way = match.shape[1]
        for i, right in enumerate(match):
            classes = tuple(map(int, np.flatnonzero(right)))
            group = str(classes[0]) if classes else None
            for k in self.depths:
                if k == 1 or k < k_way:
                    yield Query(
                        f"acc@{k}",
                        *(i, BEST_AND_RIVAL, (i,), classes, k_way, len(classes), group),
                    )

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query; the score that an argmax chooses comes first."""
        rows = np.arange(len(match))
        best = np.where(match, scores, -np.inf).argmax(1)
        rival = np.where(match, -np.inf, scores).argmax(1)
        right_scores = scores[rows, best]
        wrong = ~match
        n_above = ((scores > right_scores[:, None]) & wrong).sum(1)
        equal = (scores == right_scores[:, None]) & wrong
        n_equal = equal.sum(1)
        n_equal_before = (equal & (np.arange(match.shape[1]) < best[:, None])).sum(1)
        for query in self.queries(match):
            i, k = query.index, int(query.metric.partition("@")[2])
            pair = np.array([best[i], rival[i]])
            order = slice(None) if n_above[i] + n_equal_before[i] < k else slice(None, None, -1)
            right = bool(n_above[i] + n_equal[i] < k)
            ordered_query = replace(
                query, match=query.match[order], texts=tuple(pair[order].tolist())
            )
            tie = not right and bool(n_above[i] < k)
            yield ordered_query.to_outcome(scores[i, pair[order]], right, tie)

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: each image needs a right and a wrong class."""
        complete = match.any(1).all() and (~match).any(1).all()
        return "" if complete else "has an image without a right or without a wrong class"

    def first_wins(self, outcome: Outcome) -> bool:
        """Returns whether the right class comes first among equal scores."""
        return bool(outcome.match[0])

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns the chance that k random classes include a right one."""
        return chance_among_first(int(metric.partition("@")[2]), options, right_options)
