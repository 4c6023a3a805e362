"""NegativeGenerator: changes a caption so that it no longer describes its image."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from zoo.support.configurable import Configurable
from zoo.units.record import UnitRecord


class NegativeGenerator(Configurable, ABC):
    """Base of generators.

    A negative depends only on caption, record and random state, so that a run can be resumed.

    Attributes:
        name: The generator's name in recipes, objectives and results.
    """

    name: ClassVar[str]

    @abstractmethod
    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Makes one negative of a caption.

        Args:
            caption: The caption.
            rng: The source of random numbers.
            record: The caption's units, if it has any.

        Returns:
            The negative, or None if the rule finds none. It differs from the caption in more than
            whitespace and case.
        """

    def describe(self) -> dict[str, str]:
        """Returns the description for results: the generator, and its tagger."""
        return {"generator": self.name}

    def check(self, captions: Sequence[str]) -> None:
        """Checks, before the first step, whether the generator can be used for some captions.

        Raises:
            ZooError: It cannot be used.
        """
