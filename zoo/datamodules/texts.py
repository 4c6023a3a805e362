"""Texts: what stands beside a caption in a batch: negatives, positives, units and foils."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from zoo.errors import ZooError
from zoo.negatives.base import NegativeGenerator
from zoo.positives.base import PositiveGenerator
from zoo.sources.sample import Sample, usable_negatives
from zoo.sources.seeds import seed_of
from zoo.units.record import UnitRecord
from zoo.units.sampler import UnitAndFoil, UnitSampler

SOURCE_NEGATIVES = "source"


@dataclass(frozen=True)
class CaptionTexts:
    """Makes the texts beside a caption, as a function of (seed, epoch, sample).

    Args:
        seed: Seed of all draws.
        generators: Makers of sentence negatives, one column each.
        from_source: Whether one of the sample's own negatives is drawn, as the first column.
        units: Draws units and foils; None where none are wanted.
        records: Records of units by caption id.
        positive_generators: Finders of further positives, one column each.
        of_image: The captions of each image by its id, where positives are wanted.
    """

    seed: int = 0
    generators: Sequence[NegativeGenerator] = ()
    from_source: bool = False
    units: UnitSampler | None = None
    records: Mapping[str, UnitRecord] = field(default_factory=dict)
    positive_generators: Sequence[PositiveGenerator] = ()
    of_image: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """What makes the negatives, one name a column."""
        return (SOURCE_NEGATIVES,) * self.from_source + tuple(g.name for g in self.generators)

    @property
    def n_units(self) -> int:
        """The number of units a row."""
        return 0 if self.units is None else self.units.n_units

    def negatives(self, sample: Sample, epoch: int, index: int) -> list[str | None]:
        """Returns a negative for each name, None where one cannot be made."""
        made: list[str | None] = []
        if self.from_source:
            own = usable_negatives(sample)
            made.append(self._random(epoch, index, SOURCE_NEGATIVES).choice(own) if own else None)
        record = self.records.get(sample.caption_id)
        for k, generator in enumerate(self.generators):
            draws = self._random(epoch, index, f"negative/{k}")
            negative = generator.negative(sample.caption, draws, record)
            made.append(_text(negative, f"{type(generator).__name__}.negative", sample.caption))
        return made

    def positives(self, sample: Sample, epoch: int, index: int) -> list[str | None]:
        """Returns a further positive of each generator, None where there is none."""
        found: list[str | None] = []
        for k, generator in enumerate(self.positive_generators):
            draws = self._random(epoch, index, f"positive/{k}")
            others = self.of_image.get(sample.image_id, (sample.caption,))
            positive = generator.positive(sample.caption, others, draws)
            found.append(_text(positive, f"{type(generator).__name__}.positive", sample.caption))
        return found

    def pairs(self, sample: Sample, epoch: int, index: int) -> list[UnitAndFoil | None]:
        """Returns n_units draws of (unit, foil or None), None for a draw that finds nothing."""
        record = self.records.get(sample.caption_id)
        if self.units is None or record is None:
            return [None] * self.n_units
        return self.units.sample(record, self._random(epoch, index, "units"))

    def _random(self, epoch: int, index: int, purpose: str) -> Random:
        return Random(seed_of(self.seed, epoch, index, purpose))


@dataclass(frozen=True)
class DrawnOnce(CaptionTexts):
    """The texts beside a caption, drawn once: every epoch has what the first would have."""

    _negatives: dict[tuple[int, Sample], list[str | None]] = field(default_factory=dict)
    _positives: dict[tuple[int, Sample], list[str | None]] = field(default_factory=dict)
    _pairs: dict[tuple[int, Sample], list[UnitAndFoil | None]] = field(default_factory=dict)

    def negatives(self, sample: Sample, epoch: int, index: int) -> list[str | None]:
        """Returns the negatives of the first epoch."""
        place = index, sample
        if place not in self._negatives:
            self._negatives[place] = super().negatives(sample, 0, index)
        return self._negatives[place]

    def positives(self, sample: Sample, epoch: int, index: int) -> list[str | None]:
        """Returns the further positives of the first epoch."""
        place = index, sample
        if place not in self._positives:
            self._positives[place] = super().positives(sample, 0, index)
        return self._positives[place]

    def pairs(self, sample: Sample, epoch: int, index: int) -> list[UnitAndFoil | None]:
        """Returns the units and foils of the first epoch."""
        place = index, sample
        if place not in self._pairs:
            self._pairs[place] = super().pairs(sample, 0, index)
        return self._pairs[place]

    def all_of(self, sample: Sample, index: int) -> list[str]:
        """Returns every text that comes with the sample: caption and all beside it."""
        beside = [
            *self.negatives(sample, 0, index),
            *self.positives(sample, 0, index),
            *(text for pair in self.pairs(sample, 0, index) if pair for text in pair),
        ]
        return [sample.caption, *(text for text in beside if text is not None)]


def _text(made: object, method: str, caption: str) -> str | None:
    """Returns what a generator made of a caption.

    Raises:
        ZooError: It is neither a text nor None.
    """
    if made is None or isinstance(made, str):
        return made
    raise ZooError(
        f"{method} returned a {type(made).__name__} for the caption {caption!r}: "
        "return a text, or None where there is none"
    )
