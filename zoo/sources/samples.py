"""Samples: the captions of a reader as tables, which become objects one by one when asked for.

captions.arrow   a caption a row
images.arrow     an image a row, with the id that its captions have for it
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.sources.sample import ImageRef, Sample, usable_negatives
from zoo.support.compiled import ROWS, CompiledTables, Notes, Writer, in_batches, in_memory

CAPTIONS = pa.schema(
    [
        ("caption", pa.string()),
        ("image", pa.int32()),
        ("caption_id", pa.string()),
        ("split", pa.string()),
        ("negatives", pa.list_(pa.string())),
        ("companions", pa.list_(pa.int64())),
        ("origin", pa.string()),
        ("companion_only", pa.bool_()),
        # whether one of the negatives differs from the caption, which takes long to tell
        ("usable_negative", pa.bool_()),
    ]
)
IMAGES = pa.schema(
    [
        ("source", pa.string()),
        ("key", pa.string()),
        ("crop", pa.list_(pa.int64())),
        ("size", pa.list_(pa.int64())),
        ("image_id", pa.string()),
    ]
)
_FIELDS = len(CAPTIONS) - 1

Rows = NDArray[np.int64]


class Samples(Sequence[Sample]):
    """Samples in tables.

    Args:
        tables: What `write_samples` wrote.
        images: Images that take the place of the tables' own, row by row.
    """

    def __init__(self, tables: CompiledTables, images: pa.Table | None = None) -> None:
        self.tables, self._others = tables, images

    def __reduce__(self) -> tuple[Any, ...]:
        return Samples, (self.tables, self._others)

    @classmethod
    def from_samples(cls, samples: Iterable[Sample]) -> "Samples":
        """Returns samples in memory."""
        return cls(in_memory(lambda writer: write_samples(writer, samples)))

    @property
    def captions(self) -> pa.Table:
        """The captions, in the schema `CAPTIONS`."""
        return self.tables["captions"]

    @property
    def images(self) -> pa.Table:
        """The images, in the schema `IMAGES`."""
        return self.tables["images"] if self._others is None else self._others

    def __len__(self) -> int:
        return int(self.captions.num_rows)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> list[Sample]: ...

    def __getitem__(self, index: int | slice) -> Sample | list[Sample]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self):,} samples, and none of number {index:,}")
        batch, row = divmod(int(index) % len(self), ROWS)
        caption, image, caption_id, split, negatives, companions, origin, only = (
            column[row].as_py() for column in self._batches[batch]
        )
        return Sample(
            self.image(image),
            caption,
            self.image_id(image),
            caption_id,
            split,
            tuple(negatives),
            tuple(companions),
            origin,
            only,
        )

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def image(self, row: int) -> ImageRef:
        """Returns the image of a row of `images`."""
        batch, row = divmod(int(row), ROWS)
        source, key, crop, size = (column[row].as_py() for column in self._references[batch][:-1])
        return ImageRef(source, key, crop and tuple(crop), size and tuple(size))

    def image_id(self, row: int) -> str:
        """Returns the id of an image of a row of `images`."""
        batch, row = divmod(int(row), ROWS)
        return str(self._references[batch][-1][row].as_py())

    @cached_property
    def image_rows(self) -> NDArray[np.int32]:
        """The row in `images` of each caption."""
        rows: NDArray[np.int32] = self.captions.column("image").to_numpy()
        return rows

    @cached_property
    def image_codes(self) -> NDArray[np.int32]:
        """A number of each row in `images`, which is equal for equal ids."""
        ids = self.images.column("image_id").cast(pa.large_string())  # 2 GiB and more in one array
        encoded = ids.combine_chunks().dictionary_encode()
        codes: NDArray[np.int32] = encoded.indices.to_numpy()
        return codes

    def with_images(self, known: dict[ImageRef, ImageRef]) -> "Samples":
        """Returns the samples with other references to images.

        An id that is the text of a reference is replaced along with it.

        Args:
            known: The new references by those that they take the place of.
        """
        pairs = []
        for row in range(self.images.num_rows):
            ref, own = self.image(row), self.image_id(row)
            to = known.get(ref, ref)
            pairs.append((to, str(to) if own == str(ref) else own))
        return Samples(self.tables, pa.Table.from_batches(list(_images(pairs)), IMAGES))

    @cached_property
    def _batches(self) -> list[list[pa.Array]]:
        return [batch.columns[:_FIELDS] for batch in self.captions.to_batches()]

    @cached_property
    def _references(self) -> list[list[pa.Array]]:
        return [batch.columns for batch in self.images.to_batches()]


class CaptionColumn(Sequence[str]):
    """The captions of some samples, in their order.

    Args:
        samples: The samples.
        rows: Which of them.
    """

    def __init__(self, samples: Samples, rows: Rows) -> None:
        self.column, self.rows = samples.captions.column("caption"), rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> "list[str]": ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [str(self.column[int(row)].as_py()) for row in self.rows[index]]
        return str(self.column[int(self.rows[index])].as_py())

    def __iter__(self) -> Iterator[str]:
        few = (self[start : start + ROWS] for start in range(0, len(self), ROWS))
        return chain.from_iterable(few)


def write_samples(writer: Writer, samples: Iterable[Sample]) -> Notes:
    """Writes the tables of samples.

    Args:
        writer: Writes tables.
        samples: The samples.

    Returns:
        No notes.

    Raises:
        Unfit: A table cannot hold a sample.
    """
    images: dict[tuple[ImageRef, str], int] = {}
    writer.write("captions", CAPTIONS, (_captions(some, images) for some in in_batches(samples)))
    writer.write("images", IMAGES, _images(images))
    return {}


class Unfit(Exception):
    """A field of a sample is not of its type."""


def _captions(some: list[Sample], images: dict[tuple[ImageRef, str], int]) -> pa.RecordBatch:
    """Returns a batch of captions, whose images are added to those known."""
    with _fit():
        columns = {
            "caption": [s.caption for s in some],
            "image": [images.setdefault((s.image, s.image_id), len(images)) for s in some],
            "caption_id": [s.caption_id for s in some],
            "split": [s.split for s in some],
            "negatives": [s.negatives for s in some],
            "companions": [s.companions for s in some],
            "origin": [s.origin for s in some],
            "companion_only": [s.companion_only for s in some],
            "usable_negative": [bool(usable_negatives(s)) for s in some],
        }
        return pa.RecordBatch.from_pydict(columns, CAPTIONS)


def _images(pairs: Iterable[tuple[ImageRef, str]]) -> Iterator[pa.RecordBatch]:
    for some in in_batches(pairs):
        with _fit():
            columns = {
                **{name: [getattr(ref, name) for ref, _ in some] for name in IMAGES.names[:-1]},
                "image_id": [image_id for _, image_id in some],
            }
            batch = pa.RecordBatch.from_pydict(columns, IMAGES)
        yield batch


@contextmanager
def _fit() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise Unfit(str(error)) from error
