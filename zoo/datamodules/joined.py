"""Joined pairs of images with both captions, as in CLIC."""

from dataclasses import replace
from functools import cached_property
from random import Random
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datamodules.dataset import BatchRow, CaptionDataset
from zoo.datamodules.sampler import SamplePosition
from zoo.sources.seeds import seed_of

SIDE_BY_SIDE, STACKED = 2, 1  # axes of an image [3, H, W]

T = TypeVar("T")


class JoinedDataset(CaptionDataset):
    """Rows in which the image of an entry and another image are resized into one image.

    The two images differ if the data has several. The caption consists of both captions. The first
    further positive has them in reverse order; those of the generators follow, for both captions in
    random order. Rows have no units and no negative images.
    """

    def single_row(self, place: SamplePosition) -> BatchRow:
        """Returns the row of an entry's own image and caption, without other texts."""
        row = super()._row(*self._epoch_and_index(place))
        return replace(
            row,
            negatives=[None] * len(row.negatives),
            positives=[None] * (1 + len(row.positives)),
            single=True,
        )

    def _row(self, epoch: int, index: int) -> BatchRow:
        row, draws = super()._row(epoch, index), Random(seed_of(self.seed, epoch, index, "joined"))
        partner = super()._row(epoch, self._partner(index, draws))
        if row.caption is None or partner.caption is None:
            filling = self._filling_row(index, row.broken or partner.broken)
            return replace(filling, positives=[None, *filling.positives])
        caption = joined_texts(row.caption, partner.caption)
        joined_positives = [
            None
            if text is None or partner_text is None
            else joined_texts(*_shuffle((text, partner_text), draws))
            for text, partner_text in zip(row.positives, partner.positives, strict=True)
        ]
        axis = draws.choice((SIDE_BY_SIDE, STACKED))
        return replace(
            row,
            image=joined_images(_shuffle((row.image, partner.image), draws), axis),
            caption=caption,
            negatives=self.texts.negatives(
                replace(self.samples[index], caption=caption, negatives=()), epoch, index
            ),
            positives=[joined_texts(partner.caption, row.caption), *joined_positives],
            pairs=[None] * self.texts.n_units,
            image_id=f"{row.image_id} {partner.image_id}",
            negative_image=None,
        )

    def _partner(self, index: int, draws: Random) -> int:
        """Returns a random sample with another image; any sample if there is only one image."""
        image = None if self._is_one_image else self.samples[index].image_id
        while True:
            candidate = draws.choice(self.entries[draws.randrange(len(self.entries))])
            if self.samples[candidate].image_id != image:
                return candidate

    @cached_property
    def _is_one_image(self) -> bool:
        images = (self.samples[i].image_id for entry in self.entries for i in entry)
        first_image = next(images)
        return all(image == first_image for image in images)


class AlternatingDataset(Dataset[list[BatchRow]]):
    """Alternates joined rows and single rows by step, starting with joined rows in each epoch.

    A row is a function of (seed, epoch, sample) and the number of its step.

    Args:
        joined: Builds the rows.
        batches_per_step: How many batches an optimizer step accumulates.
    """

    def __init__(self, joined: JoinedDataset, batches_per_step: int = 1) -> None:
        self.joined, self.batches_per_step = joined, batches_per_step

    def __len__(self) -> int:
        return len(self.joined)

    def __getitem__(self, place: SamplePosition) -> list[BatchRow]:
        step = place[2] // self.batches_per_step
        return [self.joined.single_row(place)] if step % 2 else self.joined[place]


def joined_texts(first: str, second: str) -> str:
    """Joins two captions as two sentences."""
    return " ".join(f"{text.strip().rstrip('.')}." for text in (first, second))


def joined_images(images: list[Tensor], axis: int) -> Tensor:
    """Resizes two images of the same size, `[3, H, W]`, into one image of that size.

    Args:
        images: The images in order.
        axis: The axis along which they are joined, SIDE_BY_SIDE or STACKED.
    """
    half = list(images[0].shape[1:])
    half[axis - 1] //= 2
    rest = list(images[0].shape[1:])
    rest[axis - 1] -= half[axis - 1]
    squeezed = [
        F.interpolate(image[None], size, mode="bicubic", antialias=True)[0]
        for image, size in zip(images, (half, rest), strict=True)
    ]
    return torch.cat(squeezed, dim=axis)


def _shuffle(pair: tuple[T, ...], draws: Random) -> list[T]:
    return draws.sample(pair, len(pair))
