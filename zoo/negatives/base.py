"""NegativeGenerator: makes a sentence that does not fit an image out of one that does."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from zoo.support.spec import Configurable
from zoo.units.record import UnitRecord


class NegativeGenerator(Configurable, ABC):
    """Base of generators.

    A negative depends on caption, record and random state alone, so that a run can be resumed.

    Attributes:
        name: What recipes, objectives and results call the generator.
    """

    name: ClassVar[str]

    @abstractmethod
    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Makes one negative of a caption.

        Args:
            caption: The caption.
            rng: The source of random numbers.
            record: The caption's units, where it has some.

        Returns:
            The negative, or None where the rule finds none. It is never the caption itself in other
            spacing or case.
        """

    def describe(self) -> dict[str, str]:
        """Returns what results say of the negatives: the generator, and the tagger it uses."""
        return {"generator": self.name}

    def check(self, captions: Sequence[str]) -> None:
        """Checks, before the first step, whether the generator can serve some captions.

        Raises:
            ZooError: The generator knows already that it cannot.
        """
