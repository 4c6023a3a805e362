"""Text only: a caption asks for its paraphrase, without an image."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, above_all

RIGHT = np.array([True, False, False])


class TextOnly(Protocol):
    """Two captions that mean the same have to be nearer to each other than either to a foil.

    Both captions ask; the case's texts are the second caption and the foil. What the second has
    with itself does not count.
    """

    name = "text_only"
    drops_identical = True

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields the query `t2t`."""
        yield Query("t2t", 0, RIGHT, (), (0, 1))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields its outcome, from the two captions' score and those of each with the foil."""
        (query,) = self.queries(match)
        compared = np.array([scores[0, 0], scores[0, 1], scores[1, 1]], dtype=np.float32)
        yield query.to_outcome(compared, *above_all(compared, RIGHT))

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks for two captions that ask, and for the second of them and a foil."""
        right = match.tolist() == [[True, False]] * 2
        return "" if right else "is not two captions that ask for the second and a foil"

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns one in three scores."""
        return 1 / options
