"""ComCLIP (Jiang et al., NAACL 2024): sub-images of a text's phrases, added to the image.

v_0: the image; v_1 to v_N: its views; t: a text; t_1 to t_M: its phrases, all at unit length. The
sub-image of phrase j is the view i_j that is most similar to it.

    i_j = argmax_i cos(v_i, t_j)
    w_j = a_j / sum_k a_k, with a_j = max(0, cos(v_(i_j), t_j))
    s(I, T) = scale * cos(v_0 + sum_j w_j v_(i_j), t) (+ bias)

Without phrases, or if all a_j are 0, this is the cosine of image and text. Vectors have unit length
before they are added, as in the authors' script for Winoground, so that a sub-image counts by its
weight alone.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.batch import PIECES, Encoded
from zoo.heads.base import without_autocast_and_tf32
from zoo.heads.cosine import Cosine
from zoo.needs import Needs
from zoo.regions_and_phrases.base import Segments, Views
from zoo.regions_and_phrases.crops import Overlap
from zoo.support.class_names import class_of
from zoo.support.ranges import Number, PositiveFloat, PositiveInt, PositiveNumber


class ComCLIP(Cosine):
    """Cosine of the text with the image's vector plus vectors of crops that match phrases.

    Only evaluation uses crops and phrases. Training is as with `Cosine`.

    Args:
        views: Cuts images into crops (views). The whole image is added as a further view. By
            default, `Overlap`.
        segments: Splits texts into phrases. By default, `Triplets`.
        chunk: The maximum number of values in memory while pairs are scored, in millions.
        scale: The initial scale of cosines, above 0. None takes the backbone's.
        max_scale: The upper bound of a trained scale, applied after every step. If a higher initial
            scale is read from the backbone, it becomes the bound.
        learn_scale: Whether the scale is trained.
        bias: The initial bias, added to scaled cosines. None takes the backbone's bias, if it has
            one.

    Examples:
        The phrases of a text, and the number of views of an image: 270 crops and the image itself:

        >>> from zoo.heads import ComCLIP
        >>> head = ComCLIP()
        >>> head.segments.split("a man riding a brown horse")[:-1]
        ('man', 'brown horse', 'riding')
        >>> head.needs.views.count
        271
    """

    def __init__(
        self,
        views: Views | None = None,
        segments: Segments | None = None,
        chunk: PositiveInt = 32,
        scale: PositiveNumber | None = None,
        max_scale: PositiveFloat = 100.0,
        learn_scale: bool = True,
        bias: Number | None = None,
    ) -> None:
        super().__init__(scale, max_scale, learn_scale, bias)
        self.chunk, self.views = chunk, views or Overlap()
        # resolved by name, since importing its class would load the unit extraction rules
        self.segments = segments or class_of("Triplets", "segments", Segments)()
        self._image_and_views = _ImageAndViews(self.views)

    def inferred_arguments(self) -> dict[str, Any]:
        """Returns the views and segments that are used, which checkpoints and results record."""
        return {"views": self.views, "segments": self.segments}

    @property
    def needs(self) -> Needs:
        """The pooled vectors of the image, its views, the text and its phrases."""
        return Needs(pooled=True, views=self._image_and_views, segments=self.segments)

    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns images and their views at unit length."""
        if PIECES not in images.tokens:
            return super().prepare_images(images)
        views = super().prepare_images(Encoded(images.tokens[PIECES])).pooled
        return Encoded(views[:, 0], {PIECES: views}, images.masks)

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns texts and their phrases at unit length."""
        if PIECES not in texts.tokens:
            return super().prepare_texts(texts)
        segments = super().prepare_texts(Encoded(texts.tokens[PIECES])).pooled
        last = texts.masks[PIECES].sum(1) - 1  # the text itself follows its phrases
        rows, columns = (torch.arange(n, device=last.device) for n in segments.shape[:2])
        is_phrase = columns < last[:, None]
        return Encoded(segments[rows, last], {PIECES: segments}, {PIECES: is_phrase})

    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        """Scores given pairs; see `Head.pairs`."""
        if not _have_pieces(images, texts):
            return super().pairs(images, texts, i, j)
        step = self._pairs_per_chunk(images, texts)
        parts = zip(torch.split(i, step), torch.split(j, step), strict=True)
        return self.logits(torch.cat([_cosines(images, texts, *part) for part in parts]))

    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        """Scores all pairs; see `Head.block`."""
        if not _have_pieces(images, texts) or not len(images):
            return super().block(images, texts)
        rows, columns = (torch.arange(len(x), device=x.pooled.device) for x in (images, texts))
        parts = torch.split(columns, self._pairs_per_chunk(images, texts))
        cosines = [torch.cat([_cosines(images, texts, i, part) for part in parts]) for i in rows]
        return self.logits(torch.stack(cosines))

    def _pairs_per_chunk(self, images: Encoded, texts: Encoded) -> int:
        (views, width), phrases = images.tokens[PIECES].shape[1:], texts.tokens[PIECES].shape[1]
        return max(1, self.chunk * 1_000_000 // max(views * width, phrases * max(views, width), 1))


class _ImageAndViews(Views):
    """The image itself, followed by its views.

    Args:
        views: What makes the views.
    """

    def __init__(self, views: Views) -> None:
        self.inner, self.side, self.count = views, views.side, views.count + 1

    def views(self, image: Tensor) -> Sequence[Tensor]:
        """Returns the image and its views."""
        return [image, *self.inner.checked_views(image)]


def _have_pieces(images: Encoded, texts: Encoded) -> bool:
    """Checks whether sub-images can differ from the image, so that scores are not cosines."""
    return PIECES in images.tokens and PIECES in texts.tokens


def _cosines(images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
    """Returns the cosine of each pair's text with the image plus its weighted sub-images.

    Args:
        images: Prepared images with views.
        texts: Prepared texts with phrases.
        i: The image of each pair, `[P]`, or one image for all of them, `[]`.
        j: The text of each pair, `[P]`.
    """
    views, phrases, is_phrase = images.tokens[PIECES], texts.tokens[PIECES], texts.masks[PIECES][j]
    with without_autocast_and_tf32(views):
        similarity, best_view = (phrases[j] @ views[i].transpose(-2, -1)).max(-1)
    weights = similarity.clamp(min=0) * is_phrase
    weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-12)
    sub_images = views[i[..., None], best_view]
    total = images.pooled[i] + (weights[..., None] * sub_images).sum(-2)
    return (F.normalize(total, dim=-1) * texts.pooled[j]).sum(-1)
