"""Vectors: the pooled vectors of a plan, as ranks find them and as they are gathered."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from zoo.batch import Encoded
from zoo.evaluation.portions import FILLING, EvaluationBatch
from zoo.results.plan import Plan, ScorableCase


@dataclass(frozen=True)
class Encodings:
    """Pooled vectors of one side in fp32, in the order in which a rank encoded them.

    Attributes:
        rows: Rows of the plan's images or texts, an array `[n]` for each portion.
        vectors: Their vectors, an array `[n, D]` for each portion.
    """

    rows: list[NDArray[np.int64]] = field(default_factory=list)
    vectors: list[NDArray[np.float32]] = field(default_factory=list)

    def add(self, rows: Tensor, pooled: Tensor) -> None:
        """Keeps vectors `[n, D]` of rows `[n]`, without those of filling."""
        real = rows != FILLING
        self.rows.append(rows[real].cpu().numpy())
        self.vectors.append(pooled[real.to(pooled.device)].float().cpu().numpy())


@dataclass(frozen=True)
class RankVectors:
    """What the steps of one rank found: the vectors of its images and of its texts."""

    images: Encodings = field(default_factory=Encodings)
    texts: Encodings = field(default_factory=Encodings)

    def copy(self) -> "RankVectors":
        """Returns the same vectors, to which others can be added."""
        images, texts = (Encodings([*e.rows], [*e.vectors]) for e in (self.images, self.texts))
        return RankVectors(images, texts)

    def add(self, portion: EvaluationBatch, images: Encoded | None, texts: Encoded | None) -> None:
        """Keeps the pooled vectors of a portion."""
        if images is not None:
            self.images.add(portion.image_rows, images.pooled)
        if texts is not None:
            self.texts.add(portion.text_rows, texts.pooled)


@dataclass(frozen=True)
class Known:
    """What need not be encoded, since other runs did it.

    Attributes:
        images: Rows of the plan's images whose vectors some rank has.
        texts: Rows of the plan's texts whose vectors some rank has.
        vectors: The vectors that this rank has, each on one rank alone.
    """

    images: frozenset[int] = frozenset()
    texts: frozenset[int] = frozenset()
    vectors: RankVectors = field(default_factory=RankVectors)


@dataclass(frozen=True)
class Vectors:
    """The vectors of all ranks, by rows of the plan.

    Attributes:
        images: Vectors of the plan's images, zeros where none came, `[n, D]`.
        texts: Vectors of the plan's texts, zeros where none came, `[m, D]`.
        has_image: Which images came, `[n]`.
        has_text: Which texts came, `[m]`.
    """

    images: NDArray[np.float32]
    texts: NDArray[np.float32]
    has_image: NDArray[np.bool_]
    has_text: NDArray[np.bool_]

    def reach(self, question: ScorableCase) -> bool:
        """Returns whether all images and texts of a question came."""
        has_texts = self.has_text[question.all_texts].all()
        return bool(self.has_image[question.images].all() and has_texts)

    def vectors_of(self, question: ScorableCase) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Returns the vectors of a question's images and of its texts."""
        return self.images[question.images], self.texts[question.texts]


def join_ranks(ranks: Sequence[RankVectors], plan: Plan) -> Vectors:
    """Puts the vectors of all ranks in their rows.

    Args:
        ranks: What each rank found.
        plan: What is asked.
    """
    images, has_image = _place_rows([found.images for found in ranks], len(plan.images))
    texts, has_text = _place_rows([found.texts for found in ranks], len(plan.texts))
    if not plan.images:
        images = np.zeros((0, texts.shape[1]), dtype=np.float32)
    return Vectors(images, texts, has_image, has_text)


def _place_rows(
    ranks: Sequence[Encodings], n: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Returns the vectors of n items `[n, D]`, zeros where none came, and which came, `[n]`."""
    whole, came = np.zeros((n, 0), dtype=np.float32), np.zeros(n, dtype=bool)
    for found in ranks:
        for rows, vectors in zip(found.rows, found.vectors, strict=True):
            if not whole.shape[1]:
                whole = np.zeros((n, vectors.shape[1]), dtype=np.float32)
            whole[rows], came[rows] = vectors, True
    return whole, came
