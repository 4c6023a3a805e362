"""NegativeGenerator: changes a caption so that it no longer describes its image."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from zoo.support.configurable import Configurable
from zoo.units.record import UnitRecord


class NegativeGenerator(Configurable, ABC):
    """Base class of generators of negatives.

    A negative depends only on the caption, its units and the random state, so that a resumed run
    draws the same negatives as an uninterrupted one.

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
            record: The caption's units, if there are any.

        Returns:
            The negative, or None if the generator finds none. A negative differs from the caption
            in more than whitespace and case.
        """

    def describe(self) -> dict[str, str]:
        """Returns the description of the generator, and of its tagger if any, for results."""
        return {"generator": self.name}

    def check(self, captions: Sequence[str]) -> None:
        """Checks, before training, that the generator can be used with given captions.

        Raises:
            ZooError: The generator cannot be used with these captions.
        """
