"""Portions: images and texts that are encoded at once, and the loaders that bring them."""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

from zoo.backbones.backbone import Backbone
from zoo.backbones.overlong import overlong
from zoo.backbones.preparation import Decoder
from zoo.backbones.tokenizer import Tokenize
from zoo.batch import MISSING, PIECES, Encoded, TextBank, concatenate, text_bank
from zoo.errors import ZooError
from zoo.needs import Needs
from zoo.pixels.decoding import decode_image
from zoo.regions_and_phrases.base import Views
from zoo.results.plan import Plan, ScorableCase
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.distributed import RankSampler, rank, world_size
from zoo.support.worker import Loader

FILLING = -1

Transform = Callable[[Any], Tensor]


def _no_rows() -> Tensor:
    return torch.zeros(0, dtype=torch.long)


@dataclass(frozen=True)
class EvaluationBatch:
    """Images and texts to encode.

    Attributes:
        image_rows: Rows of the plan's images, `[n]`; FILLING where a rank has nothing to do.
        pixels: Images, `[n, 3, H, W]`; fewer than n where the tokens of some are kept.
        text_rows: Rows of the plan's texts, `[m]`.
        texts: Bank of their distinct token ids, or those of their segments.
        bank_rows: Rows of the texts in the bank, `[m]`, fewer where the tokens of some are kept;
            rows of their S segments, `[m, S]`, where texts come in segments, MISSING behind a
            text's last.
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

    def check_decoded(self) -> "EvaluationBatch":
        """Returns this portion.

        Raises:
            ZooError: An image of it is broken.
        """
        if self.error is not None:
            raise ZooError(self.error)
        return self

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "EvaluationBatch":
        """Returns the portion on a device."""
        return self._map(lambda t: t.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "EvaluationBatch":
        """Returns the portion in pinned memory."""
        return self._map(lambda t: t.pin_memory())

    def _map(self, f: Callable[[Tensor], Tensor]) -> "EvaluationBatch":
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
        transform: From an image, as the decoder gives it, to a tensor `[3, H, W]`.
        tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.
        square: The transform of images of which views are made, in windows and tiles; None where
            images stay whole.
        segments: The segments of each text, in windows and tiles; None where texts stay whole.
        decoder: What decodes images.
        known_images: Rows of images that windows and tiles name and do not bring.
        known_texts: Rows of texts that windows and tiles name and do not bring.
    """

    images: Sequence[ImageRef]
    texts: Sequence[str]
    finder: ImageFinder
    transform: Transform
    tokenizer: Tokenize
    square: Transform | None = None
    segments: Sequence[tuple[str, ...]] | None = None
    decoder: Decoder = "pil"
    known_images: Set[int] = frozenset()
    known_texts: Set[int] = frozenset()

    def unknown(self, images: Sequence[int], texts: Sequence[int]) -> tuple[list[int], list[int]]:
        """Returns the rows of images and of texts that windows and tiles bring."""
        return (
            [row for row in images if row not in self.known_images],
            [row for row in texts if row not in self.known_texts],
        )

    def of_images(self, rows: Sequence[int]) -> EvaluationBatch:
        """Returns the images of those rows; filling is the first image."""
        return self._of_images(rows, self.transform)

    def _of_images(self, rows: Sequence[int], transform: Transform) -> EvaluationBatch:
        try:
            refs = [self.images[max(row, 0)] for row in rows]
            pixels = [transform(decode_image(self.finder, ref, self.decoder)) for ref in refs]
        except ZooError as error:  # as a value: a worker's exception would come with its traceback
            return EvaluationBatch(error=str(error))
        return EvaluationBatch(image_rows=torch.tensor(rows), pixels=torch.stack(pixels))

    def of_texts(self, rows: Sequence[int]) -> EvaluationBatch:
        """Returns the texts of those rows; filling is the first text."""
        bank, bank_rows = text_bank(*self.tokenizer([self.texts[max(row, 0)] for row in rows]))
        return EvaluationBatch(text_rows=torch.tensor(rows), texts=bank, bank_rows=bank_rows)

    def _of_segments(
        self, rows: Sequence[int], segments: Sequence[tuple[str, ...]]
    ) -> EvaluationBatch:
        """Returns the segments of the texts of those rows."""
        bank, bank_rows = segment_bank([segments[row] for row in rows], self.tokenizer)
        return EvaluationBatch(text_rows=torch.tensor(rows), texts=bank, bank_rows=bank_rows)

    def of_window(self, window: Window) -> EvaluationBatch:
        """Returns all that the window's questions need."""
        if not window.questions:
            return EvaluationBatch()
        return replace(self.of_rows(window.images, window.texts), questions=window.questions)

    def of_tile(self, tile: Tile) -> EvaluationBatch:
        """Returns the tile's texts, and its images where it has any."""
        return self.of_rows(tile.images, tile.texts)

    def of_rows(self, image_rows: Sequence[int], text_rows: Sequence[int]) -> EvaluationBatch:
        """Returns a portion of images and texts, as windows and tiles have them."""
        brought, wanted = self.unknown(image_rows, text_rows)
        images = texts = EvaluationBatch()
        if brought:
            images = self._of_images(brought, self.square or self.transform)
        if wanted and self.segments is None:
            texts = self.of_texts(wanted)
        elif wanted and self.segments is not None:
            texts = self._of_segments(wanted, self.segments)
        return EvaluationBatch(
            torch.tensor(image_rows, dtype=torch.long),
            images.pixels,
            torch.tensor(text_rows, dtype=torch.long),
            texts.texts,
            texts.bank_rows,
            error=images.error,
        )


class Entries(Dataset[Any]):
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


@dataclass(frozen=True)
class LoaderFactory:
    """Makes the loaders of portions.

    Attributes:
        maker: Makes the portions.
        image_batch: Number of images in a portion.
        text_batch: Number of texts in a portion.
        workers: Number of processes that load images; texts have at most one.
    """

    maker: Maker
    image_batch: int
    text_batch: int
    workers: int

    def items(
        self,
        questions: Iterable[ScorableCase],
        known_images: Set[int] = frozenset(),
        known_texts: Set[int] = frozenset(),
    ) -> list[DataLoader[Any]]:
        """Returns a loader of the questions' distinct images and one of their distinct texts.

        Texts of like length come together. There is no loader of images where there are none.

        Args:
            questions: The questions.
            known_images: Rows of images that are left out.
            known_texts: Rows of texts that are left out.
        """
        asked = list(questions)
        images = sorted({row for q in asked for row in q.images.tolist()} - known_images)
        texts = sorted({row for q in asked for row in q.all_texts.tolist()} - known_texts)
        by_length = sorted(texts, key=lambda row: len(self.maker.texts[row]))
        of_texts = _rank_loader(
            by_length, FILLING, self.maker.of_texts, self.text_batch, min(self.workers, 1)
        )
        if not images:
            return [of_texts]
        of_images = self.maker.of_images
        return [_rank_loader(images, FILLING, of_images, self.image_batch, self.workers), of_texts]

    def windows(self, made: Sequence[Window]) -> DataLoader[Any]:
        """Returns a loader of the portions of windows."""
        return _rank_loader(made, Window(), self.maker.of_window, None, self.workers)

    def tiles(self, made: Sequence[Tile]) -> DataLoader[Any]:
        """Returns a loader of the portions of tiles, in order, all on the rank that asks."""
        return Loader(Entries(made), None, num_workers=self.workers, collate_fn=self.maker.of_tile)


def _rank_loader(
    entries: Sequence[Any],
    filling: Any,
    make: Callable[[Any], EvaluationBatch],
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
    data = Entries([*entries, *[filling] * max(0, world_size() - len(entries))])
    return Loader(
        data,
        batch,
        sampler=RankSampler(data, rank(), world_size()),
        num_workers=workers,
        collate_fn=make,
    )


def encode(
    backbone: Backbone,
    portion: EvaluationBatch,
    needs: Needs,
    image_batch: int,
    text_batch: int,
) -> tuple[Encoded | None, Encoded | None]:
    """Encodes what a portion holds.

    Args:
        backbone: Encodes it.
        portion: Images and texts.
        needs: Which tokens are wanted beside pooled vectors, or which views in their place.
        image_batch: Number of images, or of views, that are encoded at once.
        text_batch: Number of segments that are encoded at once, where texts come in segments.

    Returns:
        The images and the texts, None for what the portion lacks.
    """
    images = texts = None
    if portion.pixels is not None and needs.views is not None:
        images = encode_views(backbone, portion.pixels, needs.views, image_batch)
    elif portion.pixels is not None:
        few = torch.split(portion.pixels, image_batch)
        images = concatenate([backbone.encode_images(part, needs.image_keys) for part in few])
    if portion.texts is not None and portion.bank_rows.ndim == 2:
        texts = encode_segments(backbone, portion.texts, portion.bank_rows, text_batch)
    elif portion.texts is not None:
        texts = backbone.encode_texts(portion.texts, needs.text_keys).rows(portion.bank_rows)
    return images, texts


def encode_views(backbone: Backbone, images: Tensor, views: Views, at_once: int) -> Encoded:
    """Encodes the views of images, each view once.

    Args:
        backbone: Encodes them.
        images: Images that are prepared for the maker of views, `[n, 3, side, side]`.
        views: Makes the views.
        at_once: Number of views that are resized and encoded at once.

    Returns:
        The pooled vectors of the images' views as PIECES.
    """
    every = (view for image in images for view in views.views_of(image))
    found = []
    while few := list(islice(every, at_once)):
        found.append(backbone.encode_images(backbone.resize_images(few)).pooled)
    vectors = torch.cat(found)
    vectors = vectors.reshape(len(images), views.count, -1)
    mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
    return Encoded(vectors.new_zeros(len(images), 0), {PIECES: vectors}, {PIECES: mask})


def segment_bank(
    segments: Sequence[tuple[str, ...]], tokenizer: Tokenize
) -> tuple[TextBank, Tensor]:
    """Gathers the distinct segments of texts.

    Args:
        segments: The segments of each of m texts.
        tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.

    Returns:
        The bank of distinct segments, and the segments of each text as rows of it, `[m, S]`;
        MISSING where a text has fewer than S.
    """
    bank, rows = text_bank(*tokenizer([segment for some in segments for segment in some]))
    return bank, pad_sequence(
        list(torch.split(rows, [len(some) for some in segments])), True, MISSING
    )


def encode_segments(backbone: Backbone, bank: TextBank, rows: Tensor, at_once: int) -> Encoded:
    """Encodes the segments of texts, each distinct one once.

    Args:
        backbone: Encodes them.
        bank: The distinct segments.
        rows: The segments of each text, as rows of the bank, `[m, S]`; MISSING where it has fewer.
        at_once: Number of segments that are encoded at once.

    Returns:
        The pooled vectors of the texts' segments as PIECES.
    """
    few = torch.split(torch.arange(len(bank), device=rows.device), at_once)
    found = [backbone.encode_texts(bank.map(lambda t, some=some: t[some])) for some in few]  # type: ignore[misc]
    vectors = concatenate(found).pooled[rows.clamp(min=0)]
    return Encoded(vectors.new_zeros(len(rows), 0), {PIECES: vectors}, {PIECES: rows != MISSING})


def cut_texts(plan: Plan, tokenizer: Tokenize) -> dict[str, int]:
    """Returns how many distinct texts are over the context and lose their tail.

    They are counted by 'benchmark/subset', where there are any.
    """
    cut = set(overlong(plan.texts, tokenizer))
    found: dict[str, set[int]] = {}
    for question in plan.questions:
        found.setdefault(f"{question.run}/{question.case.subset}", set()).update(
            cut.intersection(question.all_texts.tolist())
        )
    return {place: len(rows) for place, rows in found.items() if rows}
