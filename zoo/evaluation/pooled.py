"""Pooled: each image and text is encoded once, and pairs are scored from pooled vectors."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.benchmarks.protocols.base import Outcome
from zoo.benchmarks.protocols.recall import Recall
from zoo.evaluation.candidates import short_lists, short_lists_note
from zoo.evaluation.portions import EvaluationBatch, LoaderFactory
from zoo.evaluation.scoring import (
    class_scores,
    finite,
    gallery_rows,
    pair_scores,
    prepare_all,
    score_pairs,
    text_scores,
)
from zoo.evaluation.strategy import Strategy
from zoo.evaluation.texts_alone import Told, told_by_texts
from zoo.evaluation.vectors import Known, RankVectors, join_ranks
from zoo.heads.base import Head
from zoo.results.plan import Plan
from zoo.support.distributed import gather_objects


class Pooled(Strategy):
    """All questions, for a head that reads no tokens.

    A gallery is scored whole, in blocks of rows, or by short-lists where the head reranks.

    Args:
        plan: What is asked.
        loading: Loads images and texts.
        shortlist: Number of candidates on a short-list.
        known: What need not be encoded.
    """

    def __init__(self, plan: Plan, loading: LoaderFactory, shortlist: int, known: Known) -> None:
        self.plan, self.loading, self.shortlist, self.known = plan, loading, shortlist, known
        self._own = known.vectors.copy()
        self._told: Told = {}

    def loaders(self) -> list[DataLoader[Any]]:
        """Returns a loader of images and one of texts."""
        return self.loading.items(self.plan.questions, self.known.images, self.known.texts)

    def step(
        self, head: Head, portion: EvaluationBatch, images: Encoded | None, texts: Encoded | None
    ) -> None:
        """Keeps the pooled vectors."""
        self._own.add(portion, images, texts)

    def image_passes(self, views: int) -> int:
        """Returns the number of images, which are whole."""
        return len({row for asked in self.plan.questions for row in asked.images.tolist()})

    def finish(self, backbone: Backbone, head: Head) -> Iterator[tuple[int, list[Outcome]]]:
        """Gathers the vectors of all ranks; cases are judged first and then galleries."""
        return self._judge(head, gather_objects(self._own))

    def _judge(
        self, head: Head, ranks: Sequence[RankVectors]
    ) -> Iterator[tuple[int, list[Outcome]]]:
        vectors, questions = join_ranks(ranks, self.plan), self.plan.questions
        images, texts = prepare_all(head, vectors)
        reached = [q for q, question in enumerate(questions) if vectors.reach(question)]
        self._told = told_by_texts([questions[q] for q in reached], vectors.texts)
        cases = [
            q
            for q in reached
            if not (questions[q].case.gallery or questions[q].case.needs_whole_texts)
        ]
        scores = pair_scores(head, images, texts, [questions[q] for q in cases])
        for q, found in zip(cases, scores, strict=True):
            yield q, questions[q].case.judge(found)
        for q in reached:
            if questions[q].case.asking:
                yield q, questions[q].case.judge(text_scores(texts, questions[q]))
            elif questions[q].case.prompts:
                yield q, questions[q].case.judge(class_scores(head, images, texts, questions[q]))
        for q in reached:
            question, match = questions[q], questions[q].case.match
            protocol = question.case.judged_by
            if not isinstance(protocol, Recall):
                continue
            if head.reranks:
                lists = short_lists(*vectors.vectors_of(question), self.shortlist)
                i, j = lists.rows
                found = score_pairs(head, images, texts, question.images[i], question.texts[j])
                placed = lists.ranks(match, finite(question, found))
                yield q, list(protocol.judge_ranks(match, *placed))
            else:
                rows = gallery_rows(head, images, texts, question)
                yield q, list(protocol.judge_rows(match, rows))

    def told_by_texts(self) -> Told:
        """Returns what the vectors of the texts alone tell."""
        return self._told

    def notes(self, head: Head) -> dict[str, Any]:
        """Returns how galleries are scored where the head reranks."""
        galleries = any(question.case.gallery for question in self.plan.questions)
        return short_lists_note(head, self.shortlist) if head.reranks and galleries else {}
