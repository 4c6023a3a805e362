"""Objective: turns the scores of a batch into a loss.

An objective is written for the whole batch; ranks are the business of `Scores`.
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
from zoo.support.spec import Configurable


@dataclass(frozen=True)
class Loss:
    """The loss of a batch.

    Args:
        total: What is minimised, a scalar in nats.
        parts: Its named terms, each as it enters the total.
    """

    total: Tensor
    parts: dict[str, Tensor]


class Objective(Configurable, nn.Module, ABC):
    """Base of objectives.

    A subclass says what it needs and computes its loss from blocks of scores.
    """

    def __init__(self) -> None:
        super().__init__()

    @property
    def needs(self) -> Needs:
        """What this instance wants of data and backbone."""
        return Needs()

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Takes what depends on backbone and head; called when the model is built.

        Args:
            shapes: The backbone's.
            head: The head, attached already.
            trains: Whether a tower is trained.

        Raises:
            ZooError: They do not go together in a way that `needs` cannot say.
        """

    @abstractmethod
    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Computes the loss of the batch of all ranks.

        Args:
            batch: This rank's rows.
            scores: The scores of those rows against the texts and images of all ranks.

        Returns:
            The loss, scaled so that DDP's mean over ranks has its gradient.
        """


class TextScale(nn.Module):
    """What cosines between texts are multiplied with, which no head scores.

    It is the head's scale where that is of the towers' own cosines (Cosine, MaxSim). With another
    head it is the backbone's at the start, which is then not trained.
    """

    held: Tensor | None

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("held", None)

    def attach(self, shapes: TowerShapes, head: Head) -> None:
        """Settles whose scale it is, when the model is built."""
        self.held = None if head.scales_cosine else torch.tensor(float(shapes.scale))

    def forward(self, scores: Scores) -> Tensor:
        """Returns the scale, a positive scalar."""
        return scores.head.scale if self.held is None else self.held


def loss_of(objective: Objective, batch: Batch, scores: Scores) -> Loss:
    """Asks an objective for the loss of a batch.

    Args:
        objective: The objective.
        batch: This rank's rows.
        scores: Their scores.

    Returns:
        The loss.

    Raises:
        ZooError: The objective gives something else, or a total or part that is no scalar.
    """
    loss: object = objective(batch, scores)
    forward = f"{type(objective).__name__}.forward"
    if not isinstance(loss, Loss):
        raise ZooError(
            f"{forward} returned a {type(loss).__name__}: return a Loss of zoo.objectives, "
            "Loss(total, {'name': total}) where it has one term"
        )
    for name, value in (("total", loss.total), *loss.parts.items()):
        if not isinstance(value, Tensor) or value.ndim:
            shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise ZooError(
                f"{forward} returned a Loss whose {name} is {shape}, and a scalar tensor is "
                "wanted: take the mean over rows by scores.mean"
            )
    return loss
