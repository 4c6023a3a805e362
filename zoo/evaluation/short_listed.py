"""Short-listed: galleries of a head that reads tokens, encoded once more in tiles of candidates."""

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
from zoo.benchmarks.protocols.recall import Recall
from zoo.evaluation.candidates import ShortLists, short_lists, short_lists_note
from zoo.evaluation.encoder import Encoder
from zoo.evaluation.portions import EvaluationBatch, Tile
from zoo.evaluation.scoring import finite
from zoo.evaluation.strategy import Strategy
from zoo.evaluation.vectors import Known, join_ranks
from zoo.heads import answers
from zoo.heads.base import Head
from zoo.results.plan import Plan
from zoo.support.distributed import gather_made, gather_objects, rank, world_size
from zoo.support.progress import track


@dataclass(frozen=True)
class PairScores:
    """Scores of some pairs of a gallery's short-lists, as one rank found them.

    Attributes:
        pairs: Which of `ShortLists.pairs` these are, `[P]`.
        scores: Their scores in fp32, `[P]`.
    """

    pairs: NDArray[np.int64]
    scores: NDArray[np.float32]


class ShortListed(Strategy):
    """Galleries, for a head that reads tokens.

    Steps keep pooled vectors, and their cosines choose the candidates. At the end each rank encodes
    the tokens of its share of the candidates, tile by tile, and scores them.

    Args:
        plan: What is asked.
        encoder: Encodes the tokens of the candidates, and loads images and texts.
        shortlist: Number of candidates on a short-list.
        images_at_once: Number of images whose tokens are held at once.
        known: Pooled vectors that need not be encoded.
    """

    def __init__(
        self,
        plan: Plan,
        encoder: Encoder,
        shortlist: int,
        images_at_once: int,
        known: Known,
    ) -> None:
        self.plan, self.encoder, self.loading = plan, encoder, encoder.loading
        self.shortlist, self.images_at_once, self.known = shortlist, images_at_once, known
        self.galleries = [q for q, asked in enumerate(plan.questions) if asked.case.gallery]
        self._own = known.vectors.copy()

    def loaders(self) -> list[DataLoader[Any]]:
        """Returns a loader of the galleries' images and one of their texts."""
        questions = (self.plan.questions[q] for q in self.galleries)
        return self.loading.items(questions, self.known.images, self.known.texts)

    def step(
        self, head: Head, portion: EvaluationBatch, images: Encoded | None, texts: Encoded | None
    ) -> None:
        """Keeps the pooled vectors."""
        self._own.add(portion, images, texts)

    def image_passes(self, views: int) -> int:
        """Returns the number of whole images, which choose the candidates, and of their views."""
        each = [self.plan.questions[q].images.tolist() for q in self.galleries]
        return len({row for rows in each for row in rows}) + views * sum(map(len, each))

    def finish(self, backbone: Backbone, head: Head) -> Iterator[tuple[int, list[Outcome]]]:
        """Makes the short-lists, and scores and gathers their pairs."""
        vectors = join_ranks(gather_objects(self._own), self.plan)
        reached = [q for q in self.galleries if vectors.reach(self.plan.questions[q])]
        lists = {
            q: short_lists(*vectors.vectors_of(self.plan.questions[q]), self.shortlist)
            for q in reached
        }
        ranks = gather_made(
            lambda: {q: self._score_gallery(backbone, head, q, made) for q, made in lists.items()}
        )
        return self._judge(lists, ranks)

    def notes(self, head: Head) -> dict[str, Any]:
        """Returns how galleries are scored."""
        return short_lists_note(head, self.shortlist)

    def _score_gallery(
        self, backbone: Backbone, head: Head, q: int, lists: ShortLists
    ) -> PairScores:
        """Returns the scores of this rank's share of a gallery's pairs.

        Raises:
            ZooError: An image is broken.
        """
        question = self.plan.questions[q]
        runs = tiles(
            lists, question.images, question.texts, self.images_at_once, self.loading.text_batch
        )
        own = [tile for run in runs[rank() :: world_size()] for tile in run]
        portions = track(
            self.loading.tiles(own),
            f"{question.run}/{question.case.subset}, short-lists",
            len(own),
            shown=rank() == 0,
        )
        device, images, scores = next(backbone.parameters()).device, None, []
        for tile, loaded in zip(own, portions, strict=True):
            portion = loaded.check_decoded().to(device)
            new, texts = self.encoder(backbone, portion, head.needs)
            images = images if new is None else answers.prepare_images(head, new)
            assert images is not None
            assert texts is not None
            prepared = answers.prepare_texts(head, texts)
            i, j = (torch.from_numpy(rows).to(device) for rows in (tile.i, tile.j))
            with torch.autocast(device.type, enabled=False):
                scores.append(answers.pairs(head, images, prepared, i, j).float().cpu().numpy())
        pairs = [tile.pairs for tile in own]
        return PairScores(
            np.concatenate([np.zeros(0, np.int64), *pairs]),
            np.concatenate([np.zeros(0, np.float32), *scores]),
        )

    def _judge(
        self, galleries: Mapping[int, ShortLists], ranks: Sequence[Mapping[int, PairScores]]
    ) -> Iterator[tuple[int, list[Outcome]]]:
        for q, lists in galleries.items():
            question = self.plan.questions[q]
            scores = np.full(len(lists.pairs), np.nan, np.float32)
            for found in ranks:
                scores[found[q].pairs] = found[q].scores
            match, protocol = question.case.match, question.case.judged_by
            assert isinstance(protocol, Recall)
            yield (
                q,
                list(protocol.judge_ranks(match, *lists.ranks(match, finite(question, scores)))),
            )


def tiles(
    lists: ShortLists,
    images: NDArray[np.int64],
    texts: NDArray[np.int64],
    images_at_once: int,
    texts_at_once: int,
) -> list[list[Tile]]:
    """Cuts the pairs of a gallery into runs of tiles that hold every pair once.

    There is a run for each `images_at_once` images. The first tile of a run brings the images, and
    each tile its texts.

    Args:
        lists: Short-lists of the gallery.
        images: The gallery's images, as rows of the plan.
        texts: The gallery's texts, as rows of the plan.
        images_at_once: Number of images in a run.
        texts_at_once: Number of texts in a tile.
    """
    i, j = lists.rows
    runs = []
    for start in range(0, len(images), images_at_once):
        inside = np.flatnonzero((i >= start) & (i < start + images_at_once))
        needed, place = np.unique(j[inside], return_inverse=True)
        run: list[Tile] = []
        for first in range(0, len(needed), texts_at_once):
            here = (place >= first) & (place < first + texts_at_once)
            own = images[start : start + images_at_once] if not run else images[:0]
            columns = texts[needed[first : first + texts_at_once]]
            run.append(
                Tile(
                    tuple(own.tolist()),
                    tuple(columns.tolist()),
                    inside[here],
                    i[inside[here]] - start,
                    place[here] - first,
                )
            )
        runs.append(run)
    return runs
