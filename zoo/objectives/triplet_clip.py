"""TripletCLIP (Patel et al., NeurIPS 2024).

B images v_i with captions t_i; n_i: a negative of caption i; v~_i: an image of n_i.

    L = L_NegCLIP(v, t, n) + L_NegCLIP(v~, n, t)

The second term is NegCLIP's with both sides turned round: negative images have the negatives as
captions, and the captions are further columns for them. It has no term for rows without v~.
"""

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.negclip import negclip_loss
from zoo.scores import Scores


class TripletCLIP(Objective):
    """NegCLIP's loss, and the same again for negative images and the negatives that they show.

    Negatives of the first column are those that negative images show.
    """

    @property
    def needs(self) -> Needs:
        """Sentence negatives and their images."""
        return Needs(negatives=True, negative_images=True)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        real, negative = negclip_loss(batch, scores), negclip_loss(*scores.turned_round())
        return Loss(real + negative, {"real": real, "negative": negative})
