"""Recall: is any right answer among the first k, from images to texts and texts to images?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.base import Outcome, Protocol, Query


@dataclass(frozen=True)
class Ranks:
    """The rank of each query's best right answer; all arrays are `[q]`.

    Attributes:
        best_right_score: Best right score.
        hardest_wrong_score: Highest wrong score.
        hardest_index: Index of the wrong answer with that score, the first of several; -1 if none
            was scored.
        n_above: Number of wrong answers with a higher score than the best right one.
        n_tied: Number of wrong answers with the same score as the best right one.
    """

    best_right_score: NDArray[np.float32]
    hardest_wrong_score: NDArray[np.float32]
    hardest_index: NDArray[np.int64]
    n_above: NDArray[np.int64]
    n_tied: NDArray[np.int64]


class Recall(Protocol):
    """Recall at k = 1, 5 and 10: is a right answer among the first k?

    A case is a gallery: each image ranks all texts (`i2t_r@1`, `i2t_r@5`, `i2t_r@10`), and each
    text ranks all images (`t2i_r@1` and so on). Missing images are left out.

    Attributes:
        depths: The values of k.
    """

    name = "retrieval"
    depths: ClassVar[tuple[int, ...]] = (1, 5, 10)

    def queries(self, match: NDArray[np.bool_]) -> Iterator[Query]:
        """Yields a query at each depth for each image and text that has a right answer."""
        best_and_hardest = np.array([True, False])
        for side, side_match in (("i2t", match), ("t2i", match.T)):
            for q in np.flatnonzero(side_match.any(1)):
                query_index, answers = (int(q),), tuple(map(int, np.flatnonzero(side_match[q])))
                images, texts = (query_index, answers) if side == "i2t" else (answers, query_index)
                counts = side_match.shape[1], len(answers)
                for k in self.depths:
                    yield Query(f"{side}_r@{k}", int(q), best_and_hardest, images, texts, *counts)

    def judge(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> Iterator[Outcome]:
        """Yields an outcome for each query, from an array of all scores."""
        return self.judge_rows(match, lambda rows: scores[rows])

    def judge_rows(
        self,
        match: NDArray[np.bool_],
        rows: Callable[[slice], NDArray[np.float32]],
        step: int = 256,
    ) -> Iterator[Outcome]:
        """Yields the outcomes of `judge` with at most `step` rows of scores in memory.

        Args:
            match: Which texts are right for which images, `[images, texts]`.
            rows: Returns the scores of a slice of images, `[step, texts]`.
            step: Number of images in a slice.
        """
        yield from self.judge_ranks(match, *ranks(match, rows, step))

    def judge_ranks(
        self, match: NDArray[np.bool_], images: Ranks, texts: Ranks
    ) -> Iterator[Outcome]:
        """Yields the outcomes of `judge`.

        Args:
            match: Which texts are right for which images, `[images, texts]`.
            images: Ranks of images among texts.
            texts: Ranks of texts among images.
        """
        ranks_by_side = {"i2t": images, "t2i": texts}
        for query in self.queries(match):
            side, _, depth = query.metric.partition("_r@")
            side_ranks, q, k = ranks_by_side[side], query.index, int(depth)
            scores = np.array(
                [side_ranks.best_right_score[q], side_ranks.hardest_wrong_score[q]],
                dtype=np.float32,
            )
            right = bool(side_ranks.n_above[q] + side_ranks.n_tied[q] < k)
            tie = not right and bool(side_ranks.n_above[q] < k)
            wrong = None if side_ranks.hardest_index[q] < 0 else int(side_ranks.hardest_index[q])
            image, text = (None, wrong) if side == "i2t" else (wrong, None)
            yield query.to_outcome(scores, right, tie, wrong_image=image, wrong_text=text)

    def chance(
        self, metric: str, options: NDArray[np.int64], right_options: NDArray[np.int64]
    ) -> NDArray[np.float64] | None:
        """Returns 1 - C(N - m, k) / C(N, k), with m right answers among N."""
        if not right_options.all():
            return None
        return chance_among_first(int(metric.partition("_r@")[2]), options, right_options)


def chance_among_first(
    k: int, options: NDArray[np.int64], right_options: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Returns the chance that any right answer is among k random ones, `[q]`.

    Args:
        k: Number of random answers.
        options: Number of answers to choose from, N, `[q]`.
        right_options: Number of right answers among them, m, `[q]`.
    """
    i = np.arange(k)
    n_wrong_left = np.clip(options[:, None] - right_options[:, None] - i, 0, None)
    missed: NDArray[np.float64] = (n_wrong_left / np.clip(options[:, None] - i, 1, None)).prod(1)
    return 1 - missed


def ranks(
    match: NDArray[np.bool_], rows: Callable[[slice], NDArray[np.float32]], step: int = 256
) -> tuple[Ranks, Ranks]:
    """Ranks images among texts and texts among images, in two passes over the rows.

    Args:
        match: Which texts are right for which images, `[n, m]`.
        rows: Returns the scores of a slice of images, `[step, m]`.
        step: Number of images in a slice.

    Returns:
        The ranks of n images among texts, and those of m texts among images.
    """
    n, m = match.shape
    image_best, image_hardest = np.full(n, -np.inf, np.float32), np.full(n, -np.inf, np.float32)
    text_best, text_hardest = np.full(m, -np.inf, np.float32), np.full(m, -np.inf, np.float32)
    image_wrong, text_wrong = np.full(n, -1), np.full(m, -1)
    parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    for part in parts:
        scores, right = rows(part), match[part]
        true, false = np.where(right, scores, -np.inf), np.where(right, -np.inf, scores)
        image_best[part], image_hardest[part] = true.max(1), false.max(1)
        image_wrong[part] = np.where(np.isneginf(image_hardest[part]), -1, false.argmax(1))
        text_wrong = np.where(false.max(0) > text_hardest, part.start + false.argmax(0), text_wrong)
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
        Ranks(image_best, image_hardest, image_wrong, image_above, image_level),
        Ranks(text_best, text_hardest, text_wrong, text_above, text_level),
    )
