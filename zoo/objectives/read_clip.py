"""READ-CLIP (arXiv 2510.16540, 2025): its alignment of captions with their paraphrases.

B captions t_i with paraphrases p_ik, k = 1..K; s = cosine / tau.

    L_align,k = -1/B sum_i log exp s(p_ik, t_i) / sum_j exp s(p_ik, t_j)
    L         = L_NegCLIP + lambda_align 1/K sum_k L_align,k
"""

from torch import Tensor

from zoo.batch import Batch, TowerShapes
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective, TextScale
from zoo.objectives.negclip import negclip_loss
from zoo.scores import Block, Scores
from zoo.support.ranges import NonNegativeNumber


class READCLIP(Objective):
    """NegCLIP's loss, and a contrast of each paraphrase with the captions of all rows.

    READ-CLIP has another term, the loss of a frozen language model that reconstructs captions from
    the text's vector. It is left out here. A row without a k-th paraphrase is left out of the
    k-th mean; its caption remains a column.

    Args:
        lambda_align: Weight of the alignment.

    Examples:
        The positives of the `batch` in the example of `zoo.scores.Scores` are aligned with its
        captions:

        >>> from zoo.objectives import READCLIP
        >>> loss = READCLIP(lambda_align=0.5)(batch, scores)
        >>> {name: round(part.item(), 3) for name, part in loss.parts.items()}
        {'global': 0.631, 'alignment': 0.2}
    """

    def __init__(self, lambda_align: NonNegativeNumber = 0.5) -> None:
        super().__init__()
        self.text_scale = TextScale()
        self.lambda_align = lambda_align

    @property
    def needs(self) -> Needs:
        """Sentence negatives, further positives, and pooled vectors of texts."""
        return Needs(negatives=True, positives=True, pooled_texts=True)

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Sets the scale of cosines between texts; see `Objective.attach`."""
        self.text_scale.attach(shapes, head)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss; see `Objective.forward`."""
        global_loss = negclip_loss(batch, scores)
        per_k = [self.alignment(p, batch, scores) for p in batch.positives.T]
        alignment_loss = (
            self.lambda_align * sum(per_k, start=global_loss.new_zeros(())) / max(len(per_k), 1)
        )
        return Loss(
            global_loss + alignment_loss, {"global": global_loss, "alignment": alignment_loss}
        )

    def alignment(self, paraphrases: Tensor, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_align,k.

        Args:
            paraphrases: The k-th paraphrases, rows of the text bank, `[B]`; -1 is missing.
            batch: This rank's rows.
            scores: The scores of the batch.

        Returns:
            The mean over the rows of all ranks, a scalar in nats.
        """
        cosines = scores.texts_against_texts(paraphrases, batch.captions)
        logits = self.text_scale(scores) * cosines.logits
        valid = scores.rows & (paraphrases >= 0)
        block = Block(logits, cosines.match, cosines.candidate)
        return scores.mean(block.cross_entropy(valid), valid)
