"""Scoring: from encoded images and texts to the scores of the pairs that questions name."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.errors import ZooError
from zoo.evaluation.shortlist import short_lists
from zoo.heads.base import Head
from zoo.results.plan import Question
from zoo.results.protocols import Outcome, judge, recalls, retrieval_by_rows

PAIRS_AT_ONCE = 1 << 14


def reads_tokens(head: Head) -> bool:
    """Returns whether a head needs more of an item than its pooled vector."""
    return head.needs.tokens


def token_bytes(backbone: Backbone, head: Head) -> tuple[int, int]:
    """Returns the bytes of the tokens that a head reads of one image and of one text."""
    shapes = backbone.shapes
    return (
        4
        * len(head.needs.image_keys)
        * ((shapes.patches or 0) + shapes.prefix)
        * shapes.image_width,
        4 * len(head.needs.text_keys) * shapes.context * shapes.text_width,
    )


def assembled(
    parts: Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]], n: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Puts vectors from all ranks in their rows.

    Args:
        parts: Rows and their vectors, from all ranks.
        n: Number of items.

    Returns:
        The vectors of all items, zeros where none came, and which items came, `[n]`.
    """
    whole, reached = np.zeros((n, 0), dtype=np.float32), np.zeros(n, dtype=bool)
    for index, vectors in parts:
        if not whole.shape[1]:
            whole = np.zeros((n, vectors.shape[1]), dtype=np.float32)
        whole[index], reached[index] = vectors, True
    return whole, reached


def judge_pooled(
    head: Head,
    images: NDArray[np.float32],
    texts: NDArray[np.float32],
    questions: Sequence[Question],
    shortlist: int,
    device: torch.device,
) -> Iterator[tuple[Question, list[Outcome]]]:
    """Yields the outcomes of each question, scored from pooled vectors.

    A gallery is scored whole in blocks of rows, or by short-lists where the head reranks.

    Args:
        head: Scores the pairs.
        images: Pooled vectors of the plan's images, `[n, D]`.
        texts: Pooled vectors of the plan's texts, `[m, D]`.
        questions: The questions.
        shortlist: Number of candidates on a short-list.
        device: Device on which pairs are scored.
    """
    prepared = (
        _prepared(head.prepare_images, images, device),
        _prepared(head.prepare_texts, texts, device),
    )
    for question, scores in pair_scores(
        head, *prepared, [q for q in questions if not q.case.gallery]
    ):
        yield question, judge(question.case, scores)
    for question in questions:
        if not question.case.gallery:
            continue
        match = question.case.match
        if not head.reranks:
            yield question, list(retrieval_by_rows(match, _blocks(head, *prepared, question)))
            continue
        lists = short_lists(images[question.images], texts[question.texts], shortlist)
        i, j = lists.rows
        scores = _scored(head, *prepared, question.images[i], question.texts[j])
        yield question, list(recalls(match, *lists.ranks(match, finite(question, scores))))


def pair_scores(
    head: Head, images: Encoded, texts: Encoded, questions: Sequence[Question]
) -> Iterator[tuple[Question, NDArray[np.float32]]]:
    """Yields the scores of each question in fp32, `[images, texts]`, many questions at a time.

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
        some = questions[start:stop]
        i = np.concatenate([np.repeat(q.images, len(q.texts)) for q in some])
        j = np.concatenate([np.tile(q.texts, len(q.images)) for q in some])
        parts = np.split(
            _scored(head, images, texts, i, j), np.cumsum([q.case.match.size for q in some])[:-1]
        )
        for question, part in zip(some, parts, strict=True):
            yield question, finite(question, part.reshape(question.case.match.shape))
        start = stop


def _scored(
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
            [head.pairs(images, texts, *part).float().cpu().numpy() for part in parts]
        )


def _blocks(
    head: Head, images: Encoded, texts: Encoded, question: Question
) -> Callable[[slice], NDArray[np.float32]]:
    device = images.pooled.device
    columns = texts.rows(torch.from_numpy(question.texts).to(device))
    image_rows = torch.from_numpy(question.images).to(device)

    def block(part: slice) -> NDArray[np.float32]:
        with torch.autocast(device.type, enabled=False):
            return finite(
                question, head.block(images.rows(image_rows[part]), columns).float().cpu().numpy()
            )

    return block


def _prepared(
    prepare: Callable[[Encoded], Encoded], vectors: NDArray[np.float32], device: torch.device
) -> Encoded:
    with torch.autocast(device.type, enabled=False):
        return prepare(Encoded(torch.from_numpy(vectors).to(device)))


def finite(question: Question, scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the scores of a question.

    Raises:
        ZooError: One of them is not finite.
    """
    if not np.isfinite(scores).all():
        raise ZooError(
            f"case {question.case.id} of {question.benchmark}/{question.case.subset} has a score "
            "that is not a number: the model's weights or its precision are broken, look at "
            "the loss it was trained to"
        )
    return scores
