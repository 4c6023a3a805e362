"""Case-by-case evaluation of objects that score images against texts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from zoo.errors import ZooError
from zoo.evaluation.scoring import finite
from zoo.results.plan import ScorableCase
from zoo.sources.images import ImageFinder


def scores_of(
    model: Any, name: str, question: ScorableCase, finder: ImageFinder, at_once: int
) -> NDArray[np.float32]:
    """Returns the scores of a question in fp32, `[images, texts]`.

    Args:
        model: An object with `score(images, texts)`, which returns `[n, m]`.
        name: Its name in messages.
        question: The question.
        finder: Opens the images.
        at_once: Number of images per call.

    Raises:
        ZooError: Its scores are not numbers, not finite, or have another shape.
    """
    case, parts = question.case, []
    for start in range(0, len(case.images), at_once):
        images = [finder.load(image) for image in case.images[start : start + at_once]]
        scores = as_array(model.score(images, list(case.texts)), name)
        if scores.shape != (len(images), len(case.texts)):
            raise ZooError(
                f"{name} returned scores of shape {scores.shape} for {len(images)} images and "
                f"{len(case.texts)} texts: return shape ({len(images)}, {len(case.texts)})"
            )
        parts.append(scores)
    return finite(question, np.concatenate(parts))


def as_array(scores: Any, model: str) -> NDArray[np.float32]:
    """Converts scores to an array in fp32.

    Raises:
        ZooError: They are not an array of numbers.
    """
    if isinstance(scores, Tensor):
        scores = scores.detach().float().cpu()
    try:
        return np.asarray(scores, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ZooError(
            f"{model} returned a {type(scores).__name__}, not scores ({error}): return an array, "
            "images by texts"
        ) from error
