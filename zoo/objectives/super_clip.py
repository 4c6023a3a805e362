"""SuperCLIP (Zhao et al., NeurIPS 2025), following its public code.

B images with captions; x_i: the mean of the patches of image i; S_i: the token ids of caption i; N:
training steps so far; c_v: the sum over these steps of the share of captions with token v.

    p_i     = softmax(A LayerNorm(x_i) + b), over the vocabulary
    w_v     = log (N + 1/B) / (c_v + 1/B)
    y_iv    = w_v [v in S_i] / sum_u w_u [u in S_i]
    L_class = -1/B sum_i sum_v y_iv log p_iv
    L       = L_CLIP + L_class
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.batch import Batch, TokenKey, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head, without_autocast_and_tf32
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.clip import clip_loss
from zoo.scores import Scores
from zoo.support.ranges import NonNegativeNumber

PATCHES = TokenKey(project=False)


class SuperCLIP(Objective):
    """CLIP's loss, plus a linear classifier that predicts the caption's words from image patches.

    Frequent tokens have a low weight, and the start and end tokens have a weight of 0. The weights
    depend on counts of tokens, which are saved in the checkpoint and do not change in validation.
    Padding is not counted. The public code does count it, but the weight of padding tends to 0 as
    the counts grow.

    Args:
        lambda_class: Weight of the classification.

    Examples:
        The classifier maps the mean patch to the vocabulary of the text tower:

        >>> from zoo.backbones import Backbone
        >>> from zoo.module import ZooModule
        >>> from zoo.objectives import SuperCLIP
        >>> module = ZooModule(Backbone("zoo-tiny"), SuperCLIP(lambda_class=0.5))
        >>> module.objective.words[1]
        Linear(in_features=96, out_features=49408, bias=True)
    """

    token_shares: Tensor
    steps: Tensor

    def __init__(self, lambda_class: NonNegativeNumber = 1.0) -> None:
        super().__init__()
        self.lambda_class = lambda_class
        self.words: nn.Sequential | None = None

    @property
    def needs(self) -> Needs:
        """Patches of the last layer after the final norm, and the token ids of captions."""
        return Needs(image_keys=frozenset({PATCHES}), token_ids=True)

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Builds the classifier and the counts of tokens; see `Objective.attach`."""
        linear = nn.Linear(shapes.image_width, shapes.vocabulary)
        nn.init.normal_(linear.weight, std=shapes.image_width**-0.5)
        nn.init.zeros_(linear.bias)
        self.words = nn.Sequential(nn.LayerNorm(shapes.image_width), linear)
        self.register_buffer("token_shares", torch.zeros(shapes.vocabulary))
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss, and counts tokens in training; see `Objective.forward`.

        Raises:
            ZooError: The batch holds encoded texts without token ids.
        """
        global_loss = clip_loss(batch, scores)
        class_loss = self.lambda_class * self.classification_loss(batch, scores)
        return Loss(global_loss + class_loss, {"clip": global_loss, "classification": class_loss})

    def classification_loss(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes the loss of the classifier, a scalar in nats."""
        assert self.words is not None
        present = self.token_presence(batch)  # [B, V]
        n = scores.count(scores.rows)
        if self.training:
            shares = scores.column_means(present, scores.rows[:, None].expand_as(present))
            self.token_shares += shares.nan_to_num()
            self.steps += n > 0
        smoothing = 1 / n.clamp(min=1)
        weights = ((self.steps + smoothing) / (self.token_shares + smoothing)).log()
        labels = F.normalize(present * weights, p=1, dim=1)
        patches, mask = scores.images.tokens[PATCHES], scores.images.masks[PATCHES][..., None]
        with without_autocast_and_tf32(patches):
            patches = patches if patches.dtype is torch.float64 else patches.float()
            mean_patch = (patches * mask).sum(1) / mask.sum(1).clamp(min=1)
            log_p = self.words(mean_patch).log_softmax(1)
        return scores.mean(-(labels * log_p).sum(1), scores.rows)

    def token_presence(self, batch: Batch) -> Tensor:
        """Returns which tokens of the vocabulary each caption contains, 1 or 0, `[B, V]`."""
        if batch.bank is None:
            raise ZooError(
                "SuperCLIP reads the token ids of captions, and the batch only has encoded texts: "
                "set data.features to null"
            )
        rows = batch.captions.clamp(min=0)
        ids, lengths = batch.bank.ids[rows], batch.bank.lengths[rows]
        real = torch.arange(ids.shape[1], device=ids.device) < lengths[:, None]
        present = self.token_shares.new_zeros(len(ids), len(self.token_shares))
        return present.scatter_reduce(1, ids, real.to(present.dtype), "amax")
