"""CE-CLIP (Zhang et al., CVPR 2024), following its public code.

B images v_i with captions t_i; n_ik: the k-th negative of caption i, k = 1..K; s = cosine / tau.

    L_IMC = -1/B sum_i log exp s(v_i, t_i) / [exp s(v_i, t_i) + sum_jk exp s(t_i, n_jk)]
    L_CMR = 1/(B K) sum_ik max(0, theta_k + s(v_i, n_ik) - s(v_i, t_i))
    L     = L_NegCLIP + lambda_imc L_IMC + lambda_cmr L_CMR

After every step the threshold of the k-th kind of negatives is set from the step's scores:

    theta_k <- min(max(mean_i s(v_i, t_i) - mean_i s(v_i, n_ik), 0), theta_max)
"""

import torch
from torch import Tensor

from zoo.batch import Batch, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective, TextScale
from zoo.objectives.clip import clip_loss
from zoo.objectives.negclip import negclip_loss
from zoo.scores import Block, Scores
from zoo.support.ranges import NonNegativeNumber

MOST_KINDS = 16


class CECLIP(Objective):
    """NegCLIP's loss, plus a contrastive loss and a margin ranking loss on captions and negatives.

    Each generator of negatives has its own margin (`thresholds`), which adapts to the scores.
    Margins start at 0, are saved in the checkpoint, and do not change in validation. As in the
    public code, a missing negative is not a candidate in the contrast, and its loss in the ranking
    is 0.

    The public code has had three versions of the contrast. This class follows the version of
    February 2024, in which the right answer for each caption is its image. In the newest version,
    images are not among the answers, and all captions of a batch have the same wrong text as their
    target. This looks like a mistake.

    Args:
        lambda_imc: Weight of the contrast of captions with negatives (intra-modal contrast, L_IMC).
        lambda_cmr: Weight of the ranking of captions above negatives (cross-modal ranking, L_CMR).
        theta_max: The upper bound of the margins, in logits.
        global_negatives: Whether images also choose among the negatives of all captions (NegCLIP's
            loss), as in the public script. If False, CLIP's loss takes the place of NegCLIP's.

    Examples:
        After a step, the margin is the mean score of captions minus that of negatives, here with
        the `batch` and `scores` from the example of `zoo.scores.Scores`:

        >>> from zoo.objectives import CECLIP
        >>> objective = CECLIP()
        >>> round(objective(batch, scores).total.item(), 3)
        0.79
        >>> objective.thresholds[:1].round(decimals=2)
        tensor([0.5000])
    """

    thresholds: Tensor

    def __init__(
        self,
        lambda_imc: NonNegativeNumber = 0.2,
        lambda_cmr: NonNegativeNumber = 0.2,
        theta_max: NonNegativeNumber = 10.0,
        global_negatives: bool = True,
    ) -> None:
        super().__init__()
        self.text_scale = TextScale()
        self.lambda_imc, self.lambda_cmr = lambda_imc, lambda_cmr
        self.theta_max, self.global_negatives = theta_max, global_negatives
        self.register_buffer("thresholds", torch.zeros(MOST_KINDS))

    @property
    def needs(self) -> Needs:
        """Negatives, and pooled vectors of texts for the contrast."""
        return Needs(negatives=True, pooled_texts=bool(self.lambda_imc))

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Sets the scale of cosines between texts; see `Objective.attach`."""
        self.text_scale.attach(shapes, head)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss, and updates the margins in training; see `Objective.forward`.

        Raises:
            ZooError: There are negatives from more than 16 generators.
        """
        right, wrong = (
            scores.own_texts(batch.captions),
            scores.own_texts(batch.negatives),
        )  # [B, 1], [B, K]
        if wrong.logits.shape[1] > MOST_KINDS:
            raise ZooError(
                f"CECLIP keeps thresholds for at most {MOST_KINDS} generators of negatives, and "
                f"the data has {wrong.logits.shape[1]}: list fewer in data.init_args.negatives"
            )
        global_loss = negclip_loss if self.global_negatives else clip_loss
        parts = {"global": global_loss(batch, scores)}
        if self.lambda_imc:
            parts["intra_modal"] = self.lambda_imc * self.intra_modal_loss(right, batch, scores)
        if self.lambda_cmr:
            parts["ranking"] = self.lambda_cmr * self.ranking(right, wrong, scores)
            if self.training:
                self.update_thresholds(right, wrong, scores)
        return Loss(sum(parts.values(), start=parts["global"].new_zeros(())), parts)

    def intra_modal_loss(self, right: Block, batch: Batch, scores: Scores) -> Tensor:
        """Computes L_IMC, in which each caption chooses between its image and all negatives."""
        cosines = scores.texts_against_texts(batch.captions, batch.negatives)
        # cosines between texts have no bias; in every other term the bias cancels
        bias = 0.0 if scores.head.bias is None else scores.head.bias
        image_logits = Block(right.logits - bias, None, right.candidate)
        negative_logits = Block(self.text_scale(scores) * cosines.logits, None, cosines.candidate)
        answers = image_logits.concatenate(negative_logits).with_first_as_match()
        return scores.mean(answers.cross_entropy(scores.rows), scores.rows)

    def ranking(self, right: Block, wrong: Block, scores: Scores) -> Tensor:
        """Computes L_CMR: a negative should score below its caption by at least the margin."""
        theta = self.thresholds[: wrong.logits.shape[1]].clone()
        hinge = (theta + wrong.logits - right.logits).relu()
        counted = torch.where(wrong.candidate, hinge, torch.zeros_like(hinge))
        return scores.mean(counted, scores.rows[:, None].expand_as(counted))

    @torch.no_grad()
    def update_thresholds(self, right: Block, wrong: Block, scores: Scores) -> None:
        """Sets the margins of the next step. A generator without negatives keeps its margin."""
        means = scores.column_means(
            torch.cat([right.logits, wrong.logits], dim=1),
            torch.cat([scores.rows[:, None], wrong.candidate], dim=1),
        )
        gap = (means[0] - means[1:]).clamp(0, self.theta_max)
        theta = self.thresholds[: len(gap)]
        theta.copy_(torch.where(gap.isnan(), theta, gap.to(theta.dtype)))
