"""PositiveGenerator: finds another text that is true of the image of a caption."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar

from zoo.support.configurable import Configurable


class PositiveGenerator(Configurable, ABC):
    """Base class of generators of positives.

    `data.caption_generator` takes the same classes: the drawn text then replaces the caption. A
    positive depends only on the captions of the image and the random state, so that a resumed run
    draws the same positives.

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
            The positive, or None if there is none. It differs from the caption in more than case,
            whitespace and punctuation.
        """

    def describe(self) -> dict[str, str]:
        """Returns a description of the generator, which results store."""
        return {"generator": self.name}

    def check(
        self, captions: Sequence[str], captions_by_image: Mapping[str, Sequence[str]]
    ) -> None:
        """Checks before training whether the generator can be used for the captions.

        Args:
            captions: The training captions.
            captions_by_image: The captions of each image, by the id of the image.

        Raises:
            ZooError: The generator cannot be used for these captions.
        """
