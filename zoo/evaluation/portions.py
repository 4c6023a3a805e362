"""Portions: what one step of an evaluation encodes, and the loaders that bring it.

Each distinct image and text comes once. Heads that read tokens get windows of cases instead, with
all that these need.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from zoo.backbones.backbone import Backbone
from zoo.backbones.overlong import overlong
from zoo.batch import Encoded, TextBank, TokenKey, concatenate, text_bank
from zoo.errors import ZooError
from zoo.results.plan import Plan, Question
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.distributed import Shard, rank, world_size
from zoo.support.worker import Loader

FILLING = -1

Transform = Callable[[Any], Tensor]
Tokenizer = Callable[[Sequence[str]], tuple[Tensor, Tensor, Tensor]]


def _no_rows() -> Tensor:
    return torch.zeros(0, dtype=torch.long)


@dataclass(frozen=True)
class Portion:
    """Images and texts to encode.

    Attributes:
        image_rows: Rows of the plan's images, `[n]`; FILLING where a rank has nothing to do.
        pixels: Images, `[n, 3, H, W]`.
        text_rows: Rows of the plan's texts, `[m]`.
        texts: Bank of their distinct token ids.
        bank_rows: Rows of the texts in the bank, `[m]`.
        questions: Questions that are scored with these items, for heads that read tokens.
        error: What is wrong with an image, in a sentence.
    """

    image_rows: Tensor = field(default_factory=_no_rows)
    pixels: Tensor | None = None
    text_rows: Tensor = field(default_factory=_no_rows)
    texts: TextBank | None = None
    bank_rows: Tensor = field(default_factory=_no_rows)
    questions: tuple[int, ...] = ()
    error: str | None = None

    def checked(self) -> "Portion":
        """Returns this portion.

        Raises:
            ZooError: An image of it is broken.
        """
        if self.error is not None:
            raise ZooError(self.error)
        return self

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "Portion":
        """Returns the portion on a device."""
        return self._map(lambda t: t.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "Portion":
        """Returns the portion in pinned memory."""
        return self._map(lambda t: t.pin_memory())

    def _map(self, f: Callable[[Tensor], Tensor]) -> "Portion":
        return replace(
            self,
            image_rows=f(self.image_rows),
            pixels=None if self.pixels is None else f(self.pixels),
            text_rows=f(self.text_rows),
            texts=None if self.texts is None else self.texts.map(f),
            bank_rows=f(self.bank_rows),
        )


@dataclass(frozen=True)
class Window:
    """Cases that are scored together. All fields are empty where a rank has nothing to do.

    Attributes:
        questions: Rows of the plan's questions.
        images: Rows of the plan's images.
        texts: Rows of the plan's texts.
    """

    questions: tuple[int, ...] = ()
    images: tuple[int, ...] = ()
    texts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Tile:
    """Pairs of a gallery that are scored together.

    Attributes:
        images: Rows of the plan's images; none where they are those of the tile before.
        texts: Rows of the plan's texts.
        pairs: Which of the gallery's pairs these are, `[P]`.
        i: Rows of the pairs among the tile's images, `[P]`.
        j: Rows of the pairs among the tile's texts, `[P]`.
    """

    images: tuple[int, ...]
    texts: tuple[int, ...]
    pairs: NDArray[np.int64]
    i: NDArray[np.int64]
    j: NDArray[np.int64]


@dataclass(frozen=True)
class Maker:
    """Makes portions of rows of the plan; the workers of a loader hold it.

    Attributes:
        images: Distinct images of the plan.
        texts: Distinct texts of the plan.
        finder: Finds and opens images.
        transform: From a PIL image to a tensor `[3, H, W]`.
        tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.
    """

    images: Sequence[ImageRef]
    texts: Sequence[str]
    finder: ImageFinder
    transform: Transform
    tokenizer: Tokenizer

    def of_images(self, rows: Sequence[int]) -> Portion:
        """Returns the images of those rows; filling is the first image."""
        try:
            pixels = [self.transform(self.finder.load(self.images[max(row, 0)])) for row in rows]
        except ZooError as error:  # as a value: a worker's exception would come with its traceback
            return Portion(error=str(error))
        return Portion(image_rows=torch.tensor(rows), pixels=torch.stack(pixels))

    def of_texts(self, rows: Sequence[int]) -> Portion:
        """Returns the texts of those rows; filling is the first text."""
        bank, bank_rows = text_bank(*self.tokenizer([self.texts[max(row, 0)] for row in rows]))
        return Portion(text_rows=torch.tensor(rows), texts=bank, bank_rows=bank_rows)

    def of_window(self, window: Window) -> Portion:
        """Returns all that the window's questions need."""
        if not window.questions:
            return Portion()
        return replace(self._of_both(window.images, window.texts), questions=window.questions)

    def of_tile(self, tile: Tile) -> Portion:
        """Returns the tile's texts, and its images where it has any."""
        return self._of_both(tile.images, tile.texts)

    def _of_both(self, image_rows: Sequence[int], text_rows: Sequence[int]) -> Portion:
        images, texts = (
            self.of_images(image_rows) if image_rows else Portion(),
            self.of_texts(text_rows),
        )
        return Portion(
            images.image_rows,
            images.pixels,
            texts.text_rows,
            texts.texts,
            texts.bank_rows,
            error=images.error,
        )


class Rows(Dataset[Any]):
    """Entries of a list; the loader makes a portion of several at once.

    Args:
        entries: Rows, windows or tiles.
    """

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = entries

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> Any:
        return self.entries[index]


def loader(
    entries: Sequence[Any],
    filling: Any,
    make: Callable[[Any], Portion],
    batch: int | None,
    workers: int,
) -> DataLoader[Any]:
    """Returns a loader that deals entries to ranks by turns, none twice.

    Args:
        entries: Rows or windows of the plan.
        filling: What a rank gets that would have no entry, since Lightning refuses an empty loader.
        make: Makes a portion of what is loaded at once.
        batch: Number of entries that are loaded at once; one by itself where None.
        workers: Number of processes that load.
    """
    whole = [*entries, *[filling] * max(0, world_size() - len(entries))]
    data = Rows(whole)
    return Loader(
        data,
        batch,
        sampler=Shard(data, rank(), world_size()),
        num_workers=workers,
        collate_fn=make,
    )


def item_loaders(
    questions: Sequence[Question], maker: Maker, image_batch: int, text_batch: int, workers: int
) -> list[DataLoader[Any]]:
    """Returns a loader of the questions' distinct images and one of their distinct texts.

    Texts of like length come together.

    Args:
        questions: The questions.
        maker: Makes the portions.
        image_batch: Number of images in a portion.
        text_batch: Number of texts in a portion.
        workers: Number of processes that load images; texts have at most one.
    """
    images, texts = (
        sorted({row for q in questions for row in getattr(q, side).tolist()})
        for side in ("images", "texts")
    )
    by_length = sorted(texts, key=lambda row: len(maker.texts[row]))
    return [
        loader(images, FILLING, maker.of_images, image_batch, workers),
        loader(by_length, FILLING, maker.of_texts, text_batch, min(workers, 1)),
    ]


def tile_loader(made: Sequence[Tile], maker: Maker, workers: int) -> DataLoader[Any]:
    """Returns a loader of the portions of tiles, in order, all of them on the rank that asks."""
    make: Callable[[Any], Portion] = maker.of_tile
    return Loader(Rows(made), None, num_workers=workers, collate_fn=make)


def encode_pixels(
    backbone: Backbone, pixels: Tensor, keys: frozenset[TokenKey], batch: int
) -> Encoded:
    """Encodes images a few at a time.

    Args:
        backbone: Encodes them.
        pixels: Images, `[n, 3, H, W]`.
        keys: Tokens that are wanted.
        batch: Number of images that are encoded at once.
    """
    return concatenate([backbone.encode_images(part, keys) for part in torch.split(pixels, batch)])


def cut_texts(plan: Plan, tokenizer: Tokenizer) -> dict[str, int]:
    """Returns how many distinct texts are over the context and lose their tail.

    They are counted by 'benchmark/subset', where there are any.
    """
    cut = set(overlong(plan.texts, tokenizer))
    found: dict[str, set[int]] = {}
    for question in plan.questions:
        found.setdefault(f"{question.benchmark}/{question.case.subset}", set()).update(
            cut.intersection(question.texts.tolist())
        )
    return {place: len(rows) for place, rows in found.items() if rows}


def windows(plan: Plan, image_bytes: int, text_bytes: int, limit: int) -> list[Window]:
    """Returns windows of all questions but galleries, sorted by image.

    Args:
        plan: What is asked.
        image_bytes: Bytes of one encoded image.
        text_bytes: Bytes of one encoded text.
        limit: Bytes that a window holds at most; one question may take more.
    """
    named = [q for q, question in enumerate(plan.questions) if not question.case.gallery]
    order = sorted(named, key=lambda q: (int(plan.questions[q].images[0]), q))
    return list(_windows(plan, order, image_bytes, text_bytes, limit))


def _windows(
    plan: Plan, order: list[int], image_bytes: int, text_bytes: int, limit: int
) -> Iterator[Window]:
    questions: list[int] = []
    images: dict[int, None] = {}
    texts: dict[int, None] = {}
    for q in order:
        more_images = images | dict.fromkeys(plan.questions[q].images.tolist())
        more_texts = texts | dict.fromkeys(plan.questions[q].texts.tolist())
        if questions and len(more_images) * image_bytes + len(more_texts) * text_bytes > limit:
            yield Window(tuple(questions), tuple(images), tuple(texts))
            questions = []
            more_images = dict.fromkeys(plan.questions[q].images.tolist())
            more_texts = dict.fromkeys(plan.questions[q].texts.tolist())
        questions.append(q)
        images, texts = more_images, more_texts
    if questions:
        yield Window(tuple(questions), tuple(images), tuple(texts))


def encoded_twice(made: Sequence[Window]) -> tuple[int, int]:
    """Returns how many images and texts more the windows encode than there are distinct ones."""
    counts = [
        np.array([row for w in made for row in getattr(w, side)], dtype=np.int64)
        for side in ("images", "texts")
    ]
    return len(counts[0]) - len(np.unique(counts[0])), len(counts[1]) - len(np.unique(counts[1]))
