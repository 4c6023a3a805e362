"""Evaluation batches: images and texts that are encoded at once, and their loaders."""

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
from zoo.backbones.preparation import Decoder
from zoo.backbones.tokenizer import Tokenize
from zoo.backbones.truncation import find_truncated
from zoo.batch import MISSING, PIECES, Encoded, TextBank, build_text_bank, concatenate
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
        image_rows: Rows of the plan's images, `[n]`; FILLING if a rank has nothing to do.
        pixels: Images, `[n, 3, H, W]`; fewer than n if the tokens of some are stored.
        text_rows: Rows of the plan's texts, `[m]`.
        texts: Bank of their distinct token ids, or those of their segments.
        bank_rows: Rows of the texts in the bank, `[m]`, fewer if the tokens of some are stored; if
            texts are split into segments, the rows of their S segments, `[m, S]`, padded with
            MISSING.
        questions: Questions that are scored with these items, for heads that read tokens.
        error: The error message of an image that cannot be decoded.
    """

    image_rows: Tensor = field(default_factory=_no_rows)
    pixels: Tensor | None = None
    text_rows: Tensor = field(default_factory=_no_rows)
    texts: TextBank | None = None
    bank_rows: Tensor = field(default_factory=_no_rows)
    questions: tuple[int, ...] = ()
    error: str | None = None

    def check_decoded(self) -> "EvaluationBatch":
        """Returns this batch.

        Raises:
            ZooError: One of its images cannot be decoded.
        """
        if self.error is not None:
            raise ZooError(self.error)
        return self

    def to(self, device: torch.device | str, non_blocking: bool = False) -> "EvaluationBatch":
        """Returns the batch on a device."""
        return self._map(lambda t: t.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> "EvaluationBatch":
        """Returns the batch in pinned memory."""
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
    """Cases that are scored together. All fields are empty if a rank has nothing to do.

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
        images: Rows of the plan's images; empty if they are those of the previous tile.
        texts: Rows of the plan's texts.
        pairs: Which of the gallery's pairs these are, `[P]`.
        image_index: Rows of the pairs among the tile's images, `[P]`.
        text_index: Rows of the pairs among the tile's texts, `[P]`.
    """

    images: tuple[int, ...]
    texts: tuple[int, ...]
    pairs: NDArray[np.int64]
    image_index: NDArray[np.int64]
    text_index: NDArray[np.int64]


@dataclass(frozen=True)
class BatchBuilder:
    """Builds batches from rows of the plan; each worker of a loader has a copy.

    Attributes:
        images: Distinct images of the plan.
        texts: Distinct texts of the plan.
        finder: Finds and opens images.
        transform: From a decoded image to a tensor `[3, H, W]`.
        tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.
        square_transform: The transform of images before views are made, in windows and tiles; None
            if there are no views.
        segments: The segments of each text, in windows and tiles; None if texts are not split.
        decoder: The decoder of images.
        known_images: Rows of images whose encodings are stored, which windows and tiles do not
            load.
        known_texts: Rows of texts whose encodings are stored, which windows and tiles do not load.
    """

    images: Sequence[ImageRef]
    texts: Sequence[str]
    finder: ImageFinder
    transform: Transform
    tokenizer: Tokenize
    square_transform: Transform | None = None
    segments: Sequence[tuple[str, ...]] | None = None
    decoder: Decoder = "pil"
    known_images: Set[int] = frozenset()
    known_texts: Set[int] = frozenset()

    def rows_to_load(
        self, images: Sequence[int], texts: Sequence[int]
    ) -> tuple[list[int], list[int]]:
        """Returns the rows of images and of texts that windows and tiles load."""
        return (
            [row for row in images if row not in self.known_images],
            [row for row in texts if row not in self.known_texts],
        )

    def build_image_batch(self, rows: Sequence[int]) -> EvaluationBatch:
        """Returns the images of those rows; filling is the first image."""
        return self._build_batch_of_images(rows, self.transform)

    def _build_batch_of_images(self, rows: Sequence[int], transform: Transform) -> EvaluationBatch:
        try:
            refs = [self.images[max(row, 0)] for row in rows]
            pixels = [transform(decode_image(self.finder, ref, self.decoder)) for ref in refs]
        except ZooError as error:  # as a value, since a worker's exception prints its traceback
            return EvaluationBatch(error=str(error))
        return EvaluationBatch(image_rows=torch.tensor(rows), pixels=torch.stack(pixels))

    def build_whole_text_batch(self, rows: Sequence[int]) -> EvaluationBatch:
        """Returns the texts of those rows; filling is the first text."""
        bank, bank_rows = build_text_bank(
            *self.tokenizer([self.texts[max(row, 0)] for row in rows])
        )
        return EvaluationBatch(text_rows=torch.tensor(rows), texts=bank, bank_rows=bank_rows)

    def _build_segment_batch(
        self, rows: Sequence[int], segments: Sequence[tuple[str, ...]]
    ) -> EvaluationBatch:
        """Returns the segments of the texts of those rows."""
        bank, bank_rows = build_segment_bank([segments[row] for row in rows], self.tokenizer)
        return EvaluationBatch(text_rows=torch.tensor(rows), texts=bank, bank_rows=bank_rows)

    def build_window_batch(self, window: Window) -> EvaluationBatch:
        """Returns all images and texts that the window's questions need."""
        if not window.questions:
            return EvaluationBatch()
        return replace(
            self._build_window_or_tile_batch(window.images, window.texts),
            questions=window.questions,
        )

    def build_tile_batch(self, tile: Tile) -> EvaluationBatch:
        """Returns the tile's texts, and its images if it has any."""
        return self._build_window_or_tile_batch(tile.images, tile.texts)

    def _build_window_or_tile_batch(
        self, image_rows: Sequence[int], text_rows: Sequence[int]
    ) -> EvaluationBatch:
        """Returns a batch of the images and texts of a window or a tile."""
        new_images, new_texts = self.rows_to_load(image_rows, text_rows)
        images = texts = EvaluationBatch()
        if new_images:
            images = self._build_batch_of_images(
                new_images, self.square_transform or self.transform
            )
        if new_texts and self.segments is None:
            texts = self.build_whole_text_batch(new_texts)
        elif new_texts and self.segments is not None:
            texts = self._build_segment_batch(new_texts, self.segments)
        return EvaluationBatch(
            torch.tensor(image_rows, dtype=torch.long),
            images.pixels,
            torch.tensor(text_rows, dtype=torch.long),
            texts.texts,
            texts.bank_rows,
            error=images.error,
        )


class EntryDataset(Dataset[Any]):
    """The entries of a list, from which the loader builds batches.

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
    """Creates the loaders of batches.

    Attributes:
        builder: Builds the batches.
        image_batch: Number of images in a batch.
        text_batch: Number of texts in a batch.
        workers: Number of processes that load images; texts have at most one.
    """

    builder: BatchBuilder
    image_batch: int
    text_batch: int
    workers: int

    def build_rank_item_loaders(
        self,
        questions: Iterable[ScorableCase],
        known_images: Set[int] = frozenset(),
        known_texts: Set[int] = frozenset(),
    ) -> list[DataLoader[Any]]:
        """Returns a loader of the questions' distinct images and one of their distinct texts.

        Texts are sorted by length. Without images, only the loader of texts is returned.

        Args:
            questions: The questions.
            known_images: Rows of images that are left out.
            known_texts: Rows of texts that are left out.
        """
        all_questions = list(questions)
        images = sorted({row for q in all_questions for row in q.images.tolist()} - known_images)
        texts = sorted({row for q in all_questions for row in q.all_texts.tolist()} - known_texts)
        by_length = sorted(texts, key=lambda row: len(self.builder.texts[row]))
        text_loader = _build_rank_loader(
            by_length,
            FILLING,
            self.builder.build_whole_text_batch,
            self.text_batch,
            min(self.workers, 1),
        )
        if not images:
            return [text_loader]
        of_images = self.builder.build_image_batch
        return [
            _build_rank_loader(images, FILLING, of_images, self.image_batch, self.workers),
            text_loader,
        ]

    def build_rank_window_loader(self, entries: Sequence[Window]) -> DataLoader[Any]:
        """Returns a loader of the batches of windows."""
        return _build_rank_loader(
            entries, Window(), self.builder.build_window_batch, None, self.workers
        )

    def build_tile_loader(self, tiles: Sequence[Tile]) -> DataLoader[Any]:
        """Returns a loader of the batches of tiles, in order, all on this rank."""
        return Loader(
            EntryDataset(tiles),
            None,
            num_workers=self.workers,
            collate_fn=self.builder.build_tile_batch,
            pin_memory=torch.cuda.is_available(),
        )


def _build_rank_loader(
    entries: Sequence[Any],
    idle_entry: Any,
    make: Callable[[Any], EvaluationBatch],
    batch: int | None,
    workers: int,
) -> DataLoader[Any]:
    """Returns a loader that distributes entries over ranks in turn, without repetition.

    Args:
        entries: Rows or windows of the plan.
        idle_entry: The entry of a rank that would have none, since Lightning rejects empty loaders.
        make: Builds a batch of the entries that are loaded at once.
        batch: Number of entries that are loaded at once; None loads single entries.
        workers: Number of worker processes.
    """
    data = EntryDataset([*entries, *[idle_entry] * max(0, world_size() - len(entries))])
    return Loader(
        data,
        batch,
        sampler=RankSampler(data, rank(), world_size()),
        num_workers=workers,
        collate_fn=make,
        pin_memory=torch.cuda.is_available(),
    )


def encode_batch(
    backbone: Backbone,
    batch: EvaluationBatch,
    needs: Needs,
    image_batch: int,
    text_batch: int,
) -> tuple[Encoded | None, Encoded | None]:
    """Encodes the images and texts of a batch.

    Args:
        backbone: Encodes them.
        batch: Images and texts.
        needs: Which tokens are needed in addition to pooled vectors, or which views instead.
        image_batch: Number of images, or of views, that are encoded at once.
        text_batch: Number of segments that are encoded at once, if texts are split.

    Returns:
        The images and the texts, None if the batch has none.
    """
    images = texts = None
    if batch.pixels is not None and needs.views is not None:
        images = encode_views(backbone, batch.pixels, needs.views, image_batch)
    elif batch.pixels is not None:
        parts = torch.split(batch.pixels, image_batch)
        images = concatenate([backbone.encode_images(part, needs.image_keys) for part in parts])
    if batch.texts is not None and batch.bank_rows.ndim == 2:
        texts = encode_segments(backbone, batch.texts, batch.bank_rows, text_batch)
    elif batch.texts is not None:
        texts = backbone.encode_texts(batch.texts, needs.text_keys).rows(batch.bank_rows)
    return images, texts


def encode_views(backbone: Backbone, images: Tensor, views: Views, batch_size: int) -> Encoded:
    """Encodes the views of images, each view once.

    Args:
        backbone: Encodes them.
        images: Images that are prepared for views, `[n, 3, side, side]`.
        views: Makes the views.
        batch_size: Number of views that are resized and encoded at once.

    Returns:
        The pooled vectors of the images' views as PIECES.
    """
    all_views = (view for image in images for view in views.checked_views(image))
    parts = []
    while batch := list(islice(all_views, batch_size)):
        parts.append(backbone.encode_images(backbone.resize_images(batch)).pooled)
    vectors = torch.cat(parts)
    vectors = vectors.reshape(len(images), views.count, -1)
    mask = torch.ones(vectors.shape[:2], dtype=torch.bool, device=vectors.device)
    return Encoded(vectors.new_zeros(len(images), 0), {PIECES: vectors}, {PIECES: mask})


def build_segment_bank(
    segments: Sequence[tuple[str, ...]], tokenizer: Tokenize
) -> tuple[TextBank, Tensor]:
    """Gathers the distinct segments of texts.

    Args:
        segments: The segments of each of m texts.
        tokenizer: From texts to ids `[n, L]`, lengths `[n]` and hashes `[n]`.

    Returns:
        The bank of distinct segments, and the segments of each text as rows of it, `[m, S]`;
        MISSING if a text has fewer than S.
    """
    bank, rows = build_text_bank(*tokenizer([segment for parts in segments for segment in parts]))
    return bank, pad_sequence(
        list(torch.split(rows, [len(parts) for parts in segments])), True, MISSING
    )


def encode_segments(backbone: Backbone, bank: TextBank, rows: Tensor, batch_size: int) -> Encoded:
    """Encodes the segments of texts, each distinct one once.

    Args:
        backbone: Encodes them.
        bank: The distinct segments.
        rows: The segments of each text, as rows of the bank, `[m, S]`; MISSING if it has fewer.
        batch_size: Number of segments that are encoded at once.

    Returns:
        The pooled vectors of the texts' segments as PIECES.
    """
    parts = torch.split(torch.arange(len(bank), device=rows.device), batch_size)
    encoded = [backbone.encode_texts(bank.map(lambda t, k=k: t[k])) for k in parts]  # type: ignore[misc]
    vectors = concatenate(encoded).pooled[rows.clamp(min=0)]
    return Encoded(vectors.new_zeros(len(rows), 0), {PIECES: vectors}, {PIECES: rows != MISSING})


def count_truncated_texts_by_subset(plan: Plan, tokenizer: Tokenize) -> dict[str, int]:
    """Counts the distinct texts that are longer than the context and truncated.

    Returns the counts by 'benchmark/subset', without zeros.
    """
    too_long = set(find_truncated(plan.texts, tokenizer))
    rows_by_subset: dict[str, set[int]] = {}
    for question in plan.cases:
        rows_by_subset.setdefault(f"{question.run}/{question.case.subset}", set()).update(
            too_long.intersection(question.all_texts.tolist())
        )
    return {place: len(rows) for place, rows in rows_by_subset.items() if rows}
