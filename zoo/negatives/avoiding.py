"""Negatives without phrases that are held out of training."""

import re
from collections.abc import Sequence
from random import Random

from zoo.errors import ZooError
from zoo.negatives.base import NegativeGenerator
from zoo.support.ranges import PositiveInt
from zoo.units.record import UnitRecord


class Avoiding(NegativeGenerator):
    """The negatives of another generator, except those that contain given phrases.

    A generator that adds words might otherwise use phrases that a split holds out of training.

    Args:
        generator: The other generator.
        phrases: The phrases to avoid, such as `red cube`, in upper or lower case. Plurals with a
            final s are avoided as well.
        draws: The maximum number of negatives drawn per caption. If all of them contain one of the
            phrases, the caption has no negative.

    Raises:
        ZooError: `phrases` is empty.
    """

    name = "avoiding"

    def __init__(
        self, generator: NegativeGenerator, phrases: list[str], draws: PositiveInt = 10
    ) -> None:
        if not any(phrase.split() for phrase in phrases):
            raise ZooError(
                "Avoiding(phrases=[]) avoids nothing: list the phrases that are held out"
            )
        self.generator, self.phrases, self.draws = generator, phrases, draws
        words = (r"\s+".join(map(re.escape, phrase.split())) for phrase in phrases)
        self._pattern = re.compile(rf"\b(?:{'|'.join(filter(None, words))})s?\b", re.IGNORECASE)

    def describe(self) -> dict[str, str]:
        """Returns the description of the other generator, and the avoided phrases."""
        avoided = {"avoids": ", ".join(self.phrases)}
        return self.generator.describe() | super().describe() | avoided

    def check(self, captions: Sequence[str]) -> None:
        """Checks that the other generator can be used with given captions."""
        self.generator.check(captions)

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the first drawn negative without the phrases, or None if there is none."""
        for _ in range(self.draws):
            candidate = self.generator.negative(caption, rng, record)
            if candidate is None or not self._pattern.search(candidate):
                return candidate
        return None
