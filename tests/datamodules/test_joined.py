"""Rows of two images in one, with both of their captions."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.datamodules.small import Appended
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.dataset import BatchRow
from zoo.datamodules.joined import (
    SIDE_BY_SIDE,
    STACKED,
    JoinedDataset,
    joined_images,
    joined_texts,
)
from zoo.datamodules.texts import CaptionTexts, ImageCaptions
from zoo.errors import ZooError
from zoo.positives.other_caption import OtherCaption
from zoo.sources.images import BrokenImage
from zoo.sources.readers.csv_table import CsvTable
from zoo.sources.sample import ImageRef, Sample
from zoo.sources.samples import Samples
from zoo.sources.source import Source
from zoo.units.sampler import UnitSampler

SAMPLES = [
    Sample(ImageRef("file", f"{i}.png"), f"{2 * i + k} cats.", str(i), f"{i}/{k}")
    for i in range(4)
    for k in (0, 1)
]
SOURCE = Source(CsvTable(Path("x")), Samples.from_samples(SAMPLES), np.arange(len(SAMPLES)))


class Shades:
    """Each image is of one shade, that of its number."""

    blank = torch.zeros(3, 4, 4)

    def __call__(self, image: ImageRef, seed: str) -> torch.Tensor:
        return torch.full((3, 4, 4), float(image.key.removesuffix(".png")))


class OneBroken(Shades):
    """The last image cannot be decoded."""

    def __call__(self, image: ImageRef, seed: str) -> torch.Tensor:
        if image.key == "3.png":
            raise BrokenImage("3.png")
        return super().__call__(image, seed)


def rows(epoch: int = 0, images: Shades | None = None, tolerant: bool = False) -> list[BatchRow]:
    texts = CaptionTexts(
        generators=[Appended()],
        positive_generators=[OtherCaption()],
        captions_of_image=ImageCaptions([SOURCE]),
    )
    data = JoinedDataset(SAMPLES, [(i,) for i in range(len(SAMPLES))], texts, images or Shades())
    data.tolerate_broken = tolerant
    return [row for i in range(len(SAMPLES)) for row in data[epoch, i]]


def number(text: str) -> tuple[int, ...]:
    return tuple(int(word) for word in text.replace(".", "").split() if word.isdigit())


def test_a_row_has_both_images_both_captions_and_the_captions_turned_round() -> None:
    for i, row in enumerate(rows()):
        assert row.caption is not None
        first, second = number(row.caption)
        assert first == i
        assert row.caption == f"{first} cats. {second} cats."
        turned, other = row.positives
        assert turned == f"{second} cats. {first} cats."
        assert other is not None
        assert {n // 2 for n in number(other)} == {first // 2, second // 2}
        assert set(row.image.unique().tolist()) == {float(first // 2), float(second // 2)}
        negative = row.negatives[0]
        assert negative is None if first % 2 else negative.startswith(f"{row.caption} not")


def test_partners_are_drawn_anew_in_every_epoch_and_the_same_for_an_epoch() -> None:
    first, again, next_epoch = ([row.caption for row in rows(epoch)] for epoch in (0, 0, 1))
    assert first == again
    assert first != next_epoch


def test_a_partner_shows_another_image_where_there_is_one() -> None:
    for epoch in range(10):
        for row in rows(epoch):
            first, second = number(row.caption or "")
            assert first // 2 != second // 2
    alone = JoinedDataset(SAMPLES[:2], [(0,), (1,)], CaptionTexts(), Shades())
    assert {row.image_id for i in (0, 1) for row in alone[0, i]} == {"0 0"}


def test_a_row_whose_partner_is_broken_names_the_partner() -> None:
    empty = [
        row
        for epoch in range(3)
        for row in rows(epoch, OneBroken(), tolerant=True)
        if row.caption is None
    ]
    assert {row.sample // 2 for row in empty} > {3}  # others have drawn it
    assert {str(row.broken) for row in empty} == {"file:3.png"}


@pytest.mark.parametrize("axis", [SIDE_BY_SIDE, STACKED])
def test_two_images_are_squeezed_into_one_of_their_size(axis: int) -> None:
    black, white = torch.zeros(3, 5, 5), torch.ones(3, 5, 5)
    joined = joined_images([black, white], axis)
    assert joined.shape == (3, 5, 5)
    along = joined.mean(dim=(0, 3 - axis))
    torch.testing.assert_close(along, torch.tensor([0.0, 0.0, 1.0, 1.0, 1.0]))


def test_captions_become_sentences_whatever_they_end_in() -> None:
    assert joined_texts("a cat", " two dogs. ") == "a cat. two dogs."


def test_what_rows_of_two_images_cannot_have_is_refused() -> None:
    with pytest.raises(ZooError, match=r"rows of two images, and data\.hard_images .* to false"):
        CaptionDataModule(CsvTable("captions.tsv"), [], joined=True, hard_images=True)
    with pytest.raises(
        ZooError, match=r"data\.units only works with one: set one of the two to null"
    ):
        CaptionDataModule(CsvTable("c.tsv"), [], joined=True, units=UnitSampler("units.jsonl"))
