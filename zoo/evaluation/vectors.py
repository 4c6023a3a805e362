"""The pooled vectors of a plan, per rank and gathered from all ranks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from zoo.batch import Encoded
from zoo.evaluation.batches import FILLING, EvaluationBatch
from zoo.results.plan import Plan, ScorableCase


@dataclass(frozen=True)
class Encodings:
    """Pooled vectors of one side in fp32, in the order in which a rank encoded them.

    Attributes:
        rows: Rows of the plan's images or texts, one array `[n]` per batch.
        vectors: Their vectors, one array `[n, D]` per batch.
    """

    rows: list[NDArray[np.int64]] = field(default_factory=list)
    vectors: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, rows: Tensor, pooled: Tensor) -> None:
        """Adds vectors `[n, D]` of rows `[n]`, except filling."""
        real = rows != FILLING
        self.rows.append(rows[real].cpu().numpy())
        self.vectors.append(pooled[real.to(pooled.device)].float().cpu().numpy())


@dataclass(frozen=True)
class RankVectors:
    """The vectors of images and texts that one rank encoded."""

    images: Encodings = field(default_factory=Encodings)
    texts: Encodings = field(default_factory=Encodings)

    def copy(self) -> "RankVectors":
        """Returns a copy, to which other vectors can be added."""
        images, texts = (Encodings([*e.rows], [*e.vectors]) for e in (self.images, self.texts))
        return RankVectors(images, texts)

    def add(self, batch: EvaluationBatch, images: Encoded | None, texts: Encoded | None) -> None:
        """Adds the pooled vectors of a batch."""
        if images is not None:
            self.images.add(batch.image_rows, images.pooled)
        if texts is not None:
            self.texts.add(batch.text_rows, texts.pooled)


@dataclass(frozen=True)
class StoredItems:
    """Items that need not be encoded, since earlier runs stored them.

    Attributes:
        images: Rows of the plan's images whose vectors some rank has.
        texts: Rows of the plan's texts whose vectors some rank has.
        vectors: The vectors of this rank; each vector is on one rank only.
    """

    images: frozenset[int] = frozenset()
    texts: frozenset[int] = frozenset()
    vectors: RankVectors = field(default_factory=RankVectors)


@dataclass(frozen=True)
class Vectors:
    """The vectors of all ranks, by rows of the plan.

    Attributes:
        images: Vectors of the plan's images, zeros for missing ones, `[n, D]`.
        texts: Vectors of the plan's texts, zeros for missing ones, `[m, D]`.
        has_image: Which images have a vector, `[n]`.
        has_text: Which texts have a vector, `[m]`.
    """

    images: NDArray[np.float32]
    texts: NDArray[np.float32]
    has_image: NDArray[np.bool_]
    has_text: NDArray[np.bool_]

    def has_all(self, question: ScorableCase) -> bool:
        """Returns whether all images and texts of a question have vectors."""
        has_texts = self.has_text[question.all_texts].all()
        return bool(self.has_image[question.images].all() and has_texts)

    def vectors_of(self, question: ScorableCase) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns the vectors of a question's images and of its texts."""
        return self.images[question.images], self.texts[question.texts]


def join_ranks(ranks: Sequence[RankVectors], plan: Plan) -> Vectors:
    """Merges the vectors of all ranks.

    Args:
        ranks: The vectors of each rank.
        plan: The plan.
    """
    images, has_image = _place_rows([vectors.images for vectors in ranks], len(plan.images))
    texts, has_text = _place_rows([vectors.texts for vectors in ranks], len(plan.texts))
    if not plan.images:
        images = np.zeros((0, texts.shape[1]), dtype=np.float32)
    return Vectors(images, texts, has_image, has_text)


def _place_rows(
    ranks: Sequence[Encodings], n: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Returns the vectors of n items, `[n, D]`, zeros for missing ones, and which exist, `[n]`."""
    merged, has_vector = np.zeros((n, 0), dtype=np.float32), np.zeros(n, dtype=bool)
    for encodings in ranks:
        for rows, vectors in zip(encodings.rows, encodings.vectors, strict=True):
            if not merged.shape[1]:
                merged = np.zeros((n, vectors.shape[1]), dtype=np.float32)
            merged[rows], has_vector[rows] = vectors, True
    return merged, has_vector
