"""MaxSim: late interaction without parameters (Khattab and Zaharia, 2020).

From ColBERT (Khattab and Zaharia, 2020) and the text-to-image score of FILIP (Yao et al., 2022).
W words t_w, P patches v_p of the shared width.

    s(I, T) = scale * 1/W sum_w max_p cos(v_p, t_w)
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from zoo.batch import Encoded, TokenKey, TowerShapes
from zoo.heads.base import Head, without_autocast_and_tf32
from zoo.needs import Needs
from zoo.support.ranges import Number, PositiveFloat, PositiveInt, PositiveNumber


class MaxSim(Head):
    """The highest cosine of each text token with an image patch, averaged over the tokens.

    Args:
        layer: The block whose projected tokens are read; -1 is the last.
        cls_patch: Whether the image's CLS patch is included.
        start_token: Whether the text's first token is included. By default, it is left out, since
            it is usually a start token. Choose True for tokenizers without a start token, such as
            SigLIP's.
        chunk: The approximate number of similarities that are computed at once, in millions.
            Similarities are recomputed in the backward pass.
        scale: The initial scale of similarities, above 0. None takes the backbone's.
        max_scale: The upper bound of a trained scale, applied after every step. If a higher initial
            scale is read from the backbone, it becomes the bound.
        learn_scale: Whether the scale is trained.
        bias: The initial bias, added to scaled similarities. None takes the backbone's bias, if it
            has one.

    Examples:
        One of two words equals the first patch, and the other lies between the two patches:

        >>> import torch
        >>> from zoo.batch import Encoded, TokenKey
        >>> from zoo.heads import MaxSim
        >>> head, key = MaxSim(start_token=True, learn_scale=False), TokenKey()
        >>> patches, words = torch.tensor([[[1.0, 0], [0, 1]]]), torch.tensor([[[1.0, 0], [1, 1]]])
        >>> real = torch.ones(1, 2).bool()
        >>> image, text = (Encoded(t, {key: t}, {key: real}) for t in (patches, words))
        >>> head.block(head.prepare_images(image), head.prepare_texts(text))  # (1 + 0.7071) / 2
        tensor([[0.8536]])
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
        bias: Number | None = None,
    ) -> None:
        super().__init__(scale, max_scale, learn_scale, bias)
        self.image_key, self.text_key = TokenKey(layer, prefix=cls_patch), TokenKey(layer)
        self.start_token, self.chunk, self.prefix = start_token, chunk, 0

    def attach(self, shapes: TowerShapes) -> None:
        """Stores how many prefix tokens images have; see `Head.attach`."""
        super().attach(shapes)
        self.prefix = shapes.prefix

    @property
    def needs(self) -> Needs:
        """Projected patches and text tokens of the layer; no pooled vectors."""
        return Needs(image_keys=frozenset({self.image_key}), text_keys=frozenset({self.text_key}))

    def prepare_images(self, images: Encoded) -> Encoded:
        """Returns the patches at unit length."""
        return _normalize_tokens(images, self.image_key)

    def prepare_texts(self, texts: Encoded) -> Encoded:
        """Returns the text tokens at unit length, without the first unless `start_token` is set."""
        words = _normalize_tokens(texts, self.text_key)
        if not self.start_token:
            mask = words.masks[self.text_key]
            words.masks[self.text_key] = mask & (
                torch.arange(mask.shape[1], device=mask.device) > 0
            )
        return words

    def pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        """Scores given pairs; see `Head.pairs`."""
        patches, words = images.tokens[self.image_key], texts.tokens[self.text_key]
        step = self._items_per_chunk(self._numbers_per_pair(patches, words))
        scores = [
            self._checkpoint_score(self._score_pairs, images, texts, a, b)
            for a, b in zip(torch.split(i, step), torch.split(j, step), strict=True)
        ]
        return self.logits(torch.cat(scores))

    def block(self, images: Encoded, texts: Encoded) -> Tensor:
        """Scores all pairs; see `Head.block`."""
        patches, words = images.tokens[self.image_key], texts.tokens[self.text_key]
        step = self._items_per_chunk(patches.shape[0] * patches.shape[1] * words.shape[1])
        columns = torch.split(torch.arange(len(texts), device=words.device), step)
        return self.logits(
            torch.cat(
                [self._checkpoint_score(self._score_columns, images, texts, j) for j in columns],
                dim=1,
            )
        )

    def _numbers_per_pair(self, patches: Tensor, words: Tensor) -> int:
        """Returns how many numbers per pair count towards `chunk`."""
        return patches.shape[1] * words.shape[1]

    def _items_per_chunk(self, similarities: int) -> int:
        return max(1, self.chunk * 1_000_000 // max(similarities, 1))

    def _checkpoint_score(self, score: Callable[..., Tensor], *arguments: Any) -> Tensor:
        similarity: Tensor = checkpoint(score, *arguments, use_reentrant=False)
        return similarity

    def word_patch_scores(
        self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor
    ) -> Tensor | None:
        """Returns the cosine of each text token with each patch.

        The score is the mean over tokens of the maximum over patches. A CLS patch is left out here,
        since it has no position in the image. See also `Head.word_patch_scores`.
        """
        similarity = self._similarity(images, texts, i, j)
        return similarity[:, :, self.prefix :] if self.image_key.prefix else similarity

    def _similarity(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        """Returns the cosine of each word and each patch of named pairs, `[P, W, patches]`."""
        patches, words = images.tokens[self.image_key][i], texts.tokens[self.text_key][j]
        with without_autocast_and_tf32(patches):
            return words @ patches.transpose(1, 2)

    def _score_pairs(self, images: Encoded, texts: Encoded, i: Tensor, j: Tensor) -> Tensor:
        similarity = self._similarity(images, texts, i, j)
        best = similarity.masked_fill(~images.masks[self.image_key][i][:, None], -torch.inf).amax(2)
        return _mean(best, texts.masks[self.text_key][j])

    def _score_columns(self, images: Encoded, texts: Encoded, j: Tensor) -> Tensor:
        patches, words = images.tokens[self.image_key], texts.tokens[self.text_key][j]
        with without_autocast_and_tf32(patches):
            similarity = torch.einsum("npd,mwd->nmwp", patches, words)
        best = similarity.masked_fill(
            ~images.masks[self.image_key][:, None, None], -torch.inf
        ).amax(3)
        return _mean(best, texts.masks[self.text_key][j])


def _normalize_tokens(items: Encoded, key: TokenKey) -> Encoded:
    """Returns the items with tokens of unit length, in at least fp32, without pooled vectors."""
    tokens = items.tokens[key]
    raised = tokens if tokens.dtype.itemsize >= 4 else tokens.float()
    return Encoded(
        raised.new_zeros(len(items), 0), {key: F.normalize(raised, dim=-1)}, {key: items.masks[key]}
    )


def _mean(best: Tensor, mask: Tensor) -> Tensor:
    """Returns the mean of `best`, [..., W], over the words that `mask` marks as real."""
    return torch.where(mask, best, 0.0).sum(-1) / mask.sum(-1).clamp(min=1)
