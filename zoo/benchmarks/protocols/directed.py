"""Directed: Winoground's three questions, and each of the four choices separately (BiVLC)."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, build_query, right_above_wrong
from zoo.benchmarks.protocols.group import GroupScore

GROUP = GroupScore()
TEXT_OF, IMAGE_OF = ("i_pos2t", "i_neg2t"), ("t_pos2i", "t_neg2i")


class Directed(Protocol):
    """For two images and two texts: the metrics of `group`, and one metric for each choice.

    In `i_pos2t` and `i_neg2t`, an image chooses its text. In `t_pos2i` and `t_neg2i`, a text
    chooses its image. In these names, `pos` is the original image or text, which the case lists
    first. `neg` is the hard negative, which the case lists second.
    """

    name = "directed"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields the queries of `group`, then one for each image and one for each text."""
        yield from GROUP.queries(match)
        yield from _choices(match)

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query."""
        yield from GROUP.judge(match, scores)
        for query in _choices(match):
            compared = scores[np.ix_(query.images, query.texts)].ravel()
            yield query.to_outcome(compared, *right_above_wrong(compared, query.match))

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: it needs two images and their two texts in order."""
        return (
            ""
            if match.shape == (2, 2) and np.array_equal(match, np.eye(2))
            else ("does not have two images and their two texts in the same order")
        )


def _choices(match: NDArray[np.bool_]) -> Iterator[Query]:
    for i, metric in enumerate(TEXT_OF):
        yield build_query(metric, i, match, (i,), (0, 1))
    for j, metric in enumerate(IMAGE_OF):
        yield build_query(metric, j, match, (0, 1), (j,))
