"""Protocols: how the scores of a case become outcomes.

A change of what counts as right raises VERSION. An outcome keeps what the strict rule says (`>`,
ties wrong), and whether equal scores alone made it say so. A preset decides what ties count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.base import Case
from zoo.errors import ZooError, near

VERSION = 1
RECALLS = (1, 5, 10)


@dataclass(frozen=True)
class Outcome:
    """One answer to one query.

    Attributes:
        metric: Name of the metric that the outcome counts towards.
        query: Row of the image or column of the text that asks; 0 where the whole case asks.
        right: Whether the answer is right by the strict rule, `>`.
        tie: Whether `>=` in the place of `>` would make a wrong answer right.
        scores: Scores that were compared. For retrieval: the best right score and the highest wrong
            one, minus infinity off a short-list.
        match: Which of the scores are right.
        images: Rows of the case's images that the query is about.
        texts: Columns of the case's texts that the query is about, in the order of `scores` where
            each score is of one text.
        options: Number of answers to choose from, for retrieval; None elsewhere.
        right_options: Number of right answers among them, for retrieval; None elsewhere.
    """

    metric: str
    query: int
    right: bool
    tie: bool
    scores: NDArray[np.float32]
    match: NDArray[np.bool_]
    images: tuple[int, ...]
    texts: tuple[int, ...]
    options: int | None = None
    right_options: int | None = None


@dataclass(frozen=True)
class Ranks:
    """Where each query has its best right answer; all arrays are `[q]`.

    Attributes:
        best: Best right score.
        hardest: Highest wrong score.
        above: Number of wrong answers that score higher than the best right one.
        level: Number of wrong answers that score the same as the best right one.
    """

    best: NDArray[np.float32]
    hardest: NDArray[np.float32]
    above: NDArray[np.int64]
    level: NDArray[np.int64]


def judge(case: Case, scores: NDArray[np.float32]) -> list[Outcome]:
    """Returns the outcomes of a case by its protocol.

    Args:
        case: The case.
        scores: Scores of its images and texts, `[images, texts]`.

    Raises:
        ZooError: The protocol does not exist.
    """
    if case.protocol not in PROTOCOLS:
        raise ZooError(
            f"case {case.id} of {case.subset} asks for the protocol {case.protocol!r}, "
            f"which does not exist{near(case.protocol, PROTOCOLS)}: "
            f"use one of {', '.join(PROTOCOLS)}"
        )
    return list(PROTOCOLS[case.protocol](case.match, scores))


def image_to_text(match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
    """Every image asks: its right texts against its wrong ones."""
    texts = tuple(range(match.shape[1]))
    for i in range(len(match)):
        right, tie = above_all(scores[i], match[i])
        yield Outcome("i2t", i, right, tie, scores[i], match[i], (i,), texts)


def text_to_image(match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
    """Every text asks: its right images against the wrong ones."""
    images = tuple(range(len(match)))
    for j in range(match.shape[1]):
        right, tie = above_all(scores[:, j], match[:, j])
        yield Outcome("t2i", j, right, tie, scores[:, j], match[:, j], images, (j,))


def group(match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
    """Yields Winoground's three outcomes.

    `text` asks that every image chooses its text, `image` that every text chooses its image, and
    `group` asks both.
    """
    text = [above_all(s, m) for s, m in zip(scores, match, strict=True)]
    image = [above_all(s, m) for s, m in zip(scores.T, match.T, strict=True)]
    for metric, answers in (("text", text), ("image", image), ("group", [*text, *image])):
        right = all(r for r, _ in answers)
        tie = not right and all(r or t for r, t in answers)
        images, texts = (tuple(range(n)) for n in match.shape)
        yield Outcome(metric, 0, right, tie, scores.ravel(), match.ravel(), images, texts)


def half_truth(match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
    """Yields for each image the outcomes `half_truth` and, with a second right text, `completion`.

    `half_truth` asks that the anchor (first right text) scores above the half-truth (first wrong
    text), CS-CLIP Eq. 1. `completion` asks that the second right text, the anchor truly completed,
    scores above the half-truth.
    """
    for i in range(len(match)):
        true, false = np.flatnonzero(match[i]), np.flatnonzero(~match[i])
        for metric, column in zip(("half_truth", "completion"), true, strict=False):
            pair = np.array([column, false[0]])
            right, tie = above_all(scores[i, pair], match[i, pair])
            texts = int(column), int(false[0])
            yield Outcome(metric, i, right, tie, scores[i, pair], match[i, pair], (i,), texts)


def retrieval(match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
    """Recall at 1, 5 and 10 both ways: any right answer among the first k."""
    return retrieval_by_rows(match, lambda rows: scores[rows])


def retrieval_by_rows(
    match: NDArray[np.bool_], rows: Callable[[slice], NDArray[np.float32]], step: int = 256
) -> Iterator[Outcome]:
    """Yields the outcomes of `retrieval`, with no more than `step` rows of scores in memory.

    Args:
        match: Which texts are right for which images, `[images, texts]`.
        rows: Gives the scores of a slice of images, `[step, texts]`.
        step: Number of images in a slice.
    """
    yield from recalls(match, *ranks(match, rows, step))


def recalls(match: NDArray[np.bool_], images: Ranks, texts: Ranks) -> Iterator[Outcome]:
    """Yields an outcome at each depth for each query that has a right answer.

    Args:
        match: Which texts are right for which images, `[images, texts]`.
        images: Ranks of images among texts.
        texts: Ranks of texts among images.
    """
    for side, side_match, found in (("i2t", match, images), ("t2i", match.T, texts)):
        for q in np.flatnonzero(side_match.any(1)):
            asks, answers = (int(q),), tuple(map(int, np.flatnonzero(side_match[q])))
            of_images, of_texts = (asks, answers) if side == "i2t" else (answers, asks)
            scores = np.array([found.best[q], found.hardest[q]], dtype=np.float32)
            among = (side_match.shape[1], int(side_match[q].sum()))
            for k in RECALLS:
                right = bool(found.above[q] + found.level[q] < k)
                tie = not right and bool(found.above[q] < k)
                yield Outcome(
                    f"{side}_r@{k}",
                    int(q),
                    right,
                    tie,
                    scores,
                    np.array([True, False]),
                    of_images,
                    of_texts,
                    *among,
                )


def recall_depth(metric: str) -> int | None:
    """Returns k of a metric 'i2t_r@k' or 't2i_r@k', None of any other."""
    _, recall, k = metric.partition("_r@")
    return int(k) if recall else None


def ranks(
    match: NDArray[np.bool_], rows: Callable[[slice], NDArray[np.float32]], step: int = 256
) -> tuple[Ranks, Ranks]:
    """Ranks images among texts and texts among images, in two passes over the rows.

    Args:
        match: Which texts are right for which images, `[n, m]`.
        rows: Gives the scores of a slice of images, `[step, m]`.
        step: Number of images in a slice.

    Returns:
        The ranks of n images among texts, and those of m texts among images.
    """
    n, m = match.shape
    image_best, image_hardest = np.full(n, -np.inf, np.float32), np.full(n, -np.inf, np.float32)
    text_best, text_hardest = np.full(m, -np.inf, np.float32), np.full(m, -np.inf, np.float32)
    parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    for part in parts:
        scores, right = rows(part), match[part]
        true, false = np.where(right, scores, -np.inf), np.where(right, -np.inf, scores)
        image_best[part], image_hardest[part] = true.max(1), false.max(1)
        text_best, text_hardest = (
            np.maximum(text_best, true.max(0)),
            np.maximum(text_hardest, false.max(0)),
        )
    image_above, image_level = np.zeros(n, np.int64), np.zeros(n, np.int64)
    text_above, text_level = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for part in parts:
        scores, wrong = rows(part), ~match[part]
        image_above[part] = ((scores > image_best[part, None]) & wrong).sum(1)
        image_level[part] = ((scores == image_best[part, None]) & wrong).sum(1)
        text_above += ((scores > text_best) & wrong).sum(0)
        text_level += ((scores == text_best) & wrong).sum(0)
    return (
        Ranks(image_best, image_hardest, image_above, image_level),
        Ranks(text_best, text_hardest, text_above, text_level),
    )


def above_all(scores: NDArray[np.float32], match: NDArray[np.bool_]) -> tuple[bool, bool]:
    """Compares the right answers with the wrong ones.

    Args:
        scores: Scores, `[K]`.
        match: Which of them are right, `[K]`.

    Returns:
        Whether every right answer scores above every wrong one, and whether only ties keep it from
        that.
    """
    worst, hardest = scores[match].min(), scores[~match].max(initial=-np.inf)
    return bool(worst > hardest), bool(worst == hardest)


PROTOCOLS: dict[str, Callable[[NDArray[np.bool_], NDArray[np.float32]], Iterator[Outcome]]] = {
    "i2t": image_to_text,
    "t2i": text_to_image,
    "group": group,
    "half_truth": half_truth,
    "retrieval": retrieval,
}
