"""Negatives of word pairs that captions have."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random

from zoo.negatives.base import NegativeGenerator
from zoo.sources.readers.base import Reader
from zoo.support.ranges import PositiveInt
from zoo.units.record import UnitRecord


class KnownPairs(NegativeGenerator):
    """Those negatives of another generator whose word pairs all occur in given captions.

    A pair is two consecutive words; other words are not compared. A swap may create a pair, such as
    `green cow`, that describes no training image. A model then learns that the pair is false.

    Args:
        generator: The other generator.
        captions: The given captions, usually those of the training data: a reader (`zoo ls
            readers`). All pairs of consecutive words of a negative must occur in these captions.
        draws: The maximum number of negatives drawn per caption. If all of them contain a pair that
            does not occur in the given captions, the caption has no negative.
    """

    name = "known_pairs"

    def __init__(
        self, generator: NegativeGenerator, captions: Reader, draws: PositiveInt = 10
    ) -> None:
        self.generator, self.captions, self.draws = generator, captions, draws
        self._pairs = frozenset(
            pair for sample in captions.read() for pair in _word_pairs(sample.caption)
        )

    def describe(self) -> dict[str, str]:
        """Returns the description of the other generator, and the number of known pairs."""
        known = {"known_pairs": str(len(self._pairs))}
        return self.generator.describe() | super().describe() | known

    def check(self, captions: Sequence[str]) -> None:
        """Checks that the other generator can be used with given captions."""
        self.generator.check(captions)

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns the first drawn negative without unknown pairs, or None if there is none."""
        for _ in range(self.draws):
            candidate = self.generator.negative(caption, rng, record)
            if candidate is None or self._pairs.issuperset(_word_pairs(candidate)):
                return candidate
        return None


def _word_pairs(text: str) -> Iterator[tuple[str, str]]:
    words = re.findall(r"\w+", text.lower())
    return pairwise(words)
