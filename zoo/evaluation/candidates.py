"""Short lists of candidates, for heads that are too expensive to score all pairs of a gallery.

The cosine of pooled vectors selects K texts for every image and K images for every text, and the
head re-ranks them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.protocols.recall import Ranks
from zoo.heads.base import Head
from zoo.results.header import SHORT_LISTS


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
