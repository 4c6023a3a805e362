"""The strategy that encodes cases with shared images together and scores them from tokens."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.benchmarks.protocols.base import Outcome
from zoo.evaluation.batches import EvaluationBatch, LoaderFactory, Window
from zoo.evaluation.scoring import pair_scores
from zoo.evaluation.strategy import Strategy
from zoo.heads import answers
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.results.plan import Plan, ScorableCase
from zoo.support.distributed import gather_objects


class Windowed(Strategy):
    """Scores all questions except galleries, for a head that reads tokens.

    There are too many tokens to keep them all in memory.

    Args:
        plan: The plan.
        loader_factory: Loads the windows.
        windows: The questions, with all images and texts that they need.
    """

    def __init__(
        self, plan: Plan, loader_factory: LoaderFactory, windows: Sequence[Window]
    ) -> None:
        self.plan, self.loader_factory, self.windows = plan, loader_factory, windows
        self._scores: dict[int, NDArray[np.float32]] = {}

    def loaders(self) -> list[DataLoader[Any]]:
        """Returns a loader of windows."""
        return [self.loader_factory.build_rank_window_loader(self.windows)]

    def owns_batch(self, batch: EvaluationBatch) -> bool:
        """Returns whether a batch is a window."""
        return bool(batch.questions)

    def needs(self, head: Head) -> Needs:
        """Returns what the head needs."""
        return head.needs

    def step(
        self, head: Head, batch: EvaluationBatch, images: Encoded | None, texts: Encoded | None
    ) -> None:
        """Scores the window's questions."""
        assert images is not None
        assert texts is not None
        batch_questions = _remap_questions(batch, [self.plan.cases[q] for q in batch.questions])
        prepared = answers.prepare_images(head, images), answers.prepare_texts(head, texts)
        scores = pair_scores(head, *prepared, batch_questions)
        self._scores.update(zip(batch.questions, scores, strict=True))

    def image_passes(self, views: int) -> int:
        """Returns the number of views of the images of all windows."""
        return views * sum(len(window.images) for window in self.windows)

    def finish(self, backbone: Backbone, head: Head) -> Iterator[tuple[int, list[Outcome]]]:
        """Gathers the scores of all ranks."""
        ranks: list[dict[int, NDArray[np.float32]]] = gather_objects(self._scores)
        scores = {q: question_scores for rank in ranks for q, question_scores in rank.items()}
        return ((q, self.plan.cases[q].case.judge(scores[q])) for q in sorted(scores))

    def notes(self, head: Head) -> dict[str, Any]:
        """Returns the number of windows, and of items that are encoded in several of them."""
        images = [row for window in self.windows for row in window.images]
        texts = [row for window in self.windows for row in window.texts]
        return {
            "windows": len(self.windows),
            "images encoded twice": len(images) - len(set(images)),
            "texts encoded twice": len(texts) - len(set(texts)),
        }


def _remap_questions(
    batch: EvaluationBatch, questions: Sequence[ScorableCase]
) -> list[ScorableCase]:
    """Returns questions whose images and texts are rows of a batch."""
    image_at = {row: i for i, row in enumerate(batch.image_rows.tolist())}
    text_at = {row: j for j, row in enumerate(batch.text_rows.tolist())}
    return [
        replace(
            question,
            images=np.array([image_at[row] for row in question.images.tolist()]),
            texts=np.array([text_at[row] for row in question.texts.tolist()]),
        )
        for question in questions
    ]


def windows(plan: Plan, image_bytes: int, text_bytes: int, limit: int) -> list[Window]:
    """Returns windows of all questions except galleries, sorted by image.

    Questions that start with the same image are in one window if they fit.

    Args:
        plan: The plan.
        image_bytes: Bytes of one encoded image.
        text_bytes: Bytes of one encoded text.
        limit: Maximum bytes of a window; a single question may exceed it.
    """

    def first_image(q: int) -> int:
        return int(plan.cases[q].images[0])

    def parts() -> Iterator[Window]:
        candidates = (q for q, question in enumerate(plan.cases) if not question.case.is_gallery)
        for _, group in groupby(sorted(candidates, key=lambda q: (first_image(q), q)), first_image):
            question_rows = list(group)
            window = _window(plan, question_rows)
            size = len(window.images) * image_bytes + len(window.texts) * text_bytes
            yield from [window] if size <= limit else [_window(plan, [q]) for q in question_rows]

    return list(_fill_windows(parts(), image_bytes, text_bytes, limit))


def _window(plan: Plan, questions: Sequence[int]) -> Window:
    """Returns a window of questions, with all images and texts that they need."""
    window_questions = [plan.cases[q] for q in questions]
    images = dict.fromkeys(row for question in window_questions for row in question.images.tolist())
    texts = dict.fromkeys(row for question in window_questions for row in question.texts.tolist())
    return Window(tuple(questions), tuple(images), tuple(texts))


def _fill_windows(
    parts: Iterable[Window], image_bytes: int, text_bytes: int, limit: int
) -> Iterator[Window]:
    """Merges consecutive parts into windows of limited size."""
    questions: list[int] = []
    images: dict[int, None] = {}
    texts: dict[int, None] = {}
    for part in parts:
        more_images = len(images) + sum(row not in images for row in part.images)
        more_texts = len(texts) + sum(row not in texts for row in part.texts)
        if questions and more_images * image_bytes + more_texts * text_bytes > limit:
            yield Window(tuple(questions), tuple(images), tuple(texts))
            questions, images, texts = [], {}, {}
        questions += part.questions
        images.update(dict.fromkeys(part.images))
        texts.update(dict.fromkeys(part.texts))
    if questions:
        yield Window(tuple(questions), tuple(images), tuple(texts))
