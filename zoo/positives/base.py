"""PositiveGenerator: finds another text that is true of the image of a caption."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar

from zoo.support.configurable import Configurable


class PositiveGenerator(Configurable, ABC):
    """Base of generators, of further positives or of the captions themselves.

    A positive depends only on the captions of the image and the random state, so that a run can be
    resumed.

    Attributes:
        name: The generator's name in results.
    """

    name: ClassVar[str]

    @abstractmethod
    def positive(self, caption: str, image_captions: Sequence[str], rng: Random) -> str | None:
        """Finds one positive of a caption.

        Args:
            caption: The caption.
            image_captions: The captions of the same image, including this one.
            rng: The source of random numbers.

        Returns:
            The positive, or None if there is none. It differs from the caption in more than
            whitespace and case.
        """

    def describe(self) -> dict[str, str]:
        """Returns the description for results."""
        return {"generator": self.name}

    def check(
        self, captions: Sequence[str], captions_by_image: Mapping[str, Sequence[str]]
    ) -> None:
        """Checks, before the first step, whether the generator can be used for some captions.

        Args:
            captions: The training captions.
            captions_by_image: The captions of each image.

        Raises:
            ZooError: It cannot be used.
        """
