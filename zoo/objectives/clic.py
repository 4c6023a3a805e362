"""CLIC (Peleg et al., 2025).

B images v_i, each with a caption t_i1, further positives t_i2 .. t_iP and negatives n_ik; all
vectors at unit length in Eq. 6. The means over rows leave out rows without the text.

    L_cont = 1/P sum_p L_CLIP(v, t_p)                                                   Eq. 4
    L_sneg = -1/(P B) sum_p sum_i log exp s(v_i, t_ip)
                                      / [exp s(v_i, t_ip) + sum_k exp s(v_i, n_ik)]     Eq. 5
    L_uni  = 1/B sum_i |t_i1 - t_i2|^2                                                  Eq. 6
    L      = lambda_cont L_cont + lambda_sneg L_sneg + lambda_uni L_uni                 Eq. 7

A batch of single images (every other batch if the data alternates) gives L = L_CLIP(v, t_1).
"""

import torch
from torch import Tensor

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.clip import clip_loss
from zoo.scores import Scores
from zoo.support.ranges import NonNegativeNumber


class CLIC(Objective):
    """CLIP's loss for several captions per image; images also choose between caption and negatives.

    A third term brings the vectors of the first two captions closer together. In CLIC, two images
    and their captions are joined into one row (`data.joined`). With `data.joined: alternate`, the
    rows of every other batch have a single image, and the loss of such a batch is CLIP's.

    Args:
        lambda_cont: Weight of CLIP's loss over the captions.
        lambda_sneg: Weight of the loss in which an image chooses between a caption and negatives.
        lambda_uni: Weight of the squared distance between the vectors of the first two captions.

    Examples:
        The terms of the loss, with the `batch` and `scores` from the example of
        `zoo.scores.Scores`:

        >>> from zoo.objectives import CLIC
        >>> loss = CLIC(lambda_uni=0.1)(batch, scores)
        >>> {name: round(part.item(), 2) for name, part in loss.parts.items()}
        {'contrast': 0.18, 'own_negatives': 0.27, 'invariance': 0.06}
    """

    def __init__(
        self,
        lambda_cont: NonNegativeNumber = 0.5,
        lambda_sneg: NonNegativeNumber = 0.5,
        lambda_uni: NonNegativeNumber = 1.0,
    ) -> None:
        super().__init__()
        self.lambda_cont, self.lambda_sneg, self.lambda_uni = lambda_cont, lambda_sneg, lambda_uni

    @property
    def needs(self) -> Needs:
        """Negatives, positives, and pooled vectors of texts."""
        return Needs(negatives=True, positives=True, pooled_texts=True)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss, or CLIP's loss for single images; see `Objective.forward`."""
        if batch.single:
            total = clip_loss(batch, scores)
            zero = total.new_zeros(())
            return Loss(total, {"contrast": total, "own_negatives": zero, "invariance": zero})
        texts = [batch.captions, *batch.positives.T]
        contrast = torch.stack([self.contrast(t, scores) for t in texts]).mean()  # Eq. 4
        negative_losses = [self.own_negatives_loss(t, batch, scores) for t in texts]
        separate = torch.stack(negative_losses).mean()  # Eq. 5
        parts = {
            "contrast": self.lambda_cont * contrast,
            "own_negatives": self.lambda_sneg * separate,
            "invariance": self.lambda_uni * self.invariance(batch, scores),
        }
        return Loss(sum(parts.values(), start=scores.head.scale.new_zeros(())), parts)

    def contrast(self, texts: Tensor, scores: Scores) -> Tensor:
        """Computes CLIP's loss over one caption per image.

        Args:
            texts: The captions, as indices into the text bank, `[B]`; -1 is missing.
            scores: The scores of the batch.
        """
        valid = scores.rows & (texts >= 0)
        image_to_text = scores.images_against(texts).cross_entropy(valid)
        text_to_image = scores.texts_against_images(texts).cross_entropy(valid)
        return (scores.mean(image_to_text, valid) + scores.mean(text_to_image, valid)) / 2

    def own_negatives_loss(self, texts: Tensor, batch: Batch, scores: Scores) -> Tensor:
        """Computes the loss of images that choose between one caption and their negatives.

        Args:
            texts: The captions, as indices into the text bank, `[B]`; -1 is missing.
            batch: This rank's rows.
            scores: The scores of the batch.
        """
        valid = scores.rows & (texts >= 0)
        block = scores.own_texts(texts).concatenate(scores.own_texts(batch.negatives))
        return scores.mean(block.with_first_as_match().cross_entropy(valid), valid)

    def invariance(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes the mean squared distance between the vectors of the first two captions."""
        if not batch.positives.shape[1]:
            return scores.head.scale.new_zeros(())
        caption_rows, positive_rows = batch.captions, batch.positives[:, 0]
        distances = (
            (scores.text_vectors(caption_rows) - scores.text_vectors(positive_rows))
            .square()
            .sum(-1)
        )
        return scores.mean(distances, scores.rows & (positive_rows >= 0))
