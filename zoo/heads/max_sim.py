"""MaxSim: late interaction without parameters (Khattab and Zaharia, 2020, ColBERT; Yao et al., 2022, FILIP's text-to-image score).
W words t_w, P patches v_p of the shared width.

s(I, T) = scale * 1/W sum_w max_p cos(v_p, t_w)
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from zoo.batch import Encoded, TokenKey
from zoo.heads.base import Head, without_autocast
from zoo.support.ranges import PositiveFloat, PositiveInt, PositiveNumber


class MaxSim(Head):
    """Each word finds its best patch; the mean over words is the score.

    layer: whose projected tokens are read. cls_patch, start_token: whether the image's CLS patch and the text's start token take part; set
    start_token for token sets that have none, such as a caption's segments. chunk: how many similarities of words and patches are held
    at once, in millions; they are made again in the backward pass.
    """

    scales_cosine = True

    def __init__(
        self,
        layer: int = -1,
        cls_patch: bool = False,
        start_token: bool = False,
        chunk: PositiveInt = 32,
        scale: PositiveNumber | None = None,
        max_scale: PositiveFloat = 100.0,
        learn_scale: bool = True,
        bias: float | None = None,
    ) -> None:
        super().__init__(scale, max_scale, learn_scale, bias)
        self.image_key, self.text_key = TokenKey(layer, prefix=cls_patch), TokenKey(layer)
        self.start_token, self.chunk = start_token, chunk

    @property
    def image_keys(self) -> frozenset[TokenKey]:
        return frozenset({self.image_key})

    @property
    def text_keys(self) -> frozenset[TokenKey]:
        return frozenset({self.text_key})

    @property
    def uses_pooled(self) -> bool:
        return False

    def prepare_images(self, images: Encoded) -> Encoded:
        return _normalised(images, self.image_key)

    def prepare_texts(self, texts: Encoded) -> Encoded:
        words = _normalised(texts, self.text_key)
        if not self.start_token:
            mask = words.masks[self.text_key]
            words.masks[self.text_key] = mask & (
                torch.arange(mask.shape[1], device=mask.device) > 0
            )
        return words

    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        patches, words = images.tokens[self.image_key], texts.tokens[self.text_key]
        step = self._fitting(patches.shape[1] * words.shape[1])
        scores = [
            self._recomputed(self._pairs, images, texts, a, b)
            for a, b in zip(torch.split(i, step), torch.split(j, step), strict=True)
        ]
        return self.logits(torch.cat(scores))

    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        patches, words = images.tokens[self.image_key], texts.tokens[self.text_key]
        step = self._fitting(patches.shape[0] * patches.shape[1] * words.shape[1])
        columns = torch.split(torch.arange(len(texts), device=words.device), step)
        return self.logits(
            torch.cat([self._recomputed(self._columns, images, texts, j) for j in columns], dim=1)
        )

    def _fitting(self, similarities: int) -> int:
        return max(1, self.chunk * 1_000_000 // max(similarities, 1))

    def _recomputed(self, score: Callable[..., Tensor], *arguments: Any) -> Tensor:
        similarity: Tensor = checkpoint(score, *arguments, use_reentrant=False)
        return similarity

    def _pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        patches, words = images.tokens[self.image_key][i], texts.tokens[self.text_key][j]
        with without_autocast(patches):
            similarity = words @ patches.transpose(1, 2)  # [P, W, patches]
        best = similarity.masked_fill(~images.masks[self.image_key][i][:, None], -torch.inf).amax(2)
        return _mean(best, texts.masks[self.text_key][j])

    def _columns(self, images: Encoded, texts: Encoded, j: Tensor) -> Tensor:
        patches, words = images.tokens[self.image_key], texts.tokens[self.text_key][j]
        with without_autocast(patches):
            similarity = torch.einsum("npd,mwd->nmwp", patches, words)
        best = similarity.masked_fill(
            ~images.masks[self.image_key][:, None, None], -torch.inf
        ).amax(3)
        return _mean(best, texts.masks[self.text_key][j])


def _normalised(items: Encoded, key: TokenKey) -> Encoded:
    """Returns the items with tokens of unit length, in at least fp32, and without their pooled vectors."""
    tokens = items.tokens[key]
    raised = tokens if tokens.dtype.itemsize >= 4 else tokens.float()
    return Encoded(
        raised.new_zeros(len(items), 0), {key: F.normalize(raised, dim=-1)}, {key: items.masks[key]}
    )


def _mean(best: Tensor, mask: Tensor) -> Tensor:
    """best: [..., W]; mask: broadcast to it. Returns the mean over real words."""
    return torch.where(mask, best, 0.0).sum(-1) / mask.sum(-1).clamp(min=1)
