"""PositiveGenerator: finds a further text that is true of the image of a caption."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar

from zoo.support.spec import Configurable


class PositiveGenerator(Configurable, ABC):
    """Base of generators.

    A positive depends on the captions of the image and on random state alone, so that a run can be
    resumed.

    Attributes:
        name: What results call the generator.
    """

    name: ClassVar[str]

    @abstractmethod
    def positive(self, caption: str, others: Sequence[str], rng: Random) -> str | None:
        """Finds one positive of a caption.

        Args:
            caption: The caption.
            others: The captions of the same image, this one among them.
            rng: The source of random numbers.

        Returns:
            The positive, or None where there is none. It is never the caption itself in other
            spacing or case.
        """

    def describe(self) -> dict[str, str]:
        """Returns what results say of the positives."""
        return {"generator": self.name}

    def check(self, captions: Sequence[str], of_image: Mapping[str, Sequence[str]]) -> None:
        """Checks, before the first step, whether the generator can serve some captions.

        Args:
            captions: The captions that are trained on.
            of_image: The captions of each image.

        Raises:
            ZooError: The generator knows already that it cannot.
        """
