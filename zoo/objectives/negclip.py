"""NegCLIP (Yuksekgonul et al., 2023), in the notation of CS-CLIP's appendix A.

B image-caption pairs (v_i, t_i); t~_j: the sentence negatives of caption j; kappa(x, y) =
exp(x . y / tau).

    L_I2T = -1/B sum_i log kappa(v_i, t_i)
                           / [sum_j kappa(v_i, t_j) + sum_j kappa(v_i, t~_j)]      Eq. 10
    L     = (L_I2T + L_T2I) / 2, with L_T2I as in CLIP (Eq. 8)                     Eq. 11

Every negative is compared with every image. Hard images are companion samples: further rows of the
batch with their own captions and negatives.
"""

from torch import Tensor

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.scores import EqualScores, Scores


class NegCLIP(Objective):
    """CLIP's loss, in which each image also chooses among the negatives of all captions.

    A missing negative is not a candidate, but its row still counts.

    Examples:
        Negatives are further candidates, so the loss is higher than CLIP's, here with the `batch`
        and `scores` from the example of `zoo.scores.Scores`:

        >>> from zoo.objectives import CLIP, NegCLIP
        >>> round(CLIP()(batch, scores).total.item(), 3)
        0.313
        >>> round(NegCLIP()(batch, scores).total.item(), 3)
        0.631
    """

    @property
    def needs(self) -> Needs:
        """Negatives."""
        return Needs(negatives=True)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        total = negclip_loss(batch, scores)
        return Loss(total, {"global": total})

    def chance_loss(self, batch: Batch, scores: Scores) -> Tensor:
        """Returns the loss of a uniform guess; see `Objective.chance_loss`."""
        return negclip_loss(batch, EqualScores(scores))


def negclip_loss(batch: Batch, scores: Scores) -> Tensor:
    """Returns NegCLIP's loss over the captions and negatives of all ranks, in nats."""
    scores.gather_texts(batch.captions, batch.negatives)
    candidates = scores.images_against(batch.captions).concatenate(
        scores.images_against(batch.negatives, true=False)
    )
    image_to_text = candidates.cross_entropy(scores.rows)
    text_to_image = scores.texts_against_images(batch.captions).cross_entropy(scores.rows)
    return (scores.mean(image_to_text, scores.rows) + scores.mean(text_to_image, scores.rows)) / 2
