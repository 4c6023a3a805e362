"""Pairs and set: several images of the same objects, each with its own options."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import (
    Kind,
    Outcome,
    Protocol,
    Query,
    combine_answers,
    right_above_wrong,
)


class PairsAndSet(Protocol):
    """Both images of a pair (`pair`) or all images of the case (`set`) have to choose their texts.

    The first two images of a case are a pair, then the next two, and so on. Each image chooses only
    among its own options, which all have the same number. In the texts of the case, the options of
    the first image come first, then those of the second image, and so on.
    """

    name = "pairs_and_set"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `pair` for every two images, and a query `set` for all."""
        all_images = range(len(match))
        for start in all_images[::2]:
            yield _build_query("pair", start // 2, match, all_images[start : start + 2])
        yield _build_query("set", 0, match, all_images)

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, right if all its images choose correctly."""
        own_scores = _own_options(scores)
        for query in self.queries(match):
            rows = query.match.reshape(len(query.images), -1)
            answers = [
                right_above_wrong(own_scores[i], row)
                for i, row in zip(query.images, rows, strict=True)
            ]
            yield query.to_outcome(
                own_scores[list(query.images)].ravel(), *combine_answers(answers)
            )

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: images need pairs, and right and wrong options."""
        images, texts = match.shape
        if images % 2 or texts % images or not match.any():
            return "does not have pairs of images with the same number of options each"
        own_match = _own_options(match)
        complete = own_match.any(1).all() and (~own_match).any(1).all()
        return "" if complete else "has an image without a right or a wrong option"


def _own_options(table: NDArray[Kind]) -> NDArray[Kind]:
    """Returns the entries for the options of each image, `[images, options]`."""
    images, texts = table.shape
    blocks = table.reshape(images, images, texts // images)
    return blocks[np.arange(images), np.arange(images)]


def _build_query(metric: str, query_index: int, match: NDArray[np.bool_], images: range) -> Query:
    options = match.shape[1] // len(match)
    texts = range(images.start * options, images.stop * options)
    right = _own_options(match)[list(images)].ravel()
    return Query(metric, query_index, right, tuple(images), tuple(texts))
