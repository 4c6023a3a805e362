"""TIC, the textual intra-modal contrast of FG-CLIP 2 (Xie et al., 2025), following its code.

B captions t_i; N_i: the captions most similar to t_i, at most 10, of those whose cosine with it is
not above 0.95.

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
    """CLIP's loss, plus a term that pushes similar captions of a batch apart.

    FG-CLIP 2 computes this term over captions of regions, together with other losses that need
    boxes. Here, it is computed over the captions of all devices. Each caption is compared with the
    captions that are most similar to it (`hardest`), but not with paraphrases (`most_alike`). The
    public code also compares a caption with its paraphrases, but replaces their cosine by 0. A
    caption with nothing but paraphrases in the batch is left out of the mean.

    Args:
        lambda_tic: Weight of the term.
        hardest: The number of most similar captions that each caption is compared with.
        most_alike: The cosine above which two captions count as paraphrases, and are not compared.

    Examples:
        The term is larger for similar captions, here with cosines of 0 and 0.5. The `batch` and
        `scores` are those from the example of `zoo.scores.Scores`:

        >>> from dataclasses import replace
        >>> import torch
        >>> from zoo.objectives import TIC
        >>> for captions in ([0, 1], [0, 2]):
        ...     loss = TIC(lambda_tic=0.1)(replace(batch, captions=torch.tensor(captions)), scores)
        ...     print(round(loss.parts["between_captions"].item(), 3))
        0.0
        0.05
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
        contrast = self.lambda_tic * self.caption_contrast_loss(batch, scores)
        return Loss(clip + contrast, {"clip": clip, "between_captions": contrast})

    def caption_contrast_loss(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_TIC over the captions of all ranks, a scalar in nats."""
        block = scores.texts_against_texts(batch.captions, batch.captions)
        is_candidate = block.candidate & ~block.is_match & (block.logits <= self.most_alike)
        similar = block.logits.masked_fill(~is_candidate, -torch.inf)
        similar = similar.topk(min(self.hardest, similar.shape[1]), dim=1).values
        valid = scores.rows & is_candidate.any(1)
        return scores.mean(torch.where(valid[:, None], similar, 0.0).logsumexp(1), valid)
