"""Group: Winoground's three questions about two images and two texts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import (
    Outcome,
    Protocol,
    Query,
    build_query,
    combine_answers,
    invalid_images_reason,
    invalid_texts_reason,
    right_above_wrong,
)

METRICS = ("text", "image", "group")
# in per cent, for two images and two texts
CHANCE = {"text": 25.0, "image": 25.0, "group": 100 / 6}


class GroupScore(Protocol):
    """Images choose their texts (`text`), texts choose their images (`image`), or both (`group`).

    A case is right only if all choices of the metric are right.
    """

    name = "group"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields the queries `text`, `image` and `group`, each about the whole case."""
        images, texts = match.shape
        for metric in METRICS:
            yield build_query(metric, 0, match, range(images), range(texts))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, right if all its choices are right."""
        text = [right_above_wrong(s, m) for s, m in zip(scores, match, strict=True)]
        image = [right_above_wrong(s, m) for s, m in zip(scores.T, match.T, strict=True)]
        for query, answers in zip(self.queries(match), (text, image, [*text, *image]), strict=True):
            yield query.to_outcome(scores.ravel(), *combine_answers(answers))

    def first_wins(self, outcome: Outcome) -> bool:
        """Returns whether an argmax over each image's texts and each text's images is right.

        Args:
            outcome: An outcome.
        """
        shape = len(outcome.images), len(outcome.texts)
        scores, match = outcome.scores.reshape(shape), outcome.match.reshape(shape)
        text = match[np.arange(shape[0]), scores.argmax(1)].all()
        image = match[scores.argmax(0), np.arange(shape[1])].all()
        right = {"text": text, "image": image, "group": text and image}
        return bool(right[outcome.metric])

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Returns 1/4 (`text`, `image`) or 1/6 (`group`) for two images and two texts.

        For more, it returns None.
        """
        return np.full(len(options), CHANCE[metric] / 100) if (options == 4).all() else None

    def invalid_reason(self, match: NDArray[np.bool_]) -> str:
        """Returns why the case is invalid: all images and texts need right and wrong answers."""
        return invalid_texts_reason(match) or invalid_images_reason(match)
