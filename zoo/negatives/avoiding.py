"""Negatives that do not say what is held out of training."""

import re
from collections.abc import Sequence
from random import Random

from zoo.errors import ZooError
from zoo.negatives.base import NegativeGenerator
from zoo.support.ranges import PositiveInt
from zoo.units.record import UnitRecord


class Avoiding(NegativeGenerator):
    """What another generator makes, but nothing that says one of some phrases.

    A generator that brings words of its own may otherwise name what a split holds out of training.

    Args:
        generator: The generator.
        phrases: What no negative says, such as `red cube`, in any case and with or without an s.
        draws: How many negatives of a caption are drawn until one says none of them. Where none
            does, the caption has no negative.

    Raises:
        ZooError: There are no phrases.
    """

    name = "avoiding"

    def __init__(
        self, generator: NegativeGenerator, phrases: list[str], draws: PositiveInt = 10
    ) -> None:
        if not any(phrase.split() for phrase in phrases):
            raise ZooError(
                "Avoiding(phrases=[]) avoids nothing: name the phrases that are held out"
            )
        self.generator, self.phrases, self.draws = generator, phrases, draws
        words = (r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)
        self._said = re.compile(rf"\b(?:{'|'.join(filter(None, words))})s?\b", re.IGNORECASE)

    def describe(self) -> dict[str, str]:
        """Returns what the generator says of itself, and what is avoided."""
        avoided = {"avoids": ", ".join(self.phrases)}
        return self.generator.describe() | super().describe() | avoided

    def check(self, captions: Sequence[str]) -> None:
        """Checks whether the generator can serve some captions."""
        self.generator.check(captions)

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the first negative that says none of the phrases, None where none was drawn."""
        for _ in range(self.draws):
            made = self.generator.negative(caption, rng, record)
            if made is None or not self._said.search(made):
                return made
        return None
