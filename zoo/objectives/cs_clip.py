"""CS-CLIP (Kargi et al., 2026).

B images v_i, each with N_u units u_ik and their foils u~_ik; kappa(x, y) = exp(x . y / tau).

    L_I2U,k = -1/B sum_i log kappa(v_i, u_ik)
                             / [sum_j kappa(v_i, u_jk) + kappa(v_i, u~_ik)]     Eq. 3
    L_U2I,k = -1/B sum_i log kappa(v_i, u_ik) / sum_j kappa(v_j, u_ik)          Eq. 4
    L_unit  = 1/(2 N_u) sum_k (L_I2U,k + L_U2I,k)                               Eq. 5
    L       = L_global + lambda_u L_unit, with L_global that of NegCLIP         Eq. 6

With `pairs="sigmoid"`, which the paper does not have, all of these are SigLIP's loss over the same
images and texts: -log sigmoid(z (t cos + b)) of each cell, with z = 1 for a row's own text.
"""

from typing import Literal

from torch import Tensor

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.clip import clip_loss
from zoo.objectives.negclip import negclip_loss
from zoo.objectives.siglip import siglip_loss, sigmoid_loss
from zoo.scores import EqualScores, Scores
from zoo.support.ranges import NonNegativeNumber


class CSCLIP(Objective):
    """NegCLIP's loss, plus a contrast of each unit with its foil and with units of other images.

    The first units of all rows give one loss, the second units of all rows another loss, and so on.
    The unit loss is the mean of these losses. A row without a k-th unit is left out of the k-th
    loss, but its image remains a candidate.

    Args:
        lambda_u: Weight of the unit loss (Eq. 6). The paper's Table 3 has values from 0.1 to 1.
        global_negatives: Whether images also choose among the negatives of all captions (NegCLIP's
            loss, signal G of Table 4). If False, CLIP's loss takes the place of NegCLIP's.
        units: Whether the unit loss is added (signal U of Table 4).
        foils: Whether each unit is contrasted with its foil (signal F of Table 4).
        pairs: The loss of image-text pairs: `softmax`, as in the paper, or `sigmoid`, for backbones
            that were trained with SigLIP's loss.

    Examples:
        With and without the foils of units, for the `batch` and `scores` from the example of
        `zoo.scores.Scores`:

        >>> from zoo.objectives import CSCLIP
        >>> for foils in (True, False):
        ...     loss = CSCLIP(lambda_u=0.5, foils=foils)(batch, scores)
        ...     print({name: round(part.item(), 2) for name, part in loss.parts.items()})
        {'global': 0.63, 'unit': 0.27}
        {'global': 0.63, 'unit': 0.2}
    """

    def __init__(
        self,
        lambda_u: NonNegativeNumber = 0.5,
        global_negatives: bool = True,
        units: bool = True,
        foils: bool = True,
        pairs: Literal["softmax", "sigmoid"] = "softmax",
    ) -> None:
        super().__init__()
        self.lambda_u, self.pairs = lambda_u, pairs
        self.global_negatives, self.units, self.foils = global_negatives, units, foils

    @property
    def needs(self) -> Needs:
        """Negatives and units, unless they are turned off; for `sigmoid`, a head with a bias."""
        return Needs(
            negatives=self.global_negatives, units=self.units, bias=self.pairs == "sigmoid"
        )

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        negatives = [batch.negatives] if self.global_negatives else []
        units = [*batch.units.T] if self.units else []
        scores.gather_texts(batch.captions, *negatives, *units)
        if self.pairs == "sigmoid":
            global_loss = siglip_loss(batch, scores, self.global_negatives)
        elif self.global_negatives:
            global_loss = negclip_loss(batch, scores)
        else:
            global_loss = clip_loss(batch, scores)
        parts = {"global": global_loss}
        if self.units:
            per_k = [
                self.unit_loss(scores, u, f)
                for u, f in zip(batch.units.T, batch.foils.T, strict=True)
            ]
            parts["unit"] = self.lambda_u * (
                sum(per_k, start=parts["global"].new_zeros(())) / max(len(per_k), 1)
            )  # Eq. 5
        return Loss(sum(parts.values(), start=parts["global"].new_zeros(())), parts)  # Eq. 6

    def chance_loss(self, batch: Batch, scores: Scores) -> Tensor | None:
        """Returns the loss of a uniform guess, or None for `sigmoid`."""
        if self.pairs == "sigmoid":
            return None
        return self.forward(batch, EqualScores(scores)).total

    def unit_loss(self, scores: Scores, units: Tensor, foils: Tensor) -> Tensor:
        """Computes the loss over the k-th units: Eqs. 3 and 4 averaged, or a sigmoid loss.

        Args:
            scores: The scores of the batch.
            units: The k-th unit of each row, as an index into the text bank, `[B]`; -1 is missing.
            foils: The foil of each of these units, as an index into the text bank, `[B]`; -1 is
                missing.

        Returns:
            The loss over the batch, a scalar in nats.
        """
        valid = scores.exists(units)
        candidates = scores.images_against(units)  # [B, W B]
        if self.foils:
            candidates = candidates.concatenate(
                scores.own_texts(foils)
            )  # + [B, 1]: its own foil only
        if self.pairs == "sigmoid":
            return scores.mean(sigmoid_loss(candidates), valid)
        image_to_unit = candidates.cross_entropy(valid)  # Eq. 3
        unit_to_image = scores.texts_against_images(units).cross_entropy(valid)  # Eq. 4
        return (scores.mean(image_to_unit, valid) + scores.mean(unit_to_image, valid)) / 2
