"""Data set of rows with image and texts, each a function of (seed, epoch, sample) only."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset
from torchvision.transforms.functional import pil_to_tensor

from zoo.backbones.preparation import Decoder
from zoo.batch import MISSING, Batch
from zoo.datamodules.sampler import SamplePosition
from zoo.datamodules.texts import CaptionTexts
from zoo.pixels.cache import CachedPixels
from zoo.pixels.decoding import decode_image
from zoo.sources.images import BrokenImage, ImageFinder
from zoo.sources.negative_images import FoundImages
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.samples import Rows
from zoo.sources.seeds import seed_of, stable_hash
from zoo.units.sampler import UnitAndFoil

log = logging.getLogger(__name__)

Transform = Callable[[Any], Tensor]


@dataclass(frozen=True)
class BatchRow:
    """One row of a batch before its texts are tokenized.

    A row with a sample and no caption has a broken image.

    Attributes:
        image: The image from `RowImages`.
        caption: The caption, None in a filling row.
        negatives: K sentence negatives, None for missing ones.
        positives: P further positives, None for missing ones.
        pairs: N pairs of a unit and its foil, None for missing ones.
        image_id: Id of the image.
        sample: Position in the source, -1 in a filling row.
        negative_image: The negative image from `RowImages`, None if there is none.
        broken: The image that could not be decoded, None if there is none.
        single: Whether the row is a single image, in data that joins images in other steps.
    """

    image: Tensor
    caption: str | None
    negatives: Sequence[str | None]
    positives: Sequence[str | None]
    pairs: Sequence[UnitAndFoil | None]
    image_id: str
    sample: int
    negative_image: Tensor | None = None
    broken: ImageRef | None = None
    single: bool = False


class RowImages(Protocol):
    """Returns images by reference."""

    @property
    def blank(self) -> Tensor:
        """The image of a filling row, `[3, H, W]` or the shape of all images."""

    def __call__(self, image: ImageRef, seed: str) -> Tensor:
        """Returns the image; its random augmentation is a function of the seed.

        Raises:
            BrokenImage: The image cannot be decoded.
        """
        ...


@dataclass(frozen=True)
class ImageFiles:
    """Images, decoded and transformed to `[3, H, W]`.

    Args:
        finder: Finds and opens images.
        transform: From a decoded image to a tensor; its only randomness is torch's global
            generator.
        decoder: The decoder of images.
        cached_pixels: Cached pixels, which are read instead of files.
    """

    finder: ImageFinder
    transform: Transform
    decoder: Decoder = "pil"
    cached_pixels: CachedPixels | None = None

    @cached_property
    def blank(self) -> Tensor:
        """A black image, transformed like the others."""
        black = Image.new("RGB", (64, 64))
        return torch.zeros_like(
            self._transform(black if self.decoder == "pil" else pil_to_tensor(black), "")
        )

    def __call__(self, image: ImageRef, seed: str) -> Tensor:
        """Returns the image, decoded and transformed.

        Raises:
            BrokenImage: The image cannot be decoded.
            ZooError: The image is not found.
        """
        picture = (
            decode_image(self.finder, image, self.decoder)
            if self.cached_pixels is None
            else self.cached_pixels[image]
        )
        return self._transform(picture, seed)

    def _transform(self, image: Any, seed: str) -> Tensor:
        with torch.random.fork_rng(devices=[]):
            # only the CPU's generator: torch.manual_seed would also reseed those of devices
            torch.default_generator.manual_seed(stable_hash(seed))
            return self.transform(image)


class CaptionDataset(Dataset[list[BatchRow]]):
    """Rows by (epoch, entry): the primary row and, with `companions`, that of a hard image.

    Args:
        samples: All samples of the source.
        entries: Groups of positions in `samples`. Each epoch draws one position of every group. A
            group of one is a caption; with one caption per image, all captions of an image are a
            group.
        texts: Generates negatives, units and foils.
        images: Returns images.
        seed: Seed of all draws.
        companions: Positions in `samples` that may be added as hard images.
        tolerate_broken: Whether an image that cannot be decoded gives a filling row. Otherwise it
            raises ZooError.
        negative_images: Negative images by caption.
    """

    def __init__(
        self,
        samples: Sequence[Sample],
        entries: Sequence[Sequence[int]],
        texts: CaptionTexts,
        images: RowImages,
        seed: int = 0,
        companions: Sequence[int] | Rows = (),
        tolerate_broken: bool = False,
        negative_images: FoundImages = FoundImages(),  # noqa: B008  a frozen dataclass
    ) -> None:
        self.negative_images = negative_images
        self.samples, self.entries, self.texts, self.images = samples, entries, texts, images
        self.seed, self.tolerate_broken = seed, tolerate_broken
        self.companions: NDArray[np.bool_] | None = None
        if len(companions):
            self.companions = np.zeros(len(samples), bool)
            self.companions[np.asarray(companions)] = True
        self.blank = images.blank

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, place: SamplePosition) -> list[BatchRow]:
        epoch, index = self._epoch_and_index(place)
        if self.companions is None:
            return [self._row(epoch, index)]
        candidates = () if index == MISSING else self.samples[index].companions
        hard = tuple(c for c in candidates if self.companions[c])
        return [
            self._row(epoch, index),
            self._row(epoch, self._draw(hard, epoch, index, "companion") if hard else MISSING),
        ]

    def _epoch_and_index(self, place: SamplePosition) -> tuple[int, int]:
        """Returns the epoch of a place and its position in the samples."""
        epoch, entry = place[:2]
        if entry == MISSING:
            return epoch, MISSING
        return epoch, self._draw(self.entries[entry], epoch, entry, "caption")

    def _draw(self, group: Sequence[int], epoch: int, key: int, purpose: str) -> int:
        return int(
            group[0]
            if len(group) == 1
            else Random(seed_of(self.seed, epoch, key, purpose)).choice(group)
        )

    def _row(self, epoch: int, index: int) -> BatchRow:
        if index == MISSING:
            return self._filling_row(MISSING)
        sample = self.samples[index]
        current, negative_ref = sample.image, self.negative_images.image_for(sample.caption)
        negative = None
        try:
            image = self.images(current, seed_of(self.seed, epoch, index, "augmentation"))
            if negative_ref is not None:
                current = negative_ref
                negative = self.images(
                    negative_ref, seed_of(self.seed, epoch, index, "negative_image")
                )
        except BrokenImage as error:
            if not self.tolerate_broken:
                raise BrokenImage(
                    f"{error}, or set data.tolerate_broken: true to leave its rows empty"
                ) from error
            return self._filling_row(index, current)
        sample = self.texts.draw_caption(sample, epoch, index)
        return BatchRow(
            image,
            sample.caption,
            self.texts.negatives(sample, epoch, index),
            self.texts.positives(sample, epoch, index),
            self.texts.pairs(sample, epoch, index),
            sample.image_id,
            index,
            negative,
        )

    def _filling_row(self, index: int, broken: ImageRef | None = None) -> BatchRow:
        return BatchRow(
            self.blank,
            None,
            [None] * len(self.texts.negative_names),
            [None] * len(self.texts.positive_generators),
            [None] * self.texts.n_units,
            "",
            index,
            broken=broken,
        )


class BrokenImageLog:
    """Images whose rows were left empty on this device; a warning is logged once per image.

    Attributes:
        names: The references of the images.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()

    def record(self, batch: Batch) -> None:
        """Records the broken images of a batch.

        Args:
            batch: A loaded batch.
        """
        for image in batch.broken:
            if image not in self.names:
                self.names.add(image)
                count = len(self.names)
                log.warning("image %s is broken: its rows are empty (%d so far)", image, count)
