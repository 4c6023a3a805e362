"""Cosine: the score of CLIP (Radford et al., 2021).

v, t: pooled vectors of an image and a text. The scale is 1 / tau, so that exp(s(I, T)) is kappa
of CS-CLIP's Eq. 2.

    s(I, T) = scale * cos(v, t) (+ bias)
"""

import torch.nn.functional as F
from torch import Tensor

from zoo.batch import Encoded
from zoo.heads.base import Head, without_autocast_and_tf32


class Cosine(Head):
    """Cosine of the pooled image and text vectors, times a trained scale.

    Args:
        scale: The initial scale of cosines, above 0. None takes the backbone's.
        max_scale: The upper bound of a trained scale, applied after every step. If a higher initial
            scale is read from the backbone, it becomes the bound.
        learn_scale: Whether the scale is trained.
        bias: The initial bias, added to scaled cosines. None takes the backbone's bias, if it has
            one.

    Examples:
        The scores of the image of a red cup against all texts, in the `batch` from the example of
        `zoo.batch.Batch`:

        >>> from zoo.backbones import Backbone
        >>> from zoo.heads import Cosine
        >>> head = Cosine(scale=10.0, learn_scale=False)
        >>> head.attach(Backbone("zoo-tiny").shapes)
        >>> images, texts = head.prepare_images(batch.images), head.prepare_texts(batch.texts)
        >>> head.block(images, texts)[0].round(decimals=1)
        tensor([10.0000,  0.0000,  5.0000,  5.0000,  7.1000,  0.0000])
    """

    scales_cosine = True

    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns the pooled vectors of images at unit length."""
        return _normalize(images)

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns the pooled vectors of texts at unit length."""
        return _normalize(texts)

    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        """Scores given pairs; see `Head.pairs`."""
        return self.logits((images.pooled[i] * texts.pooled[j]).sum(-1))

    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        """Scores all pairs; see `Head.block`."""
        with without_autocast_and_tf32(images.pooled):
            return self.logits(images.pooled @ texts.pooled.T)


def _normalize(items: Encoded) -> Encoded:
    raised = items.pooled if items.pooled.dtype.itemsize >= 4 else items.pooled.float()
    return Encoded(F.normalize(raised, dim=-1))
