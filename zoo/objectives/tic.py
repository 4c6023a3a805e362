"""TIC, the textual intra-modal contrast of FG-CLIP 2 (Xie et al., 2025), as its code has it.

B captions t_i; N_i: the captions most like t_i, at most 10, of those whose cosine with it is not
above 0.95.

    L_TIC = 1/B sum_i log sum_{j in N_i} exp cos(t_i, t_j)
    L     = L_CLIP + lambda_tic L_TIC
"""

import torch
from torch import Tensor

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.clip import clip_loss
from zoo.scores import Scores
from zoo.support.ranges import NonNegativeNumber, Number, PositiveInt


class TIC(Objective):
    """CLIP's loss, and captions of a batch that are alike pushed apart.

    FG-CLIP 2 takes the term over captions of regions, beside losses that need boxes. Here it is
    over the captions of all devices. The public code counts a caption that is left out as one of
    cosine 0, and stops where a device has fewer than ten; here it does not count, and a caption
    without any other is left out of the mean.

    Args:
        lambda_tic: Weight of the term.
        hardest: How many of the most similar captions it sums over.
        most_alike: The cosine above which two captions are taken to say the same.
    """

    def __init__(
        self,
        lambda_tic: NonNegativeNumber = 0.1,
        hardest: PositiveInt = 10,
        most_alike: Number = 0.95,
    ) -> None:
        super().__init__()
        self.lambda_tic, self.hardest, self.most_alike = lambda_tic, hardest, most_alike

    @property
    def needs(self) -> Needs:
        """Pooled vectors of texts."""
        return Needs(pooled_texts=True)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        clip = clip_loss(batch, scores)
        between = self.lambda_tic * self.between_captions(batch, scores)
        return Loss(clip + between, {"clip": clip, "between_captions": between})

    def between_captions(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_TIC over the captions of all ranks, a scalar in nats."""
        block = scores.texts_against_texts(batch.captions, batch.captions)
        others = block.candidate & ~block.is_match & (block.logits <= self.most_alike)
        alike = block.logits.masked_fill(~others, -torch.inf)
        alike = alike.topk(min(self.hardest, alike.shape[1]), dim=1).values
        valid = scores.rows & others.any(1)
        return scores.mean(torch.where(valid[:, None], alike, 0.0).logsumexp(1), valid)
