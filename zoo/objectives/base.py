"""Objective: turns the scores of a batch into a loss.

An objective is written for the whole batch; `Scores` handles the ranks.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from zoo.batch import Batch, TowerShapes
from zoo.errors import ZooError
from zoo.heads.base import Head
from zoo.needs import Needs
from zoo.scores import Scores
from zoo.support.configurable import Configurable


@dataclass(frozen=True)
class Loss:
    """The loss of a batch.

    Args:
        total: The loss to minimise, a scalar in nats.
        parts: The weighted terms of the loss by name, which add up to the total.
    """

    total: Tensor
    parts: dict[str, Tensor]


class Objective(Configurable, nn.Module, ABC):
    """Base class of objectives.

    A subclass computes its loss in `forward`. If it needs more than images and captions, such as
    negatives, it overrides `needs`.

    Examples:
        A custom loss, with the `batch` and `scores` from the example of `zoo.scores.Scores`:

        >>> from zoo.objectives import Loss, Objective
        >>> class Hinge(Objective):
        ...     def forward(self, batch, scores):
        ...         right, wrong = (scores.own_texts(t) for t in (batch.captions, batch.negatives))
        ...         total = scores.mean((0.7 + wrong.logits - right.logits).relu(), wrong.candidate)
        ...         return Loss(total, {"hinge": total})
        >>> round(Hinge()(batch, scores).total.item(), 3)
        0.2
    """

    def __init__(self) -> None:
        super().__init__()

    @property
    def needs(self) -> Needs:
        """What this instance needs from the data and the backbone."""
        return Needs()

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Builds the parts that depend on the backbone and the head, when the model is built.

        Args:
            shapes: The backbone's shapes.
            head: The head, which is already attached.
            trains: Whether a tower is trained.

        Raises:
            ZooError: The objective does not work with this backbone or head, for a reason that
                `needs` cannot express.
        """

    @abstractmethod
    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss of the batch over all ranks.

        Args:
            batch: This rank's rows.
            scores: The scores of those rows against the texts and images of all ranks.

        Returns:
            This rank's contribution to the loss, times the number of ranks, since DDP averages
            gradients over ranks. `Scores.mean` computes such contributions.
        """

    def chance_loss(self, batch: Batch, scores: Scores) -> Tensor | None:
        """Returns the loss of a uniform guess, in which all scores are equal; None if undefined.

        It is logged with the loss, for comparison. For a softmax loss, it is the logarithm of the
        number of candidates.

        Args:
            batch: This rank's rows.
            scores: The scores of those rows, from which `forward` has already computed the loss.
        """
        return None


class TextScale(nn.Module):
    """The scale of cosines between texts, which no head scores.

    It is the head's scale if that scales the towers' own cosines (Cosine, MaxSim). With any other
    head it is the backbone's initial scale, which is then not trained.
    """

    held: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("held", None)

    def attach(self, shapes: TowerShapes, head: Head) -> None:
        """Selects the head's or the backbone's scale, when the model is built."""
        self.held = None if head.scales_cosine else torch.tensor(float(shapes.scale))

    def forward(self, scores: Scores) -> Tensor:
        """Returns the scale, a positive scalar."""
        return scores.head.scale if self.held is None else self.held


def loss_of(objective: Objective, batch: Batch, scores: Scores) -> Loss:
    """Computes the loss of a batch and checks what the objective returns.

    Args:
        objective: The objective.
        batch: This rank's rows.
        scores: Their scores.

    Returns:
        The loss.

    Raises:
        ZooError: The objective returns no Loss, or its total or a part is not a scalar.
    """
    loss: object = objective(batch, scores)
    forward = f"{type(objective).__name__}.forward"
    if not isinstance(loss, Loss):
        raise ZooError(
            f"{forward} returned a {type(loss).__name__}: return a Loss of zoo.objectives, "
            "Loss(total, {'name': total}) if it has one term"
        )
    for name, value in (("total", loss.total), *loss.parts.items()):
        if not isinstance(value, Tensor) or value.ndim:
            shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ZooError(
                f"{forward} returned a Loss whose {name} is {shape}, not a scalar tensor: use "
                "scores.mean for the mean over rows"
            )
    return loss
