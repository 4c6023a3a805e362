"""FSC-CLIP (Oh et al., 2024).

Image v_i has caption t_0 and K_i negatives t~_k; v_p: its patches; t_w: the tokens of a text;
1 / tau: the head's scale, in Eq. 8 `local_scale`.

    S_g(I, T) = exp(cos(v, t) / tau)                                                    Eq. 1
    L_clip    = that of CLIP                                                            Eq. 2
    p_k       = S(I, T_k) / [S(I, T_0) + sum_k' S(I, T~_k')], for S_g and for S_l       Eqs. 3, 5
    L_neg     = -1/B sum_i log p_0                                                      Eqs. 4, 5
    a_wp      = (s_wp - min_p s_wp) / (max_p s_wp - min_p s_wp), with s_wp = t_w . v_p  Eq. 6
    v^_w      = sum_p a_wp v_p / sum_p a_wp                                             Eq. 7
    S_l(I, T) = sum_w exp(cos(v^_w, t_w) / tau)                                         Eq. 8
    Focal     = sum_k (1 - p_k)^gamma (-y_k log p_k), in place of -log p_0              Eq. 9
    y_k       = (1 - beta) [k = 0] + beta / (1 + K_i)                                   Eq. 10
    L         = L_clip + lambda_g L_neg^g + lambda_l L_neg^l                            Eq. 11

With `pairs="sigmoid"`, which the paper does not have, L_clip is SigLIP's loss; the bias of its head
cancels in p_k.
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.batch import Batch, TokenKey, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head, without_autocast_and_tf32
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.clip import clip_loss
from zoo.objectives.siglip import siglip_loss
from zoo.scores import Block, Scores
from zoo.support.ranges import ClosedUnitInterval, NonNegativeNumber, PositiveNumber

Weights = Literal["minmax", "minmax_sparse", "softmax"]


class FSCCLIP(Objective):
    """CLIP's loss, plus two focal losses on negatives: from pooled vectors and from token vectors.

    The focal losses are called global (pooled vectors) and local (token vectors). Labels are
    smoothed (`beta`). Missing negatives are not candidates. Rows without negatives have no focal
    losses. By default, the local loss reads the patches and text tokens of the last layer, after
    norm and projection. The end token is included; the CLS patch and the start token are not.

    Args:
        lambda_g: Weight of the global focal loss (Eq. 11). 0 leaves it out.
        lambda_l: Weight of the local focal loss (Eq. 11). 0 leaves it out. If both weights are 0,
            no negatives are needed.
        gamma: The focal exponent (Eq. 9). 0 turns focusing off.
        beta: The label smoothing (Eq. 10), from 0 to 1.
        weights: How the similarities of a text token to all patches become attention weights:
            `minmax` (Eq. 6), `minmax_sparse` (as `minmax`, but values under 1 / number of patches
            are set to 0) or `softmax` (appendix B.1). Equal similarities give equal weights.
        detach_map: Whether gradients stop at the attention weights, as in the public code. The
            paper does not specify this.
        rows: The rows over which the focal losses are averaged: those with a `negative`, as in the
            public code, or `all`, as in Eq. 4.
        layer: The block whose tokens the local loss reads; -1 is the last.
        project: Whether the tokens pass the tower's output projection.
        cls_patch: Whether the image's CLS patch is included.
        start_token: Whether the text's first token is included. Choose True for tokenizers without
            a start token, such as SigLIP's.
        pooling: How Eq. 8 combines tokens: their `sum`, as published, or their `mean`, which does
            not favour long texts.
        local_scale: The scale in the local loss, 1 / tau of Eq. 8. By default, heads that multiply
            cosines by a scale, such as `Cosine` and `MaxSim`, share this scale with the local loss.
            With other heads, the default is the backbone's scale, which is not trained.
        pairs: The loss of image-caption pairs: a `softmax` over the batch (CLIP's loss), as in the
            paper, or a `sigmoid` per pair, for backbones that were trained with SigLIP's loss.

    Examples:
        Focusing (`gamma`) lowers the loss of negatives that already score below the caption. The
        local loss is off, since the `batch` from the example of `zoo.scores.Scores` has no tokens:

        >>> from zoo.objectives import FSCCLIP
        >>> for gamma in (0.0, 2.0):
        ...     loss = FSCCLIP(gamma=gamma, lambda_l=0)(batch, scores)
        ...     print({name: round(part.item(), 3) for name, part in loss.parts.items()})
        {'clip': 0.313, 'global_negatives': 0.24}
        {'clip': 0.313, 'global_negatives': 0.035}
    """

    def __init__(
        self,
        lambda_g: NonNegativeNumber = 0.5,
        lambda_l: NonNegativeNumber = 0.2,
        gamma: NonNegativeNumber = 2.0,
        beta: ClosedUnitInterval = 0.02,
        weights: Weights = "minmax",
        detach_map: bool = True,
        rows: Literal["negative", "all"] = "negative",
        layer: int = -1,
        project: bool = True,
        cls_patch: bool = False,
        start_token: bool = False,
        pooling: Literal["sum", "mean"] = "sum",
        local_scale: PositiveNumber | None = None,
        pairs: Literal["softmax", "sigmoid"] = "softmax",
    ) -> None:
        super().__init__()
        self.pairs = pairs
        self.lambda_g, self.lambda_l, self.gamma, self.beta = lambda_g, lambda_l, gamma, beta
        self.weights, self.detach_map, self.mean_over = weights, detach_map, rows
        self.start_token, self.pooling = start_token, pooling
        self.local_scale = self._fixed_scale = local_scale
        self.image_key = TokenKey(layer, project=project, prefix=cls_patch)
        self.text_key = TokenKey(layer, project=project)

    @property
    def needs(self) -> Needs:
        """Negatives, and tokens for the local loss; for `sigmoid`, a head with a bias."""
        image_keys, text_keys = (
            frozenset({k} if self.lambda_l else ()) for k in (self.image_key, self.text_key)
        )
        return Needs(
            negatives=bool(self.lambda_g or self.lambda_l),
            bias=self.pairs == "sigmoid",
            image_keys=image_keys,
            text_keys=text_keys,
        )

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Sets the scale of the local loss; see `Objective.attach`.

        Args:
            shapes: The backbone's shapes.
            head: The head, which is already attached.
            trains: Whether a tower is trained.

        Raises:
            ZooError: Patches and text tokens differ in width, or the local loss depends on no
                trained parameter.
        """
        if not self.lambda_l:
            return
        if not self.image_key.project and shapes.image_width != shapes.text_width:
            raise ZooError(
                f"FSCCLIP(project=False) compares patches of width {shapes.image_width} with text "
                f"tokens of width {shapes.text_width}: set project to true, or choose a "
                "backbone.name whose towers have the same width"
            )
        if self.local_scale is None:
            self._fixed_scale = None if head.scales_cosine else shapes.scale
        # recorded, since a checkpoint is loaded into a backbone with another initial scale
        if "local_scale" in self.recorded_arguments:
            self.recorded_arguments["local_scale"] = self._fixed_scale
        if not trains and (self._fixed_scale is not None or not head.log_scale.requires_grad):
            raise ZooError(
                "FSCCLIP's local term has no trained parameters: the towers are frozen and its "
                "scale is not learned. Set lambda_l to 0, or train a tower with "
                "model.backbone.tuning.towers"
            )

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        clip = siglip_loss if self.pairs == "sigmoid" else clip_loss
        parts = {"clip": clip(batch, scores)}
        if self.lambda_g:
            block = scores.own_texts(batch.captions).concatenate(
                scores.own_texts(batch.negatives)
            )  # [B, 1 + K]
            parts["global_negatives"] = self.lambda_g * self.hard_negative_loss(
                block, scores
            )  # Eq. 4
        if self.lambda_l:
            texts = torch.cat([batch.captions[:, None], batch.negatives], dim=1)
            block = Block(self.local_logits(texts, scores), None, texts >= 0)
            parts["local_negatives"] = self.lambda_l * self.hard_negative_loss(
                block, scores
            )  # Eq. 5
        return Loss(sum(parts.values(), start=parts["clip"].new_zeros(())), parts)  # Eq. 11

    def hard_negative_loss(self, block: Block, scores: Scores) -> Tensor:
        """Computes the global or the local focal loss.

        Args:
            block: The global or local scores of each image with its caption (column 0) and its
                negatives.
            scores: The scores of the batch.

        Returns:
            The mean over rows, a scalar in nats.
        """
        has_negative = scores.rows & block.candidate[:, 1:].any(1)
        losses = smoothed_focal_losses(
            block.logits, block.candidate, has_negative, self.gamma, self.beta
        )
        return scores.mean(losses, has_negative if self.mean_over == "negative" else scores.rows)

    def local_logits(self, text_rows: Tensor, scores: Scores) -> Tensor:
        """Computes the logarithm of the local score of each image and its own texts, Eqs. 6 to 8.

        Args:
            text_rows: The texts of each row, as indices into the text bank, `[B, K]`.
            scores: The scores of the batch.

        Returns:
            The logarithms, `[B, K]`.
        """
        patches = scores.images.tokens[self.image_key]  # [B, P, D]
        patch_mask = scores.images.masks[self.image_key]  # [B, P]
        texts = scores.texts.rows(text_rows.reshape(-1)).map(
            lambda t: t.reshape(*text_rows.shape, *t.shape[1:])
        )
        words = texts.tokens[self.text_key]  # [B, K, W, D]
        mask = texts.masks[self.text_key]  # [B, K, W]
        if not self.start_token:
            mask = mask & (torch.arange(mask.shape[-1], device=mask.device) > 0)
        with without_autocast_and_tf32(patches):
            patches, words = (
                x if x.dtype is torch.float64 else x.float() for x in (patches, words)
            )
            similarity = torch.einsum("bkwd,bpd->bkwp", words, patches)
            weights = attention_weights(  # Eq. 6
                similarity.detach() if self.detach_map else similarity,
                patch_mask[:, None, None],
                self.weights,
                bound_rounding_difference(words, patches, patch_mask),
            )
            aligned = torch.einsum("bkwp,bpd->bkwd", weights, patches)  # Eq. 7
            scale = (
                scores.head.scale.to(words.dtype)
                if self._fixed_scale is None
                else self._fixed_scale
            )
            logits = scale * F.cosine_similarity(aligned, words, dim=-1)
        logits = logits.masked_fill(~mask, -torch.inf)
        logits = torch.where(mask.any(-1, keepdim=True), logits, 0.0).logsumexp(-1)  # Eq. 8
        return (
            logits - mask.sum(-1).clamp(min=1).to(logits.dtype).log()
            if self.pooling == "mean"
            else logits
        )


@torch.no_grad()
def bound_rounding_difference(words: Tensor, patches: Tensor, patch_mask: Tensor) -> Tensor:
    """Bounds the difference that rounding makes between a word's products with equal patches.

    Args:
        words: Text tokens, `[B, K, W, D]`.
        patches: Patches, `[B, P, D]`.
        patch_mask: Which patches are real, `[B, P]`.

    Returns:
        The bound, `[B, K, W, 1]`: 2 sqrt(D) eps times the two norms, since the error of D roundings
        grows as their root. The largest error of a million products in fp32 was a fifth of it.
    """
    longest = patches.norm(dim=-1).masked_fill(~patch_mask, 0.0).amax(1)
    bound: Tensor = words.norm(dim=-1, keepdim=True) * longest[:, None, None, None]
    return bound * (2 * math.sqrt(words.shape[-1]) * torch.finfo(words.dtype).eps)


def attention_weights(
    similarity: Tensor, mask: Tensor, weighting: Weights, tolerance: Tensor | float
) -> Tensor:
    """Turns a similarity map into attention weights, Eqs. 6 and 7.

    Args:
        similarity: The map of a word over patches, `[..., P]`.
        mask: Which patches are real, broadcast to `similarity`.
        weighting: How the map becomes attention, as in `FSCCLIP`.
        tolerance: The largest range of values for which the map counts as constant, broadcast to
            `[..., 1]`.

    Returns:
        Weights that sum to 1 over real patches; equal weights if the map is constant.
    """
    if weighting == "softmax":
        return similarity.masked_fill(~mask, -torch.inf).softmax(-1)
    low = similarity.masked_fill(~mask, torch.inf).amin(-1, keepdim=True)
    high = similarity.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
    constant = high - low <= tolerance
    normalised = (similarity - low) / torch.where(constant, 1.0, high - low)
    if weighting == "minmax_sparse":
        normalised = normalised * (normalised >= 1 / mask.sum(-1, keepdim=True))
    normalised = torch.where(constant, 1.0, normalised) * mask
    return normalised / normalised.sum(-1, keepdim=True)


def smoothed_focal_losses(
    logits: Tensor, candidate: Tensor, valid: Tensor, gamma: float, beta: float
) -> Tensor:
    """Computes the focal loss of each row, Eq. 9, with the smoothed labels of Eq. 10.

    Args:
        logits: Scores of the caption, column 0, and of the negatives, `[n, 1 + K]`.
        candidate: Which columns count, `[n, 1 + K]`.
        valid: Which rows count, `[n]`.
        gamma: The focal exponent.
        beta: The label smoothing.

    Returns:
        The losses, `[n]`, in nats; 0 for rows that are not valid.
    """
    logits = torch.where(valid[:, None], logits.masked_fill(~candidate, -torch.inf), 0.0)
    log_p = logits.log_softmax(1)
    log_p = torch.where(candidate, log_p, 0.0)
    labels = candidate.to(log_p.dtype)  # Eq. 10
    labels = beta * labels / labels.sum(1, keepdim=True).clamp(min=1)
    labels = torch.cat([labels[:, :1] + 1 - beta, labels[:, 1:]], dim=1)
    # a probability that rounds to 1 would give unbounded gradients if gamma < 1
    doubt = (-torch.expm1(log_p)).clamp(min=torch.finfo(log_p.dtype).tiny)
    return torch.where(valid, -(labels * doubt**gamma * log_p).sum(1), 0.0)  # Eq. 9
