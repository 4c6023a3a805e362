"""DAC (Doveh et al., NeurIPS 2023), following its public code.

B images v_i with captions t_i, negatives of the captions n_ik, and a bag of M further true texts
u_im, each with a false variant u~_im; s = cosine / tau. The bag are the units of the batch, and the
false variants their foils. The means leave out rows without units, or without foils.

    S_i     = sum_m exp s(v_i, u_im)
    L_bag   = -1/B sum_i log S_i / sum_jm [exp s(v_i, u_jm) + exp s(v_j, u_im)]
    L_foils = -1/B sum_i log S_i / [S_i + sum_m exp s(v_i, u~_im)]
    L       = L_NegCLIP + lambda_neg L_neg + lambda_bag L_bag + lambda_foils L_foils

L_neg is that of TSVLC. L_bag is MIL-NCE (Miech et al., 2020), multiple-instance learning: a bag is
right if one of its texts is. Both sums of its denominator contain S_i.
"""

import torch
from torch import Tensor

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.clip import clip_loss
from zoo.objectives.negclip import negclip_loss
from zoo.objectives.tsvlc import own_negatives_loss
from zoo.scores import Block, Scores
from zoo.support.ranges import NonNegativeNumber


class DAC(Objective):
    """TSVLC's loss; images also choose among units of all images, and between units and foils.

    A bag holds all units of an image. In the paper, it holds dense captions instead. A bag matches
    an image if one of its units does.

    Args:
        lambda_neg: Weight of the loss in which each image chooses between its caption and the
            caption's negatives.
        lambda_bag: Weight of the contrast of each image's bag with other bags.
        lambda_foils: Weight of the loss in which each image chooses between its bag and the foils
            of its units.
        global_negatives: Whether images also choose among the negatives of all captions (NegCLIP's
            loss), as in the public code on one device. If False, CLIP's loss takes the place of
            NegCLIP's, as in the public code on several devices.

    Examples:
        The terms of the loss. In the `batch` and `scores` from the example of `zoo.scores.Scores`,
        each bag holds one unit, a colour:

        >>> from zoo.objectives import DAC
        >>> loss = DAC()(batch, scores)
        >>> {name: round(part.item(), 2) for name, part in loss.parts.items()}
        {'global': 0.63, 'own_negatives': 0.47, 'bag': 1.09, 'foils': 0.4}
    """

    def __init__(
        self,
        lambda_neg: NonNegativeNumber = 1.0,
        lambda_bag: NonNegativeNumber = 1.0,
        lambda_foils: NonNegativeNumber = 1.0,
        global_negatives: bool = True,
    ) -> None:
        super().__init__()
        self.lambda_neg, self.lambda_bag = lambda_neg, lambda_bag
        self.lambda_foils, self.global_negatives = lambda_foils, global_negatives

    @property
    def needs(self) -> Needs:
        """Negatives and units, each only if the loss uses them."""
        return Needs(
            negatives=self.global_negatives or bool(self.lambda_neg),
            units=bool(self.lambda_bag or self.lambda_foils),
        )

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        negatives = [batch.negatives] if self.global_negatives else []
        scores.gather_texts(batch.captions, *negatives, *(batch.units.T if self.lambda_bag else ()))
        global_loss = negclip_loss if self.global_negatives else clip_loss
        parts = {"global": global_loss(batch, scores)}
        if self.lambda_neg:
            parts["own_negatives"] = self.lambda_neg * own_negatives_loss(batch, scores)
        own = scores.own_texts(batch.units)  # [B, M]
        if self.lambda_bag:
            parts["bag"] = self.lambda_bag * self.bag_loss(own, batch, scores)
        if self.lambda_foils:
            parts["foils"] = self.lambda_foils * self.foils_loss(own, batch, scores)
        return Loss(sum(parts.values(), start=parts["global"].new_zeros(())), parts)

    def bag_loss(self, own: Block, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_bag, the contrast with other bags, a scalar in nats.

        Args:
            own: The scores of each image and its own M units, `[B, M]`.
            batch: This rank's rows.
            scores: The scores of the batch.
        """
        valid = scores.rows & own.candidate.any(1)
        candidates = own
        for m, units in enumerate(batch.units.T):
            images = scores.texts_against_images(units)  # [B, W B]
            of_unit = Block(images.logits, None, images.candidate & own.candidate[:, m, None])
            block = scores.images_against(units).concatenate(of_unit)
            candidates = block if not m else candidates.concatenate(block)  # [B, 2 M W B]
        surprise = log_sum_exp(candidates, valid) - log_sum_exp(own, valid)
        return scores.mean(surprise, valid)

    def foils_loss(self, own: Block, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_foils, the contrast with foils, a scalar in nats; see `bag_loss`."""
        foils = scores.own_texts(batch.foils)
        valid = scores.rows & own.candidate.any(1) & foils.candidate.any(1)
        surprise = log_sum_exp(own.concatenate(foils), valid) - log_sum_exp(own, valid)
        return scores.mean(surprise, valid)


def log_sum_exp(block: Block, valid: Tensor) -> Tensor:
    """Returns log sum exp over the candidates of each row.

    Args:
        block: The scores, `[B, m]`; every valid row has a candidate.
        valid: Which rows count, `[B]`.

    Returns:
        The values, `[B]`, without gradient for rows that are not valid.
    """
    logits = block.logits.masked_fill(~block.candidate, -torch.inf)
    return torch.where(valid[:, None], logits, torch.zeros_like(logits)).logsumexp(1)
