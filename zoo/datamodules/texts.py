"""The texts that a caption has in a batch: negatives, positives, units and foils."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

import pyarrow as pa

from zoo.errors import ZooError
from zoo.negatives.base import NegativeGenerator
from zoo.positives.base import PositiveGenerator
from zoo.sources.sample import Sample, usable_negatives
from zoo.sources.seeds import seed_of
from zoo.sources.source import Source
from zoo.support.text_index import TextIndex, build_text_index
from zoo.units.record import UnitRecord
from zoo.units.sampler import UnitAndFoil, UnitSampler

SOURCE_NEGATIVES = "source"


@dataclass(frozen=True)
class CaptionTexts:
    """Generates the texts of a caption, as a function of (seed, epoch, sample).

    Args:
        seed: Seed of all draws.
        generators: Generators of sentence negatives, one column each.
        use_source_negatives: Whether one of the sample's own negatives is drawn, as the first
            column.
        units: Draws units and foils; None for no units.
        records: Records of units by caption id.
        positive_generators: Generators of further positives, one column each.
        captions_of_image: The captions of each image by its id, if there are generators of
            positives or captions.
        caption_generator: Draws the caption of a row; None for the sample's own.
    """

    seed: int = 0
    generators: Sequence[NegativeGenerator] = ()
    use_source_negatives: bool = False
    units: UnitSampler | None = None
    records: Mapping[str, UnitRecord] = field(default_factory=dict)
    positive_generators: Sequence[PositiveGenerator] = ()
    captions_of_image: Mapping[str, Sequence[str]] = field(default_factory=dict)
    caption_generator: PositiveGenerator | None = None

    @property
    def negative_names(self) -> tuple[str, ...]:
        """The names of the sources of negatives, one per column."""
        return (SOURCE_NEGATIVES,) * self.use_source_negatives + tuple(
            g.name for g in self.generators
        )

    @property
    def n_units(self) -> int:
        """The number of units per row."""
        return 0 if self.units is None else self.units.n_units

    def draw_caption(self, sample: Sample, epoch: int, index: int) -> Sample:
        """Returns the sample with the caption of its row, its own if none can be drawn."""
        if self.caption_generator is None:
            return sample
        draws = self._random(epoch, index, "drawn_caption")
        caption = self._positive(self.caption_generator, sample, draws)
        return sample if caption is None else replace(sample, caption=caption)

    def negatives(self, sample: Sample, epoch: int, index: int) -> list[str | None]:
        """Returns one negative per column, None if there is none.

        Args:
            sample: The sample, with the caption of its row.
            epoch: The epoch.
            index: The position of the sample.
        """
        texts: list[str | None] = []
        if self.use_source_negatives:
            source_negatives = usable_negatives(sample)
            texts.append(
                self._random(epoch, index, SOURCE_NEGATIVES).choice(source_negatives)
                if source_negatives
                else None
            )
        record = self.records.get(sample.caption_id)
        if record is not None and self.caption_generator and record.caption != sample.caption:
            record = None  # its units are those of the whole caption
        for k, generator in enumerate(self.generators):
            draws = self._random(epoch, index, f"negative/{k}")
            negative = generator.negative(sample.caption, draws, record)
            texts.append(
                _check_text(negative, f"{type(generator).__name__}.negative", sample.caption)
            )
        return texts

    def positives(self, sample: Sample, epoch: int, index: int) -> list[str | None]:
        """Returns one further positive per generator, None if there is none."""
        texts: list[str | None] = []
        for k, generator in enumerate(self.positive_generators):
            draws = self._random(epoch, index, f"positive/{k}")
            texts.append(self._positive(generator, sample, draws))
        return texts

    def _positive(self, generator: PositiveGenerator, sample: Sample, draws: Random) -> str | None:
        captions = self.captions_of_image.get(sample.image_id, (sample.caption,))
        positive = generator.positive(sample.caption, captions, draws)
        return _check_text(positive, f"{type(generator).__name__}.positive", sample.caption)

    def pairs(self, sample: Sample, epoch: int, index: int) -> list[UnitAndFoil | None]:
        """Returns n_units draws of (unit, foil or None), None for a caption without units."""
        record = self.records.get(sample.caption_id)
        if self.units is None or record is None:
            return [None] * self.n_units
        return self.units.draw_units(record, self._random(epoch, index, "units"))

    def _random(self, epoch: int, index: int, purpose: str) -> Random:
        return Random(seed_of(self.seed, epoch, index, purpose))


@dataclass(frozen=True)
class FixedCaptionTexts(CaptionTexts):
    """The texts of a caption, drawn once: every epoch has those of the first."""

    _negatives: dict[tuple[int, Sample], list[str | None]] = field(default_factory=dict)
    _positives: dict[tuple[int, Sample], list[str | None]] = field(default_factory=dict)
    _pairs: dict[tuple[int, Sample], list[UnitAndFoil | None]] = field(default_factory=dict)

    def draw_caption(self, sample: Sample, epoch: int, index: int) -> Sample:
        """Returns the sample with the caption of the first epoch."""
        return super().draw_caption(sample, 0, index)

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

    def all_texts(self, sample: Sample, index: int) -> list[str]:
        """Returns all texts of a sample, including its caption."""
        sample = self.draw_caption(sample, 0, index)
        texts = [
            *self.negatives(sample, 0, index),
            *self.positives(sample, 0, index),
            *(text for pair in self.pairs(sample, 0, index) if pair for text in pair),
        ]
        return [sample.caption, *(text for text in texts if text is not None)]


class ImageCaptions(Mapping[str, Sequence[str]]):
    """The captions of each image by its id, in the order of the samples.

    Args:
        sources: The captions in use.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._ids = [source.image_ids for source in sources]
        indexes = (pa.Table.from_batches([build_text_index(ids.to_pylist())]) for ids in self._ids)
        self._found = [
            (source, source.group_by_image(), TextIndex(pa.chunked_array([ids]), index))
            for source, ids, index in zip(sources, self._ids, indexes, strict=True)
        ]

    def __getitem__(self, image_id: str) -> list[str]:
        captions = [
            str(source.samples.captions.column("caption")[position].as_py())
            for source, groups, keys in self._found
            for row in keys.rows(image_id)
            for position in groups[row]
        ]
        if not captions:
            raise KeyError(image_id)
        return captions

    def __iter__(self) -> Iterator[str]:
        return iter(pa.chunked_array(self._ids).unique().to_pylist())

    def __len__(self) -> int:
        return len(pa.chunked_array(self._ids).unique())


def _check_text(text: object, method: str, caption: str) -> str | None:
    """Checks the text that a generator returned for a caption.

    Raises:
        ZooError: It is neither a text nor None.
    """
    if text is None or isinstance(text, str):
        return text
    raise ZooError(
        f"{method} returned a {type(text).__name__} for the caption {caption!r}: "
        "return a text, or None if there is none"
    )
