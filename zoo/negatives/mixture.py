"""Mixtures of generators. Free of torch."""

from collections.abc import Iterable
from random import Random

from zoo.negatives.base import NegativeGenerator
from zoo.negatives.entity_foil import EntityFoilInPlace
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.support.ranges import ClosedUnitInterval
from zoo.units.record import UnitRecord


class SwapOrFoil(NegativeGenerator):
    """A swap of the caption's own words with probability `sentence_swap_share`, else an entity foil in its place.

    swap: NegCLIPSwap where None; foil: EntityFoilInPlace where None. fall_back: whether a caption whose words allow no swap gets a foil, as
    in CS-CLIP's public code; else it has no negative. Its paper speaks of a swap probability without saying of what; in the code it is
    this choice of the sentence negative, and 1.
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
        return self.foil.describe() | self.swap.describe() | super().describe()

    def check(self, captions: Iterable[str]) -> None:
        captions = list(captions)
        self.swap.check(captions)
        self.foil.check(captions)

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        if rng.random() < self.sentence_swap_share:
            swapped = self.swap.negative(caption, rng, record)
            if swapped is not None or not self.fall_back:
                return swapped
        return self.foil.negative(caption, rng, record)
