"""Checks: what captions have to hold before the first batch, and notes on what they hold.

A check raises ZooError where they do not hold what is asked. A note is a sentence for the log.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from zoo.backbones.overlong import overlong
from zoo.backbones.tokenizer import Tokenize
from zoo.datamodules.texts import CaptionTexts
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.negative_images import FoundImages
from zoo.sources.samples import CaptionColumn
from zoo.sources.source import Source

OVERLONG_SAMPLE = 10_000


def refuse_beside_joined(**given: object) -> None:
    """Refuses what rows of two images cannot have.

    Args:
        given: Arguments of the data by name; None and False are not given.

    Raises:
        ZooError: One is given.
    """
    for name, value in given.items():
        if value is not None and value is not False:
            raise ZooError(
                f"data.joined makes a row of two images, and data.{name} is of one: set one of the "
                f"two to {'null' if value is not True else 'false'}"
            )


def check_count(train: Source, expected: int | None) -> None:
    """Holds the number of training images to the one that is expected, if any.

    Raises:
        ZooError: It is another.
    """
    n = len(train.image_ids)
    if expected is not None and n != expected:
        raise ZooError(
            f"there are {n:,} training images, and data.expect_n says {expected:,}: "
            "check the source, or change expect_n"
        )


def note_large_batch(batch_size: int, rows: int, captions_per_image: str) -> Iterator[str]:
    """Yields a note where the batch of all devices is larger than an epoch.

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
            "batch stay empty"
        )


def check_companions(train: Source) -> Iterator[str]:
    """Yields a note where some training captions have no hard image.

    Raises:
        ZooError: None has one.
    """
    eligible = np.zeros(len(train.samples), bool)
    eligible[train.kept] = True
    named = train.without_companions().column("companions").combine_chunks()
    of, companions = named.value_parent_indices().to_numpy(), named.flatten().to_numpy()
    with_one = len(np.unique(of[eligible[companions]]))
    if not with_one:
        raise ZooError(
            f"data.hard_images wants companions, and {type(train.reader).__name__} gives none: "
            "read NegCLIP's table, or set hard_images: false"
        )
    yield from _share(with_one, len(train.rows), "a hard image")


def check_texts(train: Source, texts: CaptionTexts) -> Iterator[str]:
    """Yields notes where some training captions have no negative of their own, or no units.

    Args:
        train: The training captions.
        texts: The maker of negatives and units.

    Raises:
        ZooError: None has what is asked for, or a generator has nothing to work with.
    """
    captions = train.captions
    for generator in texts.generators:
        generator.check(captions)
    for positive in texts.positive_generators:
        positive.check(captions, texts.of_image)
    if texts.from_source:
        with_one = int(train.column("usable_negative").to_numpy().sum())
        if not with_one:
            raise ZooError(
                f"data.source_negatives wants negatives, and {type(train.reader).__name__} gives "
                "none: name generators in data.negatives instead"
            )
        yield from _share(with_one, len(captions), "a negative of their own")
    if texts.units is not None:
        with_units = texts.units.records().n_of(train.column("caption_id"))
        if not with_units:
            raise ZooError(
                f"{texts.units.file} has units for no training caption: "
                "extract units from the captions that are trained on"
            )
        yield from _share(with_units, len(captions), "units")


def check_negative_images(train: Source, images: FoundImages, file: Path) -> Iterator[str]:
    """Yields a note where some training captions have no negative image.

    Args:
        train: The training captions.
        images: The negative images that are there.
        file: The file that names them.

    Raises:
        ZooError: No caption has one.
    """
    captions = train.without_companions().captions
    with_one = sum(images.image_for(caption) is not None for caption in captions)
    if not with_one:
        raise ZooError(
            f"{file} has a negative image for no training caption: name the captions that are "
            "trained on"
        )
    yield from _share(with_one, len(captions), "a negative image")


@dataclass(frozen=True)
class Overlong:
    """Captions over the context length, which lose their tails.

    Attributes:
        checked: How many captions were looked at.
        cut: How many of these are over it.
        first: Where the first of them stands, None where there is none.
    """

    checked: int
    cut: int
    first: str | None

    def notes(self) -> Iterator[str]:
        """Yields a note where there are any."""
        if self.cut:
            yield (
                f"{self.cut:,} of {self.checked:,} captions looked at are over the context length "
                f"and cut, the first is {self.first}"
            )


def check_context(sources: Sequence[Source], tokenizer: Tokenize, refused: bool) -> Overlong:
    """Looks for captions over the context length.

    Args:
        sources: The captions.
        tokenizer: The backbone's.
        refused: Whether there may be none, so that all captions are looked at and not a sample.

    Raises:
        ZooError: There are some, and there may be none.
    """
    n = sum(len(source.kept) for source in sources)
    step = 1 if refused else -(-n // OVERLONG_SAMPLE)
    looked_at = found = 0
    first, passed = None, 0
    for source in sources:
        rows = source.kept[-passed % step :: step]
        passed += len(source.kept)
        looked_at += len(rows)
        cut = overlong(CaptionColumn(source.samples, rows), tokenizer)
        found += len(cut)
        if cut and first is None:
            first = source.samples[int(rows[cut[0]])].origin
    if found and refused:
        raise ZooError(
            f"{first} has a caption over the context length, and so have "
            f"{found - 1:,} others: shorten them, or set data.overlong: cut"
        )
    return Overlong(looked_at, found, first)


def notes_on_images(
    train: Source, val: Source | None, negative: FoundImages, finder: ImageFinder
) -> Iterator[str]:
    """Yields notes on images that carry what is not honoured, are shared, or are not as written.

    Args:
        train: The training captions.
        val: The validation captions, if any.
        negative: The negative images.
        finder: Finds and opens images.
    """
    of_captions = [
        image for source in (train, val) if source is not None for image in source.images
    ]
    images = dict.fromkeys([*of_captions, *negative.by_caption.values()])
    carried = finder.count_orientation_and_alpha(images)
    yield from carried.notes(finder.decoding, "data.upright", "data.background").values()
    if val is not None:
        held_out = val.image_ids
        shared = int(np.count_nonzero(pc.is_in(held_out, train.image_ids)))
        if shared:
            yield f"{shared:,} of {len(held_out):,} validation images are trained on as well"
    for name, found in (
        ("images of the training captions", train),
        ("images of the validation captions", val),
        ("negative images", negative),
    ):
        if found is not None and found.by_name:
            path, known = next(iter(found.by_name.items()))
            yield (
                f"{len(found.by_name):,} {name} are not there as written and taken by their names "
                f"for published ones ({path.key} for {known})"
            )
        if found is not None and found.missing:
            yield f"{found.missing:,} {name} are missing and left out"


def _share(n: int, of: int, what: str) -> Iterator[str]:
    if n < of:
        yield f"{n:,} of {of:,} training captions have {what}"
