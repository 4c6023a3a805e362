"""Scoring of the pairs of questions, from encoded images and texts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.evaluation.vectors import Vectors
from zoo.heads import answers
from zoo.heads.base import Head
from zoo.results.plan import ScorableCase
from zoo.sources.images import ImageFinder

PAIRS_AT_ONCE = 1 << 14
IMAGES_AT_ONCE = 256


def bytes_per_image_and_text(backbone: Backbone, head: Head, segments: int = 1) -> tuple[int, int]:
    """Returns the bytes of the vectors that a head reads per image and per text.

    If it reads views, the pixels of the image count as well.

    Args:
        backbone: Encodes them.
        head: Reads them.
        segments: The largest number of segments of a text.
    """
    shapes, needs = backbone.shapes, head.needs
    patches = (shapes.patches or 0) + shapes.prefix
    image = len(needs.image_keys) * patches * shapes.image_width
    text = len(needs.text_keys) * shapes.context * shapes.text_width
    if needs.pieces:
        views = needs.views
        image = shapes.width if views is None else views.count * shapes.width + 3 * views.side**2
        text = segments * shapes.width
    return 4 * image, 4 * text


def device_of(head: Head) -> torch.device:
    """Returns the device on which a head scores."""
    return next((parameter.device for parameter in head.parameters()), torch.device("cpu"))


def prepare_all(head: Head, vectors: Vectors) -> tuple[Encoded, Encoded]:
    """Returns all images and all texts, prepared by the head on its device."""
    device = device_of(head)
    with torch.autocast(device.type, enabled=False):
        return (
            answers.prepare_images(head, Encoded(torch.from_numpy(vectors.images).to(device))),
            answers.prepare_texts(head, Encoded(torch.from_numpy(vectors.texts).to(device))),
        )


def pair_scores(
    head: Head, images: Encoded, texts: Encoded, questions: Sequence[ScorableCase]
) -> Iterator[NDArray[np.float32]]:
    """Yields the scores of each question in fp32, `[images, texts]`, many questions at a time.

    Args:
        head: Scores the pairs.
        images: Prepared images.
        texts: Prepared texts.
        questions: The questions, whose rows are those of `images` and `texts`.

    Raises:
        ZooError: A score is not finite.
    """
    start = 0
    while start < len(questions):
        stop, pairs = start, 0
        while stop < len(questions) and (
            stop == start or pairs + questions[stop].case.match.size <= PAIRS_AT_ONCE
        ):
            pairs, stop = pairs + questions[stop].case.match.size, stop + 1
        chunk = questions[start:stop]
        i = np.concatenate([np.repeat(q.images, len(q.texts)) for q in chunk])
        j = np.concatenate([np.tile(q.texts, len(q.images)) for q in chunk])
        parts = np.split(
            score_pairs(head, images, texts, i, j),
            np.cumsum([q.case.match.size for q in chunk])[:-1],
        )
        for question, part in zip(chunk, parts, strict=True):
            yield check_finite(question, part.reshape(question.case.match.shape))
        start = stop


def score_pairs(
    head: Head, images: Encoded, texts: Encoded, i: NDArray[np.int64], j: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Returns the scores of pairs in fp32, `[P]`.

    Args:
        head: Scores the pairs.
        images: Prepared images.
        texts: Prepared texts.
        i: Rows of the pairs' images, `[P]`.
        j: Rows of the pairs' texts, `[P]`.
    """
    device = images.pooled.device
    parts = zip(
        *(torch.split(torch.from_numpy(rows).to(device), PAIRS_AT_ONCE) for rows in (i, j)),
        strict=True,
    )
    with torch.autocast(device.type, enabled=False):
        return np.concatenate(
            [answers.pairs(head, images, texts, *part).float().cpu().numpy() for part in parts]
        )


def score_query_texts(texts: Encoded, question: ScorableCase) -> NDArray[np.float32]:
    """Returns the cosines of a question's query texts with its texts, `[asking, texts]`.

    They are cosines of the vectors that the head compares images with.

    Args:
        texts: Prepared texts.
        question: The question.

    Raises:
        ZooError: A cosine is not finite.
    """
    query_vectors, text_vectors = (
        F.normalize(texts.pooled[torch.from_numpy(rows).to(texts.pooled.device)].float(), dim=-1)
        for rows in (question.query_texts, question.texts)
    )
    # sums of products, which do not depend on the order, so that equal texts tie exactly
    cosines = (query_vectors[:, None] * text_vectors[None]).sum(-1)
    return check_finite(question, np.asarray(cosines.cpu()))


def score_prompt_means(
    head: Head, images: Encoded, texts: Encoded, question: ScorableCase
) -> NDArray[np.float32]:
    """Returns the scores of a question's images and the means of its prompts, `[images, texts]`.

    The vectors that the head compares images with are normalised, averaged over the prompts of a
    text, and normalised again.

    Args:
        head: Scores the pairs.
        images: Prepared images.
        texts: Prepared texts.
        question: The question.

    Raises:
        ZooError: A score is not finite.
    """
    device = texts.pooled.device
    prompt_counts = np.array([len(prompts) for prompts in question.case.prompts])
    counts = torch.from_numpy(prompt_counts).to(device)
    vectors = F.normalize(texts.pooled[torch.from_numpy(question.texts).to(device)].float(), dim=-1)
    sums = vectors.new_zeros(len(counts), vectors.shape[1])
    starts = prompt_counts.cumsum() - prompt_counts
    # prompt by prompt, since a GPU adds rows of one sum in any order: equal prompts would not tie
    for k in range(prompt_counts.max()):
        texts_with_k = np.flatnonzero(prompt_counts > k)
        rows, prompts = (
            torch.from_numpy(i).to(device) for i in (texts_with_k, starts[texts_with_k] + k)
        )
        sums[rows] += vectors[prompts]
    # each distinct mean is scored once, so that texts with the same prompts tie exactly
    means, column = torch.unique(
        F.normalize(sums / counts[:, None], dim=-1), dim=0, return_inverse=True
    )
    classes, parts = Encoded(means), []
    for rows in torch.split(torch.from_numpy(question.images).to(device), IMAGES_AT_ONCE):
        with torch.autocast(device.type, enabled=False):
            block = answers.block(head, images.rows(rows), classes)
        parts.append(block[:, column].float().cpu().numpy())
    return check_finite(question, np.concatenate(parts))


def gallery_scorer(
    head: Head, images: Encoded, texts: Encoded, question: ScorableCase
) -> Callable[[slice], NDArray[np.float32]]:
    """Returns a function from some images of a gallery to their scores, `[images, texts]`.

    Args:
        head: Scores the pairs.
        images: Prepared images.
        texts: Prepared texts.
        question: The gallery.
    """
    device = images.pooled.device
    columns = texts.rows(torch.from_numpy(question.texts).to(device))
    image_rows = torch.from_numpy(question.images).to(device)

    def scores_of(part: slice) -> NDArray[np.float32]:
        with torch.autocast(device.type, enabled=False):
            block = answers.block(head, images.rows(image_rows[part]), columns)
        return check_finite(question, block.float().cpu().numpy())

    return scores_of


def video_scorer(
    head: Head, images: Encoded, texts: Encoded, question: ScorableCase, frames: int
) -> Callable[[slice], NDArray[np.float32]]:
    """Returns a function from some videos of a gallery to their scores, `[videos, texts]`.

    The vectors that the head compares texts with are normalised, averaged over the frames of a
    video, and normalised again.

    Args:
        head: Scores the pairs.
        images: Prepared images.
        texts: Prepared texts.
        question: The gallery, whose images are the frames, video by video.
        frames: Number of frames per video.
    """
    device = images.pooled.device
    columns = texts.rows(torch.from_numpy(question.texts).to(device))
    frame_rows = torch.from_numpy(question.images).to(device).view(-1, frames)

    def scores_of(part: slice) -> NDArray[np.float32]:
        vectors = F.normalize(images.pooled[frame_rows[part]].float(), dim=-1)
        videos = Encoded(F.normalize(vectors.mean(1), dim=-1))
        with torch.autocast(device.type, enabled=False):
            block = answers.block(head, videos, columns)
        return check_finite(question, block.float().cpu().numpy())

    return scores_of


def check_finite(question: ScorableCase, scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the scores of a question after checking them.

    Raises:
        ZooError: One of them is not finite.
    """
    if not np.isfinite(scores).all():
        raise ZooError(
            f"case {question.case.id} of {question.run}/{question.case.subset} has a score "
            "that is not a finite number: check the model's weights, its precision and its "
            "training loss"
        )
    return scores


def score_by_plain_model(
    model: Any, name: str, question: ScorableCase, finder: ImageFinder, batch_size: int
) -> NDArray[np.float32]:
    """Returns the scores that a plain object gives a question, in fp32, `[images, texts]`.

    Args:
        model: An object with `score(images, texts)`, which returns `[n, m]`.
        name: Its name in messages.
        question: The question.
        finder: Opens the images.
        batch_size: Number of images per call.

    Raises:
        ZooError: Its scores are not numbers, not finite, or have another shape.
    """
    case, parts = question.case, []
    for start in range(0, len(case.images), batch_size):
        images = [finder.load(image) for image in case.images[start : start + batch_size]]
        scores = _to_array(model.score(images, list(case.texts)), name)
        if scores.shape != (len(images), len(case.texts)):
            raise ZooError(
                f"{name} returned scores of shape {scores.shape} for {len(images)} images and "
                f"{len(case.texts)} texts: return shape ({len(images)}, {len(case.texts)})"
            )
        parts.append(scores)
    return check_finite(question, np.concatenate(parts))


def _to_array(scores: Any, model: str) -> NDArray[np.float32]:
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
