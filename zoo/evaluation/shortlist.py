"""Short lists of candidates, for heads that are too expensive to score all pairs of a gallery.

The cosine of pooled vectors selects K texts for every image and K images for every text, and the
head re-ranks them. `ShortListed` is the strategy for galleries of a head that reads tokens, which
are encoded again for the candidates, tile by tile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.benchmarks.protocols.base import Outcome
from zoo.benchmarks.protocols.recall import Ranks, Recall
from zoo.evaluation.batches import EvaluationBatch, Tile
from zoo.evaluation.encoder import Encoder
from zoo.evaluation.scoring import check_finite
from zoo.evaluation.strategy import Strategy
from zoo.evaluation.vectors import StoredItems, join_ranks
from zoo.heads import answers
from zoo.heads.base import Head
from zoo.results.header import SHORT_LISTS
from zoo.results.plan import Plan
from zoo.support.distributed import gather_objects, gather_results, rank, world_size
from zoo.support.progress import track


@dataclass(frozen=True)
class ShortLists:
    """The candidates of a gallery of n images and m texts.

    Attributes:
        texts: Rows of each image's candidate texts, `[n, K]`.
        images: Rows of each text's candidate images, `[m, K]`.
        pairs: Distinct pairs of an image i and a text j in either list, as `i * m + j`, sorted,
            `[P]`.
    """

    texts: NDArray[np.int64]
    images: NDArray[np.int64]
    pairs: NDArray[np.int64]

    @property
    def pair_rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The image and the text of every pair, `[P]` each."""
        return self.pairs // len(self.images), self.pairs % len(self.images)

    def ranks(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> tuple[Ranks, Ranks]:
        """Ranks texts for each image and images for each text.

        A correct answer that is not on a short list scores minus infinity, below all that are.

        Args:
            match: Which texts are correct for which images, `[n, m]`.
            scores: Scores of the pairs, `[P]`.
        """
        n, m = len(self.texts), len(self.images)
        image_rows, text_rows = np.arange(n)[:, None], np.arange(m)[:, None]
        return (
            _ranks(
                self.texts,
                match[image_rows, self.texts],
                scores[np.searchsorted(self.pairs, image_rows * m + self.texts)],
            ),
            _ranks(
                self.images,
                match[self.images, text_rows],
                scores[np.searchsorted(self.pairs, self.images * m + text_rows)],
            ),
        )


def short_lists(images: NDArray[np.float32], texts: NDArray[np.float32], k: int) -> ShortLists:
    """Returns the k nearest candidates by cosine, or all if there are fewer.

    Args:
        images: Pooled vectors, `[n, D]`.
        texts: Pooled vectors, `[m, D]`.
        k: Number of candidates.
    """
    images, texts = (
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        for vectors in (images, texts)
    )
    nearest_texts, nearest_images = _nearest(images, texts, k), _nearest(texts, images, k)
    m = len(texts)
    pairs = [
        np.arange(len(images))[:, None] * m + nearest_texts,
        nearest_images * m + np.arange(m)[:, None],
    ]
    return ShortLists(
        nearest_texts, nearest_images, np.unique(np.concatenate([part.ravel() for part in pairs]))
    )


def short_lists_note(head: Head, k: int) -> dict[str, str]:
    """Returns the note in results about short lists of k candidates."""
    return {
        SHORT_LISTS: f"the {k} best by cosine of pooled vectors, ordered by {type(head).__name__}"
    }


@dataclass(frozen=True)
class PairScores:
    """Scores of some pairs of a gallery's short lists, computed by one rank.

    Attributes:
        pairs: Which of `ShortLists.pairs` these are, `[P]`.
        scores: Their scores in fp32, `[P]`.
    """

    pairs: NDArray[np.int64]
    scores: NDArray[np.float32]


class ShortListed(Strategy):
    """Scores galleries, for a head that reads tokens.

    Steps collect pooled vectors, and their cosines select the candidates. At the end each rank
    encodes the tokens of its share of the candidates, tile by tile, and scores them.

    Args:
        plan: The plan.
        encoder: Encodes the tokens of the candidates, and loads images and texts.
        shortlist: Number of candidates on a short list.
        images_at_once: Number of images whose tokens are in memory at once.
        stored_items: Stored pooled vectors, which need not be encoded.
    """

    def __init__(
        self,
        plan: Plan,
        encoder: Encoder,
        shortlist: int,
        images_at_once: int,
        stored_items: StoredItems,
    ) -> None:
        self.plan, self.encoder, self.loader_factory = plan, encoder, encoder.loader_factory
        self.shortlist, self.images_at_once, self.stored_items = (
            shortlist,
            images_at_once,
            stored_items,
        )
        self.galleries = [q for q, question in enumerate(plan.cases) if question.case.is_gallery]
        self._vectors = stored_items.vectors.copy()

    def loaders(self) -> list[DataLoader[Any]]:
        """Returns a loader of the galleries' images and one of their texts."""
        questions = (self.plan.cases[q] for q in self.galleries)
        return self.loader_factory.build_rank_item_loaders(
            questions, self.stored_items.images, self.stored_items.texts
        )

    def step(
        self, head: Head, batch: EvaluationBatch, images: Encoded | None, texts: Encoded | None
    ) -> None:
        """Collects the pooled vectors."""
        self._vectors.add(batch, images, texts)

    def image_passes(self, views: int) -> int:
        """Returns the number of images, encoded to select candidates, and of their views."""
        gallery_rows = [self.plan.cases[q].images.tolist() for q in self.galleries]
        return len({row for rows in gallery_rows for row in rows}) + views * sum(
            map(len, gallery_rows)
        )

    def finish(self, backbone: Backbone, head: Head) -> Iterator[tuple[int, list[Outcome]]]:
        """Builds the short lists, and scores and gathers their pairs."""
        vectors = join_ranks(gather_objects(self._vectors), self.plan)
        reached = [q for q in self.galleries if vectors.has_all(self.plan.cases[q])]
        lists = {
            q: short_lists(*vectors.vectors_of(self.plan.cases[q]), self.shortlist) for q in reached
        }
        ranks = gather_results(
            lambda: {
                q: self._score_gallery(backbone, head, q, short_list)
                for q, short_list in lists.items()
            }
        )
        return self._judge_galleries(lists, ranks)

    def notes(self, head: Head) -> dict[str, Any]:
        """Returns how galleries are scored."""
        return short_lists_note(head, self.shortlist)

    def _score_gallery(
        self, backbone: Backbone, head: Head, q: int, lists: ShortLists
    ) -> PairScores:
        """Returns the scores of this rank's share of a gallery's pairs.

        Raises:
            ZooError: An image cannot be decoded.
        """
        question = self.plan.cases[q]
        runs = tiles(
            lists,
            question.images,
            question.texts,
            self.images_at_once,
            self.loader_factory.text_batch,
        )
        rank_tiles = [tile for run in runs[rank() :: world_size()] for tile in run]
        batches = track(
            self.loader_factory.build_tile_loader(rank_tiles),
            f"{question.run}/{question.case.subset}, short-lists",
            len(rank_tiles),
            shown=rank() == 0,
        )
        device, images, scores = next(backbone.parameters()).device, None, []
        for tile, loaded in zip(rank_tiles, batches, strict=True):
            batch = loaded.check_decoded().to(device)
            new_images, texts = self.encoder(backbone, batch, head.needs)
            images = images if new_images is None else answers.prepare_images(head, new_images)
            assert images is not None
            assert texts is not None
            prepared_texts = answers.prepare_texts(head, texts)
            i, j = (
                torch.from_numpy(rows).to(device) for rows in (tile.image_index, tile.text_index)
            )
            with torch.autocast(device.type, enabled=False):
                scores.append(
                    answers.pairs(head, images, prepared_texts, i, j).float().cpu().numpy()
                )
        pairs = [tile.pairs for tile in rank_tiles]
        return PairScores(
            np.concatenate([np.zeros(0, np.int64), *pairs]),
            np.concatenate([np.zeros(0, np.float32), *scores]),
        )

    def _judge_galleries(
        self,
        lists_by_question: Mapping[int, ShortLists],
        scores_by_rank: Sequence[Mapping[int, PairScores]],
    ) -> Iterator[tuple[int, list[Outcome]]]:
        for q, lists in lists_by_question.items():
            question = self.plan.cases[q]
            scores = np.full(len(lists.pairs), np.nan, np.float32)
            for rank_scores in scores_by_rank:
                scores[rank_scores[q].pairs] = rank_scores[q].scores
            match, protocol = question.case.match, question.case.resolved_protocol
            assert isinstance(protocol, Recall)
            yield (
                q,
                list(
                    protocol.judge_ranks(match, *lists.ranks(match, check_finite(question, scores)))
                ),
            )


def tiles(
    lists: ShortLists,
    images: NDArray[np.int64],
    texts: NDArray[np.int64],
    images_at_once: int,
    texts_at_once: int,
) -> list[list[Tile]]:
    """Splits the pairs of a gallery into runs of tiles, with every pair in one tile.

    There is one run per `images_at_once` images. The first tile of a run loads the images, and each
    tile loads its texts.

    Args:
        lists: Short lists of the gallery.
        images: The gallery's images, as rows of the plan.
        texts: The gallery's texts, as rows of the plan.
        images_at_once: Number of images in a run.
        texts_at_once: Number of texts in a tile.
    """
    i, j = lists.pair_rows
    runs = []
    for start in range(0, len(images), images_at_once):
        run_pairs = np.flatnonzero((i >= start) & (i < start + images_at_once))
        text_columns, positions = np.unique(j[run_pairs], return_inverse=True)
        run: list[Tile] = []
        for first_text in range(0, len(text_columns), texts_at_once):
            in_tile = (positions >= first_text) & (positions < first_text + texts_at_once)
            tile_images = images[start : start + images_at_once] if not run else images[:0]
            columns = texts[text_columns[first_text : first_text + texts_at_once]]
            run.append(
                Tile(
                    tuple(tile_images.tolist()),
                    tuple(columns.tolist()),
                    run_pairs[in_tile],
                    i[run_pairs[in_tile]] - start,
                    positions[in_tile] - first_text,
                )
            )
        runs.append(run)
    return runs


def _nearest(
    queries: NDArray[np.float32], candidates: NDArray[np.float32], k: int, step: int = 256
) -> NDArray[np.int64]:
    """Returns the k candidates of each query with the highest products, `[q, k]`."""
    if k >= len(candidates):
        return np.tile(np.arange(len(candidates)), (len(queries), 1))
    parts = [queries[start : start + step] @ candidates.T for start in range(0, len(queries), step)]
    return np.concatenate([np.argpartition(-part, k - 1, axis=1)[:, :k] for part in parts])


def _ranks(
    candidates: NDArray[np.int64], right: NDArray[np.bool_], scores: NDArray[np.float32]
) -> Ranks:
    """Ranks queries by the scores of their own candidates.

    Args:
        candidates: Their rows in the gallery, `[q, K]`.
        right: Which candidates are correct, `[q, K]`.
        scores: Scores of the candidates, `[q, K]`.
    """
    best = np.where(right, scores, -np.inf).max(1)
    hardest = np.where(right, -np.inf, scores).max(1)
    wrong_rows = np.where(~right & (scores == hardest[:, None]), candidates, np.iinfo(np.int64).max)
    wrong = np.where(np.isneginf(hardest), -1, wrong_rows.min(1))
    above = ((scores > best[:, None]) & ~right).sum(1)
    return Ranks(best, hardest, wrong, above, ((scores == best[:, None]) & ~right).sum(1))
