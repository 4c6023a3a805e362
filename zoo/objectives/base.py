"""Objective: turns the scores of a batch into a loss.

An objective is written for the whole batch; ranks are the business of `Scores`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn

from zoo.batch import Batch, TokenKey, TowerShapes
from zoo.heads.base import Head
from zoo.scores import Scores
from zoo.support.spec import Recorded


@dataclass(frozen=True)
class Needs:
    """What an objective wants of data and backbone, checked before the first step.

    Args:
        negatives: Whether sentence negatives are needed.
        generators: Names of generators of which one is needed; () allows any.
        units: Whether units and foils are needed.
        image_keys: Image tokens that the objective reads beside those of the head.
        text_keys: Text tokens that the objective reads beside those of the head.
        pooled: Whether the objective itself reads pooled vectors.
        bias: Whether the head must have a bias.
    """

    negatives: bool = False
    generators: tuple[str, ...] = ()
    units: bool = False
    image_keys: frozenset[TokenKey] = frozenset()
    text_keys: frozenset[TokenKey] = frozenset()
    pooled: bool = False
    bias: bool = False


@dataclass(frozen=True)
class Loss:
    """The loss of a batch.

    Args:
        total: What is minimised, a scalar in nats.
        parts: Its named terms, each as it enters the total.
    """

    total: Tensor
    parts: dict[str, Tensor]


class Objective(Recorded, nn.Module, ABC):
    """Base of objectives.

    A subclass says what it needs and computes its loss from blocks of scores.

    Args:
        mask_same_image: Whether *true* texts (captions, units) of a row's own image stop being
            candidates against it. The papers do not mask them.
        mask_same_text: Whether true texts with a row's own words stop being candidates against
            it. The papers do not mask them.
    """

    def __init__(self, mask_same_image: bool = False, mask_same_text: bool = False) -> None:
        super().__init__()
        self.mask_same_image, self.mask_same_text = mask_same_image, mask_same_text

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
