"""PUG:SPARE (Koishigarina et al. 2025): two coloured animals before one of four landscapes."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msgspec import Struct

from zoo.scenes import blocks
from zoo.scenes.blocks import Binding, Caption
from zoo.sources.image_paths import OwnImages
from zoo.sources.readers.base import Reader
from zoo.sources.readers.tables import Table
from zoo.sources.sample import ImageRef, Sample
from zoo.support.schema import Text, validate_record

ADVICE = "download the file again"


class _PUGSpareRow(Struct):
    filename: Text
    world_name: Text
    character_name: Text
    character_texture: Text
    character2_name: Text
    character2_texture: Text


@dataclass(frozen=True)
class AnimalPair:
    """A row of the file.

    Attributes:
        place: 'FILE:LINE'.
        image_path: The image, as a path relative to the file's folder.
        caption: The two animals and their colours.
    """

    place: str
    image_path: str
    caption: Caption


@dataclass(frozen=True)
class Holdout:
    """Which captions of the file are for training, and which for evaluation.

    Attributes:
        attributes: The colours.
        objects: The animals.
        held_out: The bindings that are excluded from training.
        evaluation_only: The captions of seen bindings used for evaluation, in the form of
            `blocks.swap_group_key`.
    """

    attributes: tuple[str, ...]
    objects: tuple[str, ...]
    held_out: frozenset[Binding]
    evaluation_only: frozenset[tuple[Binding, ...]]

    def split_of(self, caption: Caption) -> str | None:
        """Returns `train`, `seen`, `partial` or `unseen`; None if a caption is in no split."""
        split = blocks.split_of_caption(caption, self.held_out)
        return (
            "train"
            if split == "seen" and blocks.swap_group_key(caption) not in self.evaluation_only
            else split
        )


def read_animal_pairs(file: Path) -> Iterator[AnimalPair]:
    """Reads the file.

    Args:
        file: PUG_SPARE.csv.

    Yields:
        Its rows with two animals that differ in kind and colour; others have no swap.

    Raises:
        ZooError: The file cannot be read, or a row is invalid.
    """
    for line, row in Table(file, ",").rows():
        place = f"{file}:{line}"
        fields = validate_record(row, _PUGSpareRow, place, ADVICE)
        first_animal = fields.character_texture, fields.character_name
        second_animal = fields.character2_texture, fields.character2_name
        if first_animal[0] != second_animal[0] and first_animal[1] != second_animal[1]:
            yield AnimalPair(
                place, f"{fields.world_name}/{fields.filename}", (first_animal, second_animal)
            )


def holdout(rows: list[AnimalPair], seed: int) -> Holdout:
    """Returns what is held out of training.

    Args:
        rows: All rows of the file.
        seed: The random seed.
    """
    bindings = {binding for row in rows for binding in row.caption}
    attributes, objects = (tuple(sorted({b[k] for b in bindings})) for k in (0, 1))
    if min(len(attributes), len(objects)) < blocks.BLOCK_SIDE:
        return Holdout(attributes, objects, frozenset(), frozenset())
    held_out = blocks.draw_block(attributes, objects, seed)
    evaluation_groups = blocks.draw_evaluation_groups(attributes, objects, held_out, seed)
    return Holdout(attributes, objects, held_out, evaluation_groups)


def format_caption(caption: Caption) -> str:
    """Returns a caption in LabCLIP's wording, such as `Red Elephant and Blue Zebra`."""
    return " and ".join(f"{color} {animal}" for color, animal in caption)


class PUGSpare(Reader):
    """PUG:SPARE's images of two animals; the negative is the caption with swapped colours.

    A binding is an animal and its colour. As in BindSplit (Peng et al., 2026), the nine bindings of
    3 random colours and 3 random animals are held out of training: in `train`, no caption and no
    negative contains one of them. The other splits differ in how many of a caption's two bindings
    occur in training: both (`seen`), one (`partial`) or none (`unseen`).

    Args:
        file: PUG_SPARE.csv, next to the folders of its images.
        split: 'train', 'seen', 'partial' or 'unseen', None for all.
        block_seed: The seed that selects the held-out bindings and the captions of `seen`.
    """

    def __init__(
        self,
        file: Path,
        split: Literal["train", "seen", "partial", "unseen"] | None = "train",
        block_seed: int = 0,
    ) -> None:
        self.file, self.split, self.block_seed = Path(file), split, block_seed

    @property
    def files(self) -> tuple[Path, ...]:
        """The table."""
        return (self.file,)

    def samples(self) -> list[Sample]:
        """Returns a sample for each row of the split."""
        rows = list(read_animal_pairs(self.file))
        held_out = holdout(rows, self.block_seed)
        samples, images = [], OwnImages(self.file.parent)
        for row in rows:
            split = held_out.split_of(row.caption)
            if self.split not in (None, split):
                continue
            image: ImageRef = images.ref(row.image_path)
            samples.append(
                Sample(
                    image,
                    format_caption(row.caption),
                    str(image),
                    row.place.rpartition(":")[2],
                    split,
                    (format_caption(blocks.swap_attributes(row.caption)),)
                    if split is not None
                    else (),
                    origin=row.place,
                )
            )
        return samples
