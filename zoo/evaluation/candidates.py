"""Candidates: where a pair costs a head too much for a whole gallery, it orders short-lists.

The cosine of pooled vectors chooses K texts for every image and K images for every text, and the
head orders those.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.recall import Ranks
from zoo.heads.base import Head
from zoo.results.report import SHORT_LISTS


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
    def rows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The image and the text of every pair, `[P]` each."""
        return self.pairs // len(self.images), self.pairs % len(self.images)

    def ranks(self, match: NDArray[np.bool_], scores: NDArray[np.float32]) -> tuple[Ranks, Ranks]:
        """Ranks images among texts and texts among images.

        An answer that is on no short-list scores minus infinity, under all that are.

        Args:
            match: Which texts are right for which images, `[n, m]`.
            scores: Scores of the pairs, `[P]`.
        """
        n, m = len(self.texts), len(self.images)
        of_images, of_texts = np.arange(n)[:, None], np.arange(m)[:, None]
        return (
            _ranks(
                self.texts,
                match[of_images, self.texts],
                scores[np.searchsorted(self.pairs, of_images * m + self.texts)],
            ),
            _ranks(
                self.images,
                match[self.images, of_texts],
                scores[np.searchsorted(self.pairs, self.images * m + of_texts)],
            ),
        )


def short_lists(images: NDArray[np.float32], texts: NDArray[np.float32], k: int) -> ShortLists:
    """Returns the k nearest candidates by cosine, or all where there are fewer.

    Args:
        images: Pooled vectors, `[n, D]`.
        texts: Pooled vectors, `[m, D]`.
        k: Number of candidates.
    """
    images, texts = (
        vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        for vectors in (images, texts)
    )
    of_images, of_texts = _nearest(images, texts, k), _nearest(texts, images, k)
    m = len(texts)
    pairs = [np.arange(len(images))[:, None] * m + of_images, of_texts * m + np.arange(m)[:, None]]
    return ShortLists(
        of_images, of_texts, np.unique(np.concatenate([part.ravel() for part in pairs]))
    )


def short_lists_note(head: Head, k: int) -> dict[str, str]:
    """Returns what results say of galleries that were scored by short-lists of k candidates."""
    return {
        SHORT_LISTS: f"the {k} best by cosine of pooled vectors, ordered by {type(head).__name__}"
    }


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
        right: Which candidates are right, `[q, K]`.
        scores: Scores of the candidates, `[q, K]`.
    """
    best = np.where(right, scores, -np.inf).max(1)
    hardest = np.where(right, -np.inf, scores).max(1)
    first = np.where(~right & (scores == hardest[:, None]), candidates, np.iinfo(np.int64).max)
    wrong = np.where(np.isneginf(hardest), -1, first.min(1))
    above = ((scores > best[:, None]) & ~right).sum(1)
    return Ranks(best, hardest, wrong, above, ((scores == best[:, None]) & ~right).sum(1))
