"""FSC-CLIP (Oh et al., 2024). K_i negatives t~_k of caption t_0 of image v_i; v_p its patches, t_w the tokens of a text; 1 / tau: the
head's scale, in Eq. 8 `local_scale`.

S_g(I, T) = exp(cos(v, t) / tau)                                                       Eq. 1
L_clip    = that of CLIP                                                               Eq. 2
p_k       = S(I, T_k) / [S(I, T_0) + sum_k' S(I, T~_k')], for S_g and for S_l          Eqs. 3, 5
L_neg     = -1/B sum_i log p_0                                                         Eqs. 4, 5
a_wp      = (s_wp - min_p s_wp) / (max_p s_wp - min_p s_wp), with s_wp = t_w . v_p     Eq. 6
v^_w      = sum_p a_wp v_p / sum_p a_wp                                                Eq. 7
S_l(I, T) = sum_w exp(cos(v^_w, t_w) / tau)                                            Eq. 8
Focal     = sum_k (1 - p_k)^gamma (-y_k log p_k), in place of -log p_0                 Eq. 9
y_k       = (1 - beta) [k = 0] + beta / (1 + K_i)                                      Eq. 10
L         = L_clip + lambda_g L_neg^g + lambda_l L_neg^l                               Eq. 11
"""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.batch import Batch, TokenKey, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head, without_autocast
from zoo.objectives.base import Loss, Needs, Objective
from zoo.objectives.clip import clip_loss
from zoo.scores import Block, Scores
from zoo.support.ranges import ClosedUnitInterval, NonNegativeNumber, PositiveNumber

Weights = Literal["minmax", "minmax_sparse", "softmax"]


class FSCCLIP(Objective):
    """CLIP's loss with hard-negative losses on global and on token-level similarity, both focal and label-smoothed.

    lambda_g, lambda_l: weights of the two (Eq. 11); 0 leaves a term out, and its negatives or tokens with it. gamma: the focal exponent
    (Eq. 9), 0 is none. beta: the smoothing (Eq. 10).
    weights: how the similarity map becomes attention: minmax (Eq. 6), minmax_sparse (of the normalised values, those under 1/P become 0)
    or softmax (appendix B.1); a constant map gives equal weights. detach_map: whether attention is kept out of the gradient, as in the
    public code; the paper does not say.
    rows: what the means run over: those with a `negative`, as in the public code, or `all`, as Eq. 4 has it.
    layer, project, cls_patch, start_token: which tokens the local term reads; by default the last layer's patches and text tokens after
    norm and projection, the end token among them, the CLS patch and the start token not. pooling: `sum` over tokens as in Eq. 8, or `mean`,
    which takes the advantage of length away. local_scale: 1 / tau of Eq. 8; None takes the head's scale where that is of the towers' own
    cosines (Cosine, MaxSim), else the backbone's, which is then not trained.
    A missing negative is no candidate; a row without any has no term of its own.
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
        mask_same_image: bool = False,
        mask_same_text: bool = False,
    ) -> None:
        super().__init__(mask_same_image, mask_same_text)
        self.lambda_g, self.lambda_l, self.gamma, self.beta = lambda_g, lambda_l, gamma, beta
        self.weights, self.detach_map, self.mean_over = weights, detach_map, rows
        self.start_token, self.pooling = start_token, pooling
        self.local_scale = self._fixed_scale = local_scale
        self.image_key = TokenKey(layer, project=project, prefix=cls_patch)
        self.text_key = TokenKey(layer, project=project)

    @property
    def needs(self) -> Needs:
        image_keys, text_keys = (
            frozenset({k} if self.lambda_l else ()) for k in (self.image_key, self.text_key)
        )
        return Needs(
            negatives=bool(self.lambda_g or self.lambda_l),
            image_keys=image_keys,
            text_keys=text_keys,
        )

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        if not self.lambda_l:
            return
        if not self.image_key.project and shapes.image_width != shapes.text_width:
            raise ZooError(
                f"FSCCLIP(project=False) compares patches of {shapes.image_width} numbers with text tokens of {shapes.text_width}: set "
                "project to true, or choose a backbone.name whose towers are of one width"
            )
        if self.local_scale is None:
            self._fixed_scale = None if head.scales_cosine else shapes.scale
        if (
            "local_scale" in self._recorded
        ):  # a checkpoint is loaded into a backbone that begins with another scale
            self._recorded["local_scale"] = self._fixed_scale
        if not trains and (self._fixed_scale is not None or not head.log_scale.requires_grad):
            raise ZooError(
                "FSCCLIP's local term reads tokens as the towers give them, and has nothing to train where these are frozen and its scale "
                "is not learned: set lambda_l to 0, or train a tower by model.backbone.tune"
            )

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        parts = {"clip": clip_loss(batch, scores)}
        if self.lambda_g:
            own = scores.own(batch.captions).beside(scores.own(batch.negatives))  # [B, 1 + K]
            parts["global_negatives"] = self.lambda_g * self.negative_loss(own, scores)  # Eq. 4
        if self.lambda_l:
            texts = torch.cat([batch.captions[:, None], batch.negatives], dim=1)
            own = Block(self.local_logits(texts, scores), None, texts >= 0)
            parts["local_negatives"] = self.lambda_l * self.negative_loss(own, scores)  # Eq. 5
        return Loss(sum(parts.values(), start=parts["clip"].new_zeros(())), parts)  # Eq. 11

    def negative_loss(self, own: Block, scores: Scores) -> Tensor:
        """own: each image against its caption, column 0, and its negatives. Returns the mean of Eq. 9 over rows, in nats."""
        has_negative = scores.rows & own.candidate[:, 1:].any(1)
        losses = smoothed_focal(own.logits, own.candidate, has_negative, self.gamma, self.beta)
        return scores.mean(losses, has_negative if self.mean_over == "negative" else scores.rows)

    def local_logits(self, rows: Tensor, scores: Scores) -> Tensor:
        """rows: [B, K] of the bank. Returns log S_l of each image with its own texts (Eq. 8), [B, K]."""
        patches, patch_mask = (
            scores.images.tokens[self.image_key],
            scores.images.masks[self.image_key],
        )
        texts = scores.texts.rows(rows.reshape(-1)).map(
            lambda t: t.reshape(*rows.shape, *t.shape[1:])
        )
        words, mask = (
            texts.tokens[self.text_key],
            texts.masks[self.text_key],
        )  # [B, K, W, D], [B, K, W]
        if not self.start_token:
            mask = mask & (torch.arange(mask.shape[-1], device=mask.device) > 0)
        with without_autocast(patches):
            patches, words = (
                x if x.dtype is torch.float64 else x.float() for x in (patches, words)
            )
            similarity = torch.einsum("bkwd,bpd->bkwp", words, patches)
            weights = attention(
                similarity.detach() if self.detach_map else similarity,
                patch_mask[:, None, None],
                self.weights,
                rounding(words, patches, patch_mask),
            )
            aligned = torch.einsum("bkwp,bpd->bkwd", weights, patches)  # Eq. 7
            scale = (
                scores.head.scale.to(words.dtype)
                if self._fixed_scale is None
                else self._fixed_scale
            )
            logits = scale * F.cosine_similarity(aligned, words, dim=-1)
        logits = logits.masked_fill(~mask, -torch.inf)
        logits = torch.where(mask.any(-1, keepdim=True), logits, 0.0).logsumexp(-1)
        return (
            logits - mask.sum(-1).clamp(min=1).to(logits.dtype).log()
            if self.pooling == "mean"
            else logits
        )


@torch.no_grad()
def rounding(words: Tensor, patches: Tensor, patch_mask: Tensor) -> Tensor:
    """Bounds how far apart rounding alone can put the products of one word with patches that are equal.

    Args:
        words: [B, K, W, D].
        patches: [B, P, D].
        patch_mask: [B, P], the real patches.

    Returns:
        [B, K, W, 1]: 2 sqrt(D) eps of the two norms, since errors of D roundings grow as their root; the worst of a million
        products in fp32 was a fifth of it.
    """
    longest = patches.norm(dim=-1).masked_fill(~patch_mask, 0.0).amax(1)
    bound: Tensor = words.norm(dim=-1, keepdim=True) * longest[:, None, None, None]
    return bound * (2 * math.sqrt(words.shape[-1]) * torch.finfo(words.dtype).eps)


def attention(
    similarity: Tensor, mask: Tensor, weights: Weights, rounding: Tensor | float
) -> Tensor:
    """Makes a similarity map attention, Eqs. 6 and 7.

    Args:
        similarity: [..., P].
        mask: broadcast to it, the real patches.
        weights: the way.
        rounding: broadcast to [..., 1], a range of the map that says nothing.

    Returns:
        Weights that sum to 1 over real patches; equal ones where the map is constant.
    """
    if weights == "softmax":
        return similarity.masked_fill(~mask, -torch.inf).softmax(-1)
    low = similarity.masked_fill(~mask, torch.inf).amin(-1, keepdim=True)
    high = similarity.masked_fill(~mask, -torch.inf).amax(-1, keepdim=True)
    constant = high - low <= rounding
    normalised = (similarity - low) / torch.where(constant, 1.0, high - low)
    if weights == "minmax_sparse":
        normalised = normalised * (normalised >= 1 / mask.sum(-1, keepdim=True))
    normalised = torch.where(constant, 1.0, normalised) * mask
    return normalised / normalised.sum(-1, keepdim=True)


def smoothed_focal(
    logits: Tensor, candidate: Tensor, valid: Tensor, gamma: float, beta: float
) -> Tensor:
    """logits, candidate: [n, 1 + K], column 0 right; valid: [n]. Returns Eq. 9 with the labels of Eq. 10, [n], in nats; 0 where not
    valid."""
    logits = torch.where(valid[:, None], logits.masked_fill(~candidate, -torch.inf), 0.0)
    log_p = logits.log_softmax(1)
    log_p = torch.where(candidate, log_p, 0.0)
    labels = candidate.to(log_p.dtype)
    labels = beta * labels / labels.sum(1, keepdim=True).clamp(min=1)
    labels = torch.cat([labels[:, :1] + 1 - beta, labels[:, 1:]], dim=1)
    # a probability that rounds to 1 would give gradients without bound where gamma < 1
    doubt = (-torch.expm1(log_p)).clamp(min=torch.finfo(log_p.dtype).tiny)
    return torch.where(valid, -(labels * doubt**gamma * log_p).sum(1), 0.0)
