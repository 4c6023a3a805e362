"""TSVLC (Doveh et al., CVPR 2023), following its public code.

B images v_i with captions t_i; n_ik: the negatives of caption i; p_ik: further texts that are true
of image i, k = 1..K; s = cosine / tau. The means leave out rows without the text.

    L_neg   = -1/B sum_i log exp s(v_i, t_i) / [exp s(v_i, t_i) + sum_k exp s(v_i, n_ik)]
    L_pos,k = -1/(2B) sum_i [log exp s(v_i, p_ik) / sum_j exp s(v_i, p_jk)
                             + log exp s(t_i, p_ik) / sum_j exp s(t_i, p_jk)]
    L       = L_NegCLIP + lambda_neg L_neg + lambda_pos 1/K sum_k L_pos,k
"""

from dataclasses import replace

from torch import Tensor

from zoo.batch import Batch, TowerShapes
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective, TextScale
from zoo.objectives.clip import clip_loss
from zoo.objectives.negclip import negclip_loss
from zoo.scores import Scores
from zoo.support.ranges import NonNegativeNumber


class TSVLC(Objective):
    """NegCLIP's loss, plus a loss whose only candidates are the image's caption and its negatives.

    Optionally, images and captions are also contrasted with positives (further true texts). The
    published models were trained without positives, which is the default.

    Args:
        lambda_neg: Weight of the loss in which each image chooses between its caption and the
            caption's negatives.
        lambda_pos: Weight of the contrast of images and captions with positives. The public code
            uses 1 when it trains with positives. At 0, no positives are needed.
        global_negatives: Whether images also choose among the negatives of all captions (NegCLIP's
            loss), as in the public code on one device. If False, CLIP's loss takes the place of
            NegCLIP's, as in the public code on several devices.

    Examples:
        Without and with positives, for the `batch` and `scores` from the example of
        `zoo.scores.Scores`:

        >>> from zoo.objectives import TSVLC
        >>> for lambda_pos in (0.0, 1.0):
        ...     loss = TSVLC(lambda_pos=lambda_pos)(batch, scores)
        ...     print({name: round(part.item(), 2) for name, part in loss.parts.items()})
        {'global': 0.63, 'own_negatives': 0.47}
        {'global': 0.63, 'own_negatives': 0.47, 'positives': 0.4}
    """

    def __init__(
        self,
        lambda_neg: NonNegativeNumber = 1.0,
        lambda_pos: NonNegativeNumber = 0.0,
        global_negatives: bool = True,
    ) -> None:
        super().__init__()
        self.text_scale = TextScale()
        self.lambda_neg, self.lambda_pos = lambda_neg, lambda_pos
        self.global_negatives = global_negatives

    @property
    def needs(self) -> Needs:
        """Negatives; if `lambda_pos` is not 0, also positives and pooled vectors of texts."""
        contrasts_positives = bool(self.lambda_pos)
        return Needs(
            negatives=self.global_negatives or bool(self.lambda_neg),
            positives=contrasts_positives,
            pooled_texts=contrasts_positives,
        )

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Sets the scale of cosines between texts; see `Objective.attach`."""
        self.text_scale.attach(shapes, head)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        global_loss = negclip_loss if self.global_negatives else clip_loss
        parts = {"global": global_loss(batch, scores)}
        zero = parts["global"].new_zeros(())
        if self.lambda_neg:
            parts["own_negatives"] = self.lambda_neg * own_negatives_loss(batch, scores)
        if self.lambda_pos:
            per_k = [self.positives_loss(p, batch, scores) for p in batch.positives.T]
            parts["positives"] = self.lambda_pos * sum(per_k, start=zero) / max(len(per_k), 1)
        return Loss(sum(parts.values(), start=zero), parts)

    def positives_loss(self, positives: Tensor, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_pos,k, the contrast with the k-th positives.

        Args:
            positives: The k-th positive of each row, as an index into the text bank, `[B]`; -1 is
                missing.
            batch: This rank's rows.
            scores: The scores of the batch.

        Returns:
            The mean over the rows of all ranks, a scalar in nats.
        """
        valid = scores.rows & (positives >= 0)
        cosines = scores.texts_against_texts(batch.captions, positives)
        captions = replace(cosines, logits=self.text_scale(scores) * cosines.logits)
        images = scores.images_against(positives)
        return (
            scores.mean(images.cross_entropy(valid), valid)
            + scores.mean(captions.cross_entropy(valid), valid)
        ) / 2


def own_negatives_loss(batch: Batch, scores: Scores) -> Tensor:
    """Returns L_neg over the rows of all ranks that have a negative, a scalar in nats."""
    negatives = scores.own_texts(batch.negatives)
    answers = scores.own_texts(batch.captions).concatenate(negatives).with_first_as_match()
    valid = scores.rows & negatives.candidate.any(1)
    return scores.mean(answers.cross_entropy(valid), valid)
