"""SigLIP (Zhai et al., 2023, section 3.2).

B image-caption pairs (v_i, t_i); scale t and bias b of the head; z_ij = 1 where i = j, else -1.

    L = -1/B sum_i sum_j log 1 / (1 + exp(z_ij (-t v_i . t_j - b)))
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.batch import Batch
from zoo.errors import ZooError
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.scores import Block, Scores


class SigLIP(Objective):
    """The sigmoid loss, which classifies each pair of an image and a caption separately.

    The loss covers all pairs of images and captions of all devices. The head must have a bias:
    either the backbone was trained with one, or the head's argument `bias` is set. The paper starts
    at scale 10 and bias -10.

    Examples:
        With the paper's scale and bias, a match of cosine 1 has logit 0 and a loss of log 2. The
        `batch` is that from the example of `zoo.batch.Batch`:

        >>> from zoo.backbones import Backbone
        >>> from zoo.heads import Cosine
        >>> from zoo.objectives import SigLIP
        >>> from zoo.scores import Scores
        >>> head = Cosine(scale=10.0, bias=-10.0)
        >>> head.attach(Backbone("zoo-tiny").shapes)
        >>> round(SigLIP()(batch, Scores(head, batch)).total.item(), 3)
        0.693
    """

    @property
    def needs(self) -> Needs:
        """A head with a bias."""
        return Needs(bias=True)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the sigmoid loss; see `Objective.forward`.

        Raises:
            ZooError: The head has no bias.
        """
        total = siglip_loss(batch, scores)
        return Loss(total, {"global": total})


def siglip_loss(batch: Batch, scores: Scores, negatives: bool = False) -> Tensor:
    """Returns the sigmoid loss over the captions of all ranks, in nats.

    Args:
        batch: The batch.
        scores: Its scores.
        negatives: Whether the sentence negatives of all rows are further wrong texts.

    Raises:
        ZooError: The head has no bias.
    """
    if scores.head.bias is None:
        raise ZooError(
            "the sigmoid loss needs a head with a bias and the backbone has none: "
            "set model.head.init_args.bias, or in Python Cosine(bias=-10.0), as in SigLIP's paper"
        )
    if negatives:
        scores.gather_texts(batch.captions, batch.negatives)
    block = scores.images_against(batch.captions)
    if negatives:
        block = block.concatenate(scores.images_against(batch.negatives, true=False))
    return scores.mean(sigmoid_loss(block), scores.rows)


def sigmoid_loss(block: Block) -> Tensor:
    """Sums the sigmoid loss of each row over its candidates.

    Args:
        block: Scores of n rows against m columns; z = 1 at a row's match.

    Returns:
        The sum over candidates of -log sigmoid(z logits), `[n]`, in nats.
    """
    signed = torch.where(block.is_match, block.logits, -block.logits)
    return torch.where(block.candidate, -F.logsigmoid(signed), torch.zeros_like(signed)).sum(1)
