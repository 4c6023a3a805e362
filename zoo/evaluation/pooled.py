"""The strategy that encodes each image and text once and scores pairs of pooled vectors."""

from collections.abc import Iterator, Sequence
from typing import Any

from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.benchmarks.protocols.base import Outcome
from zoo.benchmarks.protocols.recall import Recall
from zoo.benchmarks.protocols.video_recall import VideoRecall
from zoo.evaluation.batches import EvaluationBatch, LoaderFactory
from zoo.evaluation.scoring import (
    check_finite,
    gallery_scorer,
    pair_scores,
    prepare_all,
    score_pairs,
    score_prompt_means,
    score_query_texts,
    video_scorer,
)
from zoo.evaluation.shortlist import short_lists, short_lists_note
from zoo.evaluation.strategy import Strategy
from zoo.evaluation.text_only import TextOnlyAccuracy, text_only_accuracy
from zoo.evaluation.vectors import RankVectors, StoredItems, join_ranks
from zoo.heads.base import Head
from zoo.results.plan import Plan
from zoo.support.distributed import gather_objects


class Pooled(Strategy):
    """Scores all questions, for a head that reads no tokens.

    A gallery is scored completely, in blocks of rows, or by short lists if the head re-ranks.

    Args:
        plan: The plan.
        loader_factory: Loads images and texts.
        shortlist: Number of candidates on a short list.
        stored_items: Stored vectors, which need not be encoded.
    """

    def __init__(
        self, plan: Plan, loader_factory: LoaderFactory, shortlist: int, stored_items: StoredItems
    ) -> None:
        self.plan, self.loader_factory, self.shortlist, self.stored_items = (
            plan,
            loader_factory,
            shortlist,
            stored_items,
        )
        self._vectors = stored_items.vectors.copy()
        self._text_only_accuracy: TextOnlyAccuracy = {}

    def loaders(self) -> list[DataLoader[Any]]:
        """Returns a loader of images and one of texts."""
        return self.loader_factory.build_rank_item_loaders(
            self.plan.cases, self.stored_items.images, self.stored_items.texts
        )

    def step(
        self, head: Head, batch: EvaluationBatch, images: Encoded | None, texts: Encoded | None
    ) -> None:
        """Collects the pooled vectors."""
        self._vectors.add(batch, images, texts)

    def image_passes(self, views: int) -> int:
        """Returns the number of images, since there are no views."""
        return len({row for question in self.plan.cases for row in question.images.tolist()})

    def finish(self, backbone: Backbone, head: Head) -> Iterator[tuple[int, list[Outcome]]]:
        """Gathers the vectors of all ranks; judges cases first and then galleries."""
        return self._judge_questions(head, gather_objects(self._vectors))

    def _judge_questions(
        self, head: Head, rank_vectors: Sequence[RankVectors]
    ) -> Iterator[tuple[int, list[Outcome]]]:
        vectors, questions = join_ranks(rank_vectors, self.plan), self.plan.cases
        images, texts = prepare_all(head, vectors)
        reached = [q for q, question in enumerate(questions) if vectors.has_all(question)]
        self._text_only_accuracy = text_only_accuracy(
            [questions[q] for q in reached], vectors.texts
        )
        cases = [
            q
            for q in reached
            if not (questions[q].case.is_gallery or questions[q].case.needs_text_vectors)
        ]
        scores = pair_scores(head, images, texts, [questions[q] for q in cases])
        for q, question_scores in zip(cases, scores, strict=True):
            yield q, questions[q].case.judge(question_scores)
        for q in reached:
            if questions[q].case.query_texts:
                yield q, questions[q].case.judge(score_query_texts(texts, questions[q]))
            elif questions[q].case.prompts:
                yield (
                    q,
                    questions[q].case.judge(score_prompt_means(head, images, texts, questions[q])),
                )
        for q in reached:
            question, match = questions[q], questions[q].case.match
            protocol = question.case.resolved_protocol
            if not isinstance(protocol, Recall):
                continue
            if isinstance(protocol, VideoRecall):
                rows = video_scorer(head, images, texts, question, protocol.frames)
                yield q, list(protocol.judge_rows(match, rows))
            elif head.reranks:
                lists = short_lists(*vectors.vectors_of(question), self.shortlist)
                i, j = lists.pair_rows
                question_scores = score_pairs(
                    head, images, texts, question.images[i], question.texts[j]
                )
                ranking = lists.ranks(match, check_finite(question, question_scores))
                yield q, list(protocol.judge_ranks(match, *ranking))
            else:
                rows = gallery_scorer(head, images, texts, question)
                yield q, list(protocol.judge_rows(match, rows))

    def text_only_accuracy(self) -> TextOnlyAccuracy:
        """Returns the accuracy of the text vectors without images."""
        return self._text_only_accuracy

    def notes(self, head: Head) -> dict[str, Any]:
        """Returns how galleries are scored if the head re-ranks."""
        galleries = any(question.case.is_gallery for question in self.plan.cases)
        return short_lists_note(head, self.shortlist) if head.reranks and galleries else {}
