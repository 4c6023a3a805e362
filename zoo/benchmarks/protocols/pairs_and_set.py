"""Pairs and set: several images of the same objects, each right among options of its own."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import (
    Kind,
    Outcome,
    Protocol,
    Query,
    above_all,
    all_right,
)


class PairsAndSet(Protocol):
    """Both images of a pair choose their texts (`pair`), or all of the case do (`set`).

    The texts of a case are the options of its first image, then as many of the second, and so on.
    Two images that follow each other are a pair.
    """

    name = "pairs_and_set"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `pair` for each two images, and `set` for all."""
        everything = range(len(match))
        for first in everything[::2]:
            yield _build_query("pair", first // 2, match, everything[first : first + 2])
        yield _build_query("set", 0, match, everything)

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, right where each of its images is."""
        own = _own_options(scores)
        for query in self.queries(match):
            rows = query.match.reshape(len(query.images), -1)
            answers = [above_all(own[i], row) for i, row in zip(query.images, rows, strict=True)]
            yield query.to_outcome(own[list(query.images)].ravel(), *all_right(answers))

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks for an even number of images, each with a right one among its own options."""
        images, texts = match.shape
        if images % 2 or texts % images or not match.any():
            return "is not of pairs of images with as many options each"
        own = _own_options(match)
        both = own.any(1).all() and (~own).any(1).all()
        return "" if both else "has an image without a right or a wrong option"


def _own_options(table: NDArray[Kind]) -> NDArray[Kind]:
    """Returns the entries of each image's own options, `[images, options]`."""
    images, texts = table.shape
    blocks = table.reshape(images, images, texts // images)
    return blocks[np.arange(images), np.arange(images)]


def _build_query(metric: str, query: int, match: NDArray[np.bool_], images: range) -> Query:
    options = match.shape[1] // len(match)
    texts = range(images.start * options, images.stop * options)
    right = _own_options(match)[list(images)].ravel()
    return Query(metric, query, right, tuple(images), tuple(texts))
