"""Matched pairs: an image and its text have to choose each other."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import (
    Outcome,
    Protocol,
    Query,
    right_above_wrong,
)


class MatchedPairs(Protocol):
    """An image and its text have to choose each other among all images and texts (`group`).

    That is, the score of the pair has to exceed the scores of the image with wrong texts, and the
    scores of the text with wrong images. Each pair counts separately, whereas protocol `group`
    requires all pairs of a case to be right.
    """

    name = "matched_pairs"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query `group` for each image and right text."""
        for image, text in np.argwhere(match).tolist():
            wrong_texts, wrong_images = _wrong_partners(match, image, text)
            yield Query(
                "group",
                image,
                np.arange(1 + len(wrong_texts) + len(wrong_images)) == 0,
                tuple(sorted([image, *wrong_images])),
                tuple(sorted([text, *wrong_texts])),
            )

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query.

        Its scores are that of the pair, those of the image with wrong texts, and those of the text
        with wrong images.
        """
        pairs = np.argwhere(match).tolist()
        for query, (image, text) in zip(self.queries(match), pairs, strict=True):
            wrong_texts, wrong_images = _wrong_partners(match, image, text)
            compared = np.concatenate(
                [scores[image, [text, *wrong_texts]], scores[wrong_images, text]]
            )
            yield query.to_outcome(compared, *right_above_wrong(compared, query.match))

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: it needs pairs, each with a wrong text or image."""
        if not match.any():
            return "has no image with a right text"
        is_alone = any(
            match[image].all() and match[:, text].all() for image, text in np.argwhere(match)
        )
        return "has a pair without a wrong text or image" if is_alone else ""

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Returns 1 / (1 + number of wrong texts + number of wrong images)."""
        return 1 / options


def _wrong_partners(match: NDArray[np.bool_], image: int, text: int) -> tuple[list[int], list[int]]:
    """Returns the wrong texts of an image and the wrong images of a text."""
    return np.flatnonzero(~match[image]).tolist(), np.flatnonzero(~match[:, text]).tolist()
