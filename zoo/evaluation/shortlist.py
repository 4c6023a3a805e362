"""Short-lists: where a pair costs a head too much for a whole gallery, it orders candidates alone.

The cosine of pooled vectors chooses K texts for every image and K images for every text, and the
head orders those.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from zoo.backbones.backbone import Backbone
from zoo.evaluation.portions import Portion, Tile, encode_pixels
from zoo.heads.base import Head
from zoo.results.protocols import Ranks

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class ShortLists:
    """The candidates of a gallery of n images and m texts.

    Attributes:
        texts: Rows of each image's candidate texts, `[n, K]`.
        images: Rows of each text's candidate images, `[m, K]`.
        pairs: Distinct pairs of an image i and a text j in either list, as `i * m + j`, sorted,
            `[P]`.
    """

    texts: Rows
    images: Rows
    pairs: Rows

    @property
    def rows(self) -> tuple[Rows, Rows]:
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
                match[of_images, self.texts],
                scores[np.searchsorted(self.pairs, of_images * m + self.texts)],
            ),
            _ranks(
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


def tiles(
    lists: ShortLists, images: Rows, texts: Rows, images_at_once: int, texts_at_once: int
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


@torch.no_grad()
def score_tiles(
    backbone: Backbone,
    head: Head,
    made: Sequence[Tile],
    portions: Iterable[Portion],
    image_batch: int,
) -> Iterator[tuple[Rows, NDArray[np.float32]]]:
    """Yields for each tile which pairs were scored, and their scores in fp32.

    Args:
        backbone: Encodes images and texts.
        head: Scores the pairs.
        made: The tiles.
        portions: Portions of the tiles, in their order.
        image_batch: Number of images that are encoded at once.

    Raises:
        ZooError: An image is broken.
    """
    device = next(backbone.parameters()).device
    images = None
    for tile, portion in zip(made, portions, strict=True):
        portion = portion.checked().to(device)
        if portion.pixels is not None:
            images = head.prepare_images(
                encode_pixels(backbone, portion.pixels, head.needs.image_keys, image_batch)
            )
        assert images is not None
        assert portion.texts is not None
        texts = head.prepare_texts(
            backbone.encode_texts(portion.texts, head.needs.text_keys).rows(portion.bank_rows)
        )
        i, j = (torch.from_numpy(rows).to(device) for rows in (tile.i, tile.j))
        with torch.autocast(device.type, enabled=False):
            yield tile.pairs, head.pairs(images, texts, i, j).float().cpu().numpy()


def _nearest(
    queries: NDArray[np.float32], candidates: NDArray[np.float32], k: int, step: int = 256
) -> Rows:
    """Returns the k candidates of each query with the highest products, `[q, k]`."""
    if k >= len(candidates):
        return np.tile(np.arange(len(candidates)), (len(queries), 1))
    parts = [queries[start : start + step] @ candidates.T for start in range(0, len(queries), step)]
    return np.concatenate([np.argpartition(-part, k - 1, axis=1)[:, :k] for part in parts])


def _ranks(right: NDArray[np.bool_], scores: NDArray[np.float32]) -> Ranks:
    """Ranks queries by the scores of their own candidates.

    Args:
        right: Which candidates are right, `[q, K]`.
        scores: Scores of the candidates, `[q, K]`.
    """
    best = np.where(right, scores, -np.inf).max(1)
    hardest = np.where(right, -np.inf, scores).max(1)
    above = ((scores > best[:, None]) & ~right).sum(1)
    return Ranks(best, hardest, above, ((scores == best[:, None]) & ~right).sum(1))
