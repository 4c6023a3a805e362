"""CLIP (Radford et al., 2021), in the notation of CS-CLIP's appendix A.

B image-caption pairs (v_i, t_i); kappa(x, y) = exp(x . y / tau).

    L_I2T = -1/B sum_i log kappa(v_i, t_i) / sum_j kappa(v_i, t_j)      Eq. 7
    L_T2I = -1/B sum_i log kappa(v_i, t_i) / sum_j kappa(v_j, t_i)      Eq. 8
    L     = (L_I2T + L_T2I) / 2                                         Eq. 9
"""

from torch import Tensor

from zoo.batch import Batch
from zoo.objectives.base import Loss, Objective
from zoo.scores import EqualScores, Scores


class CLIP(Objective):
    """CLIP's loss: each image chooses its caption, and each caption its image.

    Examples:
        In the `batch` and `scores` from the example of `zoo.scores.Scores`, each image has cosine 1
        with its caption and 0 with the other caption:

        >>> import math
        >>> from zoo.objectives import CLIP
        >>> round(CLIP()(batch, scores).total.item(), 4)
        0.3133
        >>> round(-math.log(math.exp(1) / (math.exp(1) + math.exp(0))), 4)
        0.3133
    """

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        total = clip_loss(batch, scores)
        return Loss(total, {"global": total})

    def chance_loss(self, batch: Batch, scores: Scores) -> Tensor:
        """Returns the loss of a uniform guess; see `Objective.chance_loss`."""
        return clip_loss(batch, EqualScores(scores))


def clip_loss(batch: Batch, scores: Scores) -> Tensor:
    """Returns CLIP's loss over the captions of all ranks, in nats."""
    image_to_text = scores.images_against(batch.captions).cross_entropy(scores.rows)
    text_to_image = scores.texts_against_images(batch.captions).cross_entropy(scores.rows)
    return (scores.mean(image_to_text, scores.rows) + scores.mean(text_to_image, scores.rows)) / 2
