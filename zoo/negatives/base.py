"""NegativeGenerator: makes a sentence that does not belong to the image out of one that does."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from random import Random
from typing import ClassVar

from zoo.support.spec import Recorded
from zoo.units.record import UnitRecord


class NegativeGenerator(Recorded, ABC):
    """Base of generators. What comes out is a function of caption, record and random state alone, so that a run can be resumed.

    name: what recipes, objectives and results call it.
    """

    name: ClassVar[str]

    @abstractmethod
    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns one negative of the caption, or None where the rule finds none; never the caption itself in other spacing or case."""

    def describe(self) -> dict[str, str]:
        """Returns what a result says of its negatives: the rule, and the tagger where one is used."""
        return {"generator": self.name}

    def check(self, captions: Iterable[str]) -> None:
        """Raises ZooError, before the first step, where the generator knows already that it cannot serve these captions."""
