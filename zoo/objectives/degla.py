"""DeGLA (Hu et al., 2025): decoupled global and local alignment.

B images v_i with captions t_i and negatives n_i1 .. n_iK, all at unit length; v', t', n': the same
encoded by the teacher, an exponential moving average of the towers; s: the scale of the scores.

    L_IGC     = -1/B sum_i log exp(s v_i . t_i) / [exp(s v_i . t_i) + sum_k exp(s v_i . n_ik)]
    L_TGC     = -1/B sum_i log exp(10 t_i . t'_i) / [exp(10 t_i . t'_i) + sum_k exp(10 t_i . n_ik)]
    L_distill = sum_i |v_i - v'_i|^2 + |t_i - t'_i|^2 + sum_k |n_ik - n'_ik|^2
    L         = L_NegCLIP + lambda_igc L_IGC + lambda_tgc L_TGC + lambda_distill L_distill

The public code uses other negatives for L_TGC. With the negatives of the batch numbered row by
row, m_0 = n_11, m_1 = n_12, ..., caption i gets m_(i + kB), i from 0 and k from 0 to K - 1, instead
of n_i1 .. n_iK.
"""

from dataclasses import replace

import torch
from torch import Tensor

from zoo.batch import Batch
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.negclip import negclip_loss
from zoo.scores import Block, Scores
from zoo.support.ranges import ClosedUnitInterval, NonNegativeNumber, PositiveNumber


class DeGLA(Objective):
    """NegCLIP's loss, plus contrasts of images and of captions with negatives, and distillation.

    The teacher is a moving average of the model's weights. In the text-grounded contrast, the right
    answer for a caption is the same caption, encoded by the teacher. Missing negatives are not
    candidates. As published, the distillation is a sum over the rows of all devices, so that it
    grows with the batch.

    Args:
        lambda_igc: Weight of the contrast of images with captions and negatives (image-grounded).
        lambda_tgc: Weight of the contrast of captions with negatives (text-grounded).
        lambda_distill: Weight of the distillation. The published value is for batches of 256 rows.
        text_scale: The scale of the cosines in the text-grounded contrast.
        decay: The decay of the teacher's moving average per step. At 1, the teacher is frozen.
        public_code: Whether the text-grounded contrast uses the same negatives as the public code,
            most of which belong to other captions. If False, it uses each caption's own negatives.

    Examples:
        If the teacher equals the model, the distillation is 0, here with the `batch` and `scores`
        from the example of `zoo.scores.Scores`:

        >>> from zoo.objectives import DeGLA
        >>> from zoo.scores import Scores
        >>> taught_batch = batch.with_teacher(batch.images, batch.texts)
        >>> loss = DeGLA()(taught_batch, Scores(scores.head, taught_batch))
        >>> {name: round(part.item(), 4) for name, part in loss.parts.items()}
        {'global': 0.6307, 'image_grounded': 0.0474, 'text_grounded': 0.0007, 'distillation': 0.0}
    """

    def __init__(
        self,
        lambda_igc: NonNegativeNumber = 0.1,
        lambda_tgc: NonNegativeNumber = 0.1,
        lambda_distill: NonNegativeNumber = 0.005,
        text_scale: PositiveNumber = 10.0,
        decay: ClosedUnitInterval = 0.9996,
        public_code: bool = False,
    ) -> None:
        super().__init__()
        self.lambda_igc, self.lambda_tgc = lambda_igc, lambda_tgc
        self.lambda_distill, self.text_scale, self.decay = lambda_distill, text_scale, decay
        self.public_code = public_code

    @property
    def needs(self) -> Needs:
        """Negatives, pooled vectors and a teacher."""
        return Needs(negatives=True, pooled=True, teacher=self.decay)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        parts = {
            "global": negclip_loss(batch, scores),
            "image_grounded": self.lambda_igc * self.image_grounded_loss(batch, scores),
            "text_grounded": self.lambda_tgc * self.text_grounded_loss(batch, scores),
            "distillation": self.lambda_distill * self.distillation(batch, scores),
        }
        return Loss(sum(parts.values(), start=parts["global"].new_zeros(())), parts)

    def image_grounded_loss(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_IGC, the image-grounded contrast, a scalar in nats."""
        block = scores.own_texts(batch.captions).concatenate(scores.own_texts(batch.negatives))
        return scores.mean(block.with_first_as_match().cross_entropy(scores.rows), scores.rows)

    def text_grounded_loss(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_TGC, the text-grounded contrast, a scalar in nats."""
        captions = scores.text_vectors(batch.captions)  # [B, D]
        teacher_captions = scores.text_vectors(batch.captions, teacher=True)
        right = Block(
            (captions * teacher_captions).sum(-1, keepdim=True), None, scores.rows[:, None]
        )
        if self.public_code:
            wrong = self.public_negative_cosines(batch, scores)
        else:
            negatives = scores.text_vectors(batch.negatives)  # [B, K, D]
            cosines = (captions[:, None] * negatives).sum(-1)
            wrong = Block(cosines, None, batch.negatives >= 0)
        answers = right.concatenate(wrong).with_first_as_match()  # [B, 1 + K]
        scaled = replace(answers, logits=self.text_scale * answers.logits)
        return scores.mean(scaled.cross_entropy(scores.rows), scores.rows)

    def public_negative_cosines(self, batch: Batch, scores: Scores) -> Block:
        """Compares captions with the negatives that the public code uses for L_TGC.

        Args:
            batch: This rank's rows.
            scores: The scores of the batch.

        Returns:
            The cosines, `[B, K]`. All columns are wrong answers, so that `Block.match` is None.
        """
        cosines = scores.texts_against_texts(batch.captions, batch.negatives)  # [B, W B K]
        captions = scores.images_against(batch.captions)
        rows = torch.where(captions.is_match)[1]  # i, the row's number among those of all ranks
        k = torch.arange(batch.negatives.shape[1], device=rows.device)
        columns = rows[:, None] + k * captions.logits.shape[1]  # i + kB
        return Block(cosines.logits.gather(1, columns), None, cosines.candidate.gather(1, columns))

    def distillation(self, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_distill, the squared distance to the teacher's vectors, a scalar."""
        texts = torch.cat([batch.captions[:, None], batch.negatives], dim=1)
        text_change = scores.text_vectors(texts) - scores.text_vectors(texts, teacher=True)
        image_change = scores.image_vectors() - scores.image_vectors(teacher=True)
        return scores.total(image_change.square().sum(-1), scores.rows) + scores.total(
            text_change.square().sum(-1), texts >= 0
        )
