"""Group: Winoground's three questions about two images and two texts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import (
    Outcome,
    Protocol,
    Query,
    above_all,
    all_right,
    build_query,
    lacking_images,
    lacking_texts,
)

METRICS = ("text", "image", "group")
# in per cent, of two images and two texts
CHANCE = {"text": 25.0, "image": 25.0, "group": 100 / 6}


class GroupScore(Protocol):
    """Every image chooses its text (`text`), every text its image (`image`), or both (`group`)."""

    name = "group"

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields the queries `text`, `image` and `group`, each about the whole case."""
        images, texts = match.shape
        for metric in METRICS:
            yield build_query(metric, 0, match, range(images), range(texts))

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, right where all that it asks is right."""
        text = [above_all(s, m) for s, m in zip(scores, match, strict=True)]
        image = [above_all(s, m) for s, m in zip(scores.T, match.T, strict=True)]
        for query, answers in zip(self.queries(match), (text, image, [*text, *image]), strict=True):
            yield query.to_outcome(scores.ravel(), *all_right(answers))

    def first_wins(self, outcome: Outcome) -> bool:
        """Tells whether an argmax over the texts of each image, the images of each text, is right.

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
        """Returns the chance of two images and two texts, None where a case has more."""
        return np.full(len(options), CHANCE[metric] / 100) if (options == 4).all() else None

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks that each image has a right and a wrong text, and each text such images."""
        return lacking_texts(match) or lacking_images(match)
