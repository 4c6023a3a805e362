"""TripletCLIP (Patel et al., NeurIPS 2024).

B images v_i with captions t_i; n_i: a negative of caption i; v~_i: an image of n_i.

    L = L_NegCLIP(v, t, n) + L_NegCLIP(v~, n, t)

The second term is NegCLIP's with the roles swapped: the negatives are the captions of the negative
images, and the captions are their negatives. Rows without v~ are left out of it.
"""

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.negclip import negclip_loss
from zoo.scores import Scores


class TripletCLIP(Objective):
    """NegCLIP's loss twice: on captions with their images, and on negatives with matching images.

    The first generator of negatives gives the captions of the negative images.

    Examples:
        The two losses, which are equal for the `batch` and `scores` from the example of
        `zoo.scores.Scores`:

        >>> from zoo.objectives import TripletCLIP
        >>> loss = TripletCLIP()(batch, scores)
        >>> {name: round(part.item(), 3) for name, part in loss.parts.items()}
        {'real': 0.631, 'negative': 0.631}
    """

    @property
    def needs(self) -> Needs:
        """Negatives and negative images."""
        return Needs(negatives=True, negative_images=True)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        real, negative = negclip_loss(batch, scores), negclip_loss(*scores.swap_negative_images())
        return Loss(real + negative, {"real": real, "negative": negative})
