"""FLAIR's loss (Xiao et al., CVPR 2025, section 3.3).

N images v_i with K_i captions t_ik, the first drawn like the image's other captions; s(I, T): the
head's score, for FLAIR that of `TextConditionedPooling`; v, t: pooled vectors; z = 1 where the
caption is of the image, else -1; |C|: the number of pairs that a sum is over. Each sum is N times
the mean over its pairs.

    L_tcs = -N/|C| sum_i [sum_k log sigmoid(s(v_i, t_ik)) + sum_(j != i) log sigmoid(-s(v_i, t_j1))]
    L_mps = -N/|C| sum_i sum_j sum_k log sigmoid(z_ij (scale cos(v_i, t_jk) + bias))
    L     = (L_tcs + L_mps) / 2
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.batch import Batch
from zoo.errors import ZooError
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.scores import Block, Scores


class FLAIR(Objective):
    """Sigmoid losses for several captions per image, with text-conditioned and with usual pooling.

    The captions of a row are its caption and its positives. Text-conditioned pooling is that of the
    head `TextConditionedPooling`. With the head `Cosine`, both losses use pooled vectors.

    Args:
        multi_positive: Whether the loss with usual pooling (L_mps) is used. If False, only the loss
            with text-conditioned pooling (L_tcs) is used.

    Examples:
        The two losses. The positives of the `batch` from the example of `zoo.batch.Batch` are
        colours:

        >>> from zoo.heads import Cosine
        >>> from zoo.objectives import FLAIR
        >>> from zoo.scores import Scores
        >>> loss = FLAIR()(batch, Scores(Cosine(scale=2.0, bias=-1.0), batch))
        >>> {name: round(part.item(), 3) for name, part in loss.parts.items()}
        {'text_conditioned': 0.378, 'multi_positive': 0.362}
    """

    def __init__(self, multi_positive: bool = True) -> None:
        super().__init__()
        self.multi_positive = multi_positive

    @property
    def needs(self) -> Needs:
        """Positives, a head with a bias, and pooled vectors for L_mps."""
        return Needs(positives=True, bias=True, pooled=self.multi_positive)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`.

        Raises:
            ZooError: The head has no bias.
        """
        if scores.head.bias is None:
            raise ZooError(
                "FLAIR needs a head with a bias and the backbone has none: set "
                "model.head.init_args.bias, or in Python Cosine(bias=-10.0), as in its public code"
            )
        text_conditioned = self.text_conditioned_loss(batch, scores)
        if not self.multi_positive:
            return Loss(text_conditioned, {"text_conditioned": text_conditioned})
        parts = {
            "text_conditioned": text_conditioned / 2,
            "multi_positive": self.multi_positive_loss(batch, scores) / 2,
        }
        return Loss(sum(parts.values(), start=text_conditioned.new_zeros(())), parts)

    def text_conditioned_loss(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_tcs, the loss of the head's scores, a scalar in nats."""
        captions = scores.images_against(batch.captions)
        positives = scores.own_texts(batch.positives)
        true = torch.cat([captions.is_match, torch.ones_like(positives.candidate)], dim=1)
        return _sigmoid_loss(captions.concatenate(positives), true, scores)

    def multi_positive_loss(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_mps, the loss of cosines of pooled vectors, a scalar in nats."""
        texts = torch.cat([batch.captions[:, None], batch.positives], dim=1)
        cosines = scores.image_vectors_against_texts(texts)
        rows = scores.images_against(batch.captions)
        true, candidate = (
            t.repeat_interleave(texts.shape[1], dim=1) for t in (rows.is_match, rows.candidate)
        )
        logits = scores.head.logits(cosines.logits)
        return _sigmoid_loss(Block(logits, None, candidate & cosines.candidate), true, scores)


def _sigmoid_loss(block: Block, true: Tensor, scores: Scores) -> Tensor:
    """Returns N times the mean over candidates of -log sigmoid(z logits), over all ranks.

    Args:
        block: Scores of this rank's images, `[B, m]`.
        true: Which columns are of the row's image, `[B, m]`.
        scores: The scores of the batch.
    """
    pairs = block.candidate & scores.rows[:, None]
    losses = -F.logsigmoid(torch.where(true, block.logits, -block.logits))
    return scores.mean(losses, pairs) * scores.count(scores.rows)
