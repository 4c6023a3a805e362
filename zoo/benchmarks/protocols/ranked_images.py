"""RankedImages: a class ranks all images, and the whole order is graded."""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, above_all


class RankedImages(Protocol):
    """Base of protocols that grade the order into which a class brings all images.

    Images are ordered by the share of the class in the softmax over all classes, as ELEVATER does.
    """

    has_interval = False

    @abstractmethod
    def classes(self, match: NDArray[np.bool_]) -> range:
        """Returns the classes that rank the images."""

    @abstractmethod
    def grade(self, right: NDArray[np.bool_], shares: NDArray[np.float64]) -> float:
        """Returns how good an order is, from 0 to 1.

        Args:
            right: Which images are of the class, `[n]`.
            shares: The shares by which they are ordered, `[n]`.
        """

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query for each class that ranks the images."""
        images = tuple(range(len(match)))
        for j in self.classes(match):
            right = match[:, j]
            yield Query(self.name, j, right, images, (j,), len(match), int(right.sum()))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, with its grade."""
        shares = softmax(scores)
        for query in self.queries(match):
            column = shares[:, query.query]
            value = self.grade(query.match, column)
            kept = column.astype(np.float32)
            yield query.to_outcome(kept, *above_all(kept, query.match), value)

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks that each class that ranks has an image."""
        return (
            "" if match[:, list(self.classes(match))].any(0).all() else "has a class without images"
        )


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns the softmax over classes, `[images, classes]`."""
    raised = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
    # summed in one order, so that scores exchanged between other classes leave a share as it is
    shares: NDArray[np.float64] = raised / np.sort(raised, 1).sum(1, keepdims=True)
    return shares
