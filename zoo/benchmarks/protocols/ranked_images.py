"""RankedImages, the base class of protocols in which a class ranks all images."""

from abc import abstractmethod
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query, right_above_wrong


class RankedImages(Protocol):
    """Base class of protocols that grade a class's ranking of all images.

    Images are ranked by the probability of the class in the softmax over all classes, as in
    ELEVATER.
    """

    has_interval = False

    @abstractmethod
    def classes(self, match: NDArray[np.bool_]) -> range:
        """Returns the classes that rank the images."""

    @abstractmethod
    def grade(self, right: NDArray[np.bool_], shares: NDArray[np.float64]) -> float:
        """Returns the grade of a ranking, from 0 to 1.

        Args:
            right: Which images are of the class, `[n]`.
            shares: The probabilities by which they are ranked, `[n]`.
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
            column = shares[:, query.index]
            value = self.grade(query.match, column)
            class_shares = column.astype(np.float32)
            yield query.to_outcome(
                class_shares, *right_above_wrong(class_shares, query.match), value
            )

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: each class that ranks needs an image."""
        return (
            "" if match[:, list(self.classes(match))].any(0).all() else "has a class without images"
        )


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns the softmax over classes, `[images, classes]`."""
    exponentials = np.exp(scores.astype(np.float64) - scores.max(1, keepdims=True))
    # summed in sorted order, so that exchanging the scores of other classes does not change a share
    shares: NDArray[np.float64] = exponentials / np.sort(exponentials, 1).sum(1, keepdims=True)
    return shares
