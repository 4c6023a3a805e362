"""Mixtures of generators."""

from collections.abc import Sequence
from random import Random

from zoo.negatives.base import NegativeGenerator
from zoo.negatives.entity_foil import EntityFoilInPlace
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.support.ranges import ClosedUnitInterval
from zoo.units.record import UnitRecord


class SwapOrFoil(NegativeGenerator):
    """A negative of one of two generators; the generator is drawn for each negative.

    CS-CLIP's paper mentions a swap probability without a definition. In the public code, this is
    the probability that the negative is a swap, and its value is 1.

    Args:
        swap: The first generator. By default, `NegCLIPSwap`.
        foil: The second generator. By default, `EntityFoilInPlace`.
        sentence_swap_share: The probability of the first generator, from 0 to 1. The default is
            that of CS-CLIP's public code.
        fall_back: Whether the second generator is used if the first finds no negative, as in
            CS-CLIP's public code. If False, the caption then has no negative.
    """

    name = "swap_or_foil"

    def __init__(
        self,
        swap: NegativeGenerator | None = None,
        foil: NegativeGenerator | None = None,
        sentence_swap_share: ClosedUnitInterval = 1.0,
        fall_back: bool = False,
    ) -> None:
        self.swap, self.foil = swap or NegCLIPSwap(), foil or EntityFoilInPlace()
        self.sentence_swap_share, self.fall_back = sentence_swap_share, fall_back

    def describe(self) -> dict[str, str]:
        """Returns the descriptions of both generators, under the name of this one."""
        return self.foil.describe() | self.swap.describe() | super().describe()

    def check(self, captions: Sequence[str]) -> None:
        """Checks that both generators can be used with given captions."""
        self.swap.check(captions)
        self.foil.check(captions)

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        """Returns a negative of one generator, or None if there is none."""
        if rng.random() < self.sentence_swap_share:
            swapped = self.swap.negative(caption, rng, record)
            if swapped is not None or not self.fall_back:
                return swapped
        return self.foil.negative(caption, rng, record)
