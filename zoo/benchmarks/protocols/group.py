"""Group: Winoground's three questions about two images and two texts."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import (
    Outcome,
    Protocol,
    above_all,
    lacking_images,
    lacking_texts,
)


class GroupScore(Protocol):
    """Every image chooses its text (`text`), every text its image (`image`), or both (`group`)."""

    name = "group"

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields the outcomes `text`, `image` and `group`, each about the whole case."""
        text = [above_all(s, m) for s, m in zip(scores, match, strict=True)]
        image = [above_all(s, m) for s, m in zip(scores.T, match.T, strict=True)]
        images, texts = (tuple(range(n)) for n in match.shape)
        for metric, answers in (("text", text), ("image", image), ("group", [*text, *image])):
            right = all(r for r, _ in answers)
            tie = not right and all(r or t for r, t in answers)
            yield Outcome(metric, 0, right, tie, scores.ravel(), match.ravel(), images, texts)

    def lacks(self, match: NDArray[np.bool_]) -> str:
        """Asks that each image has a right and a wrong text, and each text such images."""
        return lacking_texts(match) or lacking_images(match)
