"""Checks of captions before the first batch, and notes on them for the log.

A check raises ZooError if the captions do not have what the settings need.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from zoo.backbones.tokenizer import Tokenize
from zoo.backbones.truncation import find_truncated
from zoo.datamodules.texts import CaptionTexts
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.negative_images import FoundImages
from zoo.sources.readers.base import Reader
from zoo.sources.readers.concatenation import Concatenation
from zoo.sources.samples import CaptionColumn
from zoo.sources.source import Source

TRUNCATION_SAMPLE = 10_000


def refuse_with_joined(**given: object) -> None:
    """Rejects settings that do not work with rows of two joined images.

    Args:
        given: Arguments of the data by name; None and False mean that they are not set.

    Raises:
        ZooError: One of them is set.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            raise ZooError(
                f"data.joined makes rows of two images, and data.{name} only works with one: set "
                f"one of the two to {'null' if value is not True else 'false'}"
            )


def select_weighted_readers(
    train: Reader | list[Reader], weights: list[float] | None
) -> tuple[Reader, tuple[float, ...]]:
    """Returns the reader of all training captions, and the weights of those that it concatenates.

    Readers of weight 0 are left out. There are no weights if one reader is left.

    Args:
        train: A reader, or several.
        weights: The weight of each reader, from 0; None for no weights.

    Raises:
        ZooError: The weights are not those of several readers, one is below 0, or all are 0.
    """
    if isinstance(train, Reader):
        if weights is not None:
            raise ZooError(
                "data.train_weights needs several readers, and data.train is one: give a list of "
                "readers, or remove the weights"
            )
        return train, ()
    if weights is None:
        return Concatenation(train), ()
    if len(weights) != len(train):
        raise ZooError(
            f"data.train_weights lists {len(weights)}, but data.train has {len(train)} readers: "
            "give one weight per reader"
        )
    wrong = next((weight for weight in weights if not 0 <= weight < math.inf), None)
    if wrong is not None:
        raise ZooError(f"data.train_weights has {wrong:g}: give numbers from 0 up")
    weighted = [
        (reader, weight) for reader, weight in zip(train, weights, strict=True) if weight > 0
    ]
    if not weighted:
        raise ZooError("all data.train_weights are 0: give at least one reader a weight above 0")
    readers, kept_weights = zip(*weighted, strict=True)
    if len(readers) == 1:
        return readers[0], ()
    return Concatenation(list(readers)), kept_weights


def check_every_reader(train: Source) -> None:
    """Checks that every concatenated reader has training rows.

    Raises:
        ZooError: All images of one are missing, or held out for validation.
    """
    for part, reader in zip(train.split_by_reader(), train.reader.parts, strict=True):
        if not len(part.rows):
            raise ZooError(
                f"no training captions of {type(reader).__name__} "
                f"({', '.join(map(str, reader.files))}) are left, since all of its images are "
                "missing or held out for validation: remove it from data.train"
            )


def check_image_count(train: Source, expected: int | None) -> None:
    """Checks that the number of training images is the expected one, if any.

    Raises:
        ZooError: It is not.
    """
    n = len(train.image_ids)
    if expected is not None and n != expected:
        raise ZooError(
            f"there are {n:,} training images, and data.expected_images is {expected:,}: if "
            "captions other than the recipe's are intended, set --data.expected_images null (or "
            "`expected_images: null` in your YAML)"
        )


def note_large_batch(batch_size: int, rows: int, captions_per_image: str) -> Iterator[str]:
    """Yields a note if the batch of all devices is larger than an epoch.

    Args:
        batch_size: Rows of the batch.
        rows: Rows of an epoch.
        captions_per_image: Whether a row is a caption (`all`) or an image (`one`).
    """
    if batch_size > rows:
        things = "captions" if captions_per_image == "all" else "images"
        yield (
            f"data.batch_size is {batch_size:,}, and there are only {rows:,} training {things}: "
            f"every epoch is one step with all of them, and {batch_size - rows:,} rows of its "
            "batch are empty; a smaller --batch_size gives more steps per epoch"
        )


def check_companions(train: Source) -> Iterator[str]:
    """Yields a note if some training captions have no hard image.

    Raises:
        ZooError: No caption has one.
    """
    eligible = np.zeros(len(train.samples), bool)
    eligible[train.kept] = True
    companion_lists = train.without_companions().column("companions").combine_chunks()
    parents, companions = (
        companion_lists.value_parent_indices().to_numpy(),
        companion_lists.flatten().to_numpy(),
    )
    with_one = len(np.unique(parents[eligible[companions]]))
    if not with_one:
        raise ZooError(
            f"data.hard_images needs companions, and {_names(train.reader)} has none: "
            "read NegCLIP's table, or set hard_images: false"
        )
    yield from _note_coverage(with_one, len(train.rows), "a hard image")


def check_texts(train: Source, texts: CaptionTexts) -> Iterator[str]:
    """Yields notes if some training captions have no source negative, or no units.

    Args:
        train: The training captions.
        texts: The generator of negatives and units.

    Raises:
        ZooError: No caption has one, or a generator has no material to work with.
    """
    captions = train.captions
    for generator in texts.generators:
        generator.check(captions)
    of_captions = () if texts.caption_generator is None else (texts.caption_generator,)
    for positive in (*texts.positive_generators, *of_captions):
        positive.check(captions, texts.captions_of_image)
    if texts.use_source_negatives:
        with_one = int(train.column("usable_negative").to_numpy().sum())
        if not with_one:
            hints = dict.fromkeys(filter(None, (p.negatives_hint for p in train.reader.parts)))
            raise ZooError(
                f"data.source_negatives needs negatives, and {_names(train.reader)} has none: "
                f"{''.join(f'{hint}, or ' for hint in hints)}set generators in data.negatives"
            )
        yield from _note_coverage(with_one, len(captions), "a source negative")
    if texts.units is not None:
        with_units = texts.units.records().count_covered_captions(train.column("caption_id"))
        if not with_units:
            raise ZooError(
                f"{texts.units.file} has no units of the training captions: "
                "extract units from the training captions"
            )
        yield from _note_coverage(with_units, len(captions), "units")


def check_negative_images(train: Source, images: FoundImages, file: Path) -> Iterator[str]:
    """Yields a note if some training captions have no negative image.

    Args:
        train: The training captions.
        images: The negative images that exist.
        file: The file that lists them.

    Raises:
        ZooError: No caption has one.
    """
    captions = train.without_companions().captions
    with_one = sum(images.image_for(caption) is not None for caption in captions)
    if not with_one:
        raise ZooError(
            f"{file} has no negative images of the training captions: list the training captions"
        )
    yield from _note_coverage(with_one, len(captions), "a negative image")


@dataclass(frozen=True)
class TruncationCount:
    """Captions over the context length, which are truncated.

    Attributes:
        checked: How many captions were checked.
        count: How many of these are too long.
        first: The origin of the first of them, None if there is none.
    """

    checked: int
    count: int
    first: str | None

    def notes(self) -> Iterator[str]:
        """Yields a note if there are any."""
        if self.count:
            yield (
                f"{self.count:,} of {self.checked:,} checked captions are over the context length "
                f"and truncated, the first is {self.first}"
            )


def count_truncated_captions(
    sources: Sequence[Source], tokenizer: Tokenize, truncation: bool
) -> TruncationCount:
    """Counts captions over the context length.

    Args:
        sources: The captions.
        tokenizer: The backbone's tokenizer.
        truncation: Whether such captions are truncated. Otherwise they are an error, and all
            captions are checked instead of a sample.

    Raises:
        ZooError: There are such captions, and they are an error.
    """
    n = sum(len(source.kept) for source in sources)
    step = -(-n // TRUNCATION_SAMPLE) if truncation else 1
    checked = n_truncated = 0
    first_origin, passed = None, 0
    for source in sources:
        rows = source.kept[-passed % step :: step]
        passed += len(source.kept)
        checked += len(rows)
        truncated_rows = find_truncated(CaptionColumn(source.samples, rows), tokenizer)
        n_truncated += len(truncated_rows)
        if truncated_rows and first_origin is None:
            first_origin = source.samples[int(rows[truncated_rows[0]])].origin
    if n_truncated and not truncation:
        raise ZooError(
            f"{first_origin} has a caption over the context length, and so have "
            f"{n_truncated - 1:,} others: shorten them, or set data.truncation: true"
        )
    return TruncationCount(checked, n_truncated, first_origin)


def notes_on_images(
    train: Source, val: Source | None, negative: FoundImages, finder: ImageFinder
) -> Iterator[str]:
    """Yields notes on images with ignored metadata, shared by splits, missing or found by name.

    Args:
        train: The training captions.
        val: The validation captions, if any.
        negative: The negative images.
        finder: Finds and opens images.
    """
    caption_images = [
        image for source in (train, val) if source is not None for image in source.images
    ]
    images = dict.fromkeys([*caption_images, *negative.by_caption.values()])
    metadata = finder.sample_orientation_and_alpha(images)
    yield from metadata.notes(finder.decoding, "data.upright", "data.background").values()
    if val is not None:
        held_out = val.image_ids
        shared = int(np.count_nonzero(pc.is_in(held_out, train.image_ids)))
        if shared:
            yield f"{shared:,} of {len(held_out):,} validation images are also training images"
    for name, image_source in (
        ("images of the training captions", train),
        ("images of the validation captions", val),
        ("negative images", negative),
    ):
        if image_source is not None and image_source.by_name:
            path, published = next(iter(image_source.by_name.items()))
            yield (
                f"{len(image_source.by_name):,} {name} are not at their paths and were matched by "
                f"name to published images ({path.key} for {published})"
            )
        if image_source is not None and image_source.missing:
            yield f"{image_source.missing:,} {name} are missing and left out"


def _names(reader: Reader) -> str:
    """Returns the class of a reader, or the classes of those that it concatenates."""
    return " or ".join(dict.fromkeys(type(part).__name__ for part in reader.parts))


def _note_coverage(n: int, total: int, feature: str) -> Iterator[str]:
    if n < total:
        yield f"{n:,} of {total:,} training captions have {feature}"
