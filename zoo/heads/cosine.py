"""Cosine: the score of CLIP. s(I, T) = scale * cos(v, t)."""

import torch.nn.functional as F
from torch import Tensor

from zoo.batch import Encoded
from zoo.heads.base import Head, without_autocast


class Cosine(Head):
    """Cosine similarity of the pooled vectors, times a learned scale (CLIP; the logarithm of kappa in CS-CLIP's Eq. 2)."""

    scales_cosine = True

    def prepare_images(self, images: Encoded) -> Encoded:
        return _normalised(images)

    def prepare_texts(self, texts: Encoded) -> Encoded:
        return _normalised(texts)

    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        return self.logits((images.pooled[i] * texts.pooled[j]).sum(-1))

    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        with without_autocast(images.pooled):
            return self.logits(images.pooled @ texts.pooled.T)


def _normalised(items: Encoded) -> Encoded:
    raised = items.pooled if items.pooled.dtype.itemsize >= 4 else items.pooled.float()
    return Encoded(F.normalize(raised, dim=-1))
