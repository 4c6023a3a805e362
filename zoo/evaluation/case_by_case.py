"""Case by case: an object that scores images against texts is asked what a case asks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from zoo.errors import ZooError
from zoo.evaluation.scoring import finite
from zoo.results.plan import ScorableCase
from zoo.sources.images import ImageFinder


def scores_of(
    model: Any, named: str, question: ScorableCase, finder: ImageFinder, at_once: int
) -> NDArray[np.float32]:
    """Returns the scores of a question in fp32, `[images, texts]`.

    Args:
        model: Has `score(images, texts)`, which gives `[n, m]`.
        named: What messages call it.
        question: The question.
        finder: Opens the images.
        at_once: Number of images that it is given at once.

    Raises:
        ZooError: Its scores are no numbers, not finite, or of another shape.
    """
    case, parts = question.case, []
    for start in range(0, len(case.images), at_once):
        images = [finder.load(image) for image in case.images[start : start + at_once]]
        found = as_array(model.score(images, list(case.texts)), named)
        if found.shape != (len(images), len(case.texts)):
            raise ZooError(
                f"{named} gave scores of shape {found.shape} for {len(images)} images "
                f"and {len(case.texts)} texts: it must be ({len(images)}, {len(case.texts)})"
            )
        parts.append(found)
    return finite(question, np.concatenate(parts))


def as_array(scores: Any, model: str) -> NDArray[np.float32]:
    """Returns scores of any make in fp32.

    Raises:
        ZooError: They are no table of numbers.
    """
    if isinstance(scores, Tensor):
        scores = scores.detach().float().cpu()
    try:
        return np.asarray(scores, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ZooError(
            f"{model} gave no scores but a {type(scores).__name__} ({error}): "
            "it must give an array, images by texts"
        ) from error
