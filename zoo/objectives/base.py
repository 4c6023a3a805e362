"""Objective: turns the scores of a batch into a loss. Written for the whole batch; ranks are the business of `Scores`."""

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

    negatives: whether sentence negatives are needed. generators: names of generators of which one is needed, () for any.
    units: whether units and foils are. image_keys, text_keys: tokens beside those of the head. pooled: whether the objective itself
    reads pooled vectors. bias: whether the head must have a bias.
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
    """total: what is minimised, a scalar in nats. parts: its named terms, each as it enters the total."""

    total: Tensor
    parts: dict[str, Tensor]


class Objective(Recorded, nn.Module, ABC):
    """Base of objectives. A subclass says what it needs and computes its loss from blocks of scores.

    mask_same_image, mask_same_text: whether *true* texts (captions, units) of a row's own image, or with its own words, stop being
    candidates against it. False as in the papers.
    """

    def __init__(self, mask_same_image: bool = False, mask_same_text: bool = False) -> None:
        super().__init__()
        self.mask_same_image, self.mask_same_text = mask_same_image, mask_same_text

    @property
    def needs(self) -> Needs:
        """What this instance wants of data and backbone."""
        return Needs()

    def attach(self, shapes: TowerShapes, head: Head, trains: bool) -> None:
        """Called when the model is built, with the head that was attached: takes what depends on the two. trains: whether a tower is
        trained. Raises ZooError where they do not go together in a way that `needs` cannot say."""

    @abstractmethod
    def forward(self, batch: Batch, scores: Scores) -> Loss:
        """Returns the loss of the batch of all ranks, scaled so that DDP's mean over ranks has its gradient."""
