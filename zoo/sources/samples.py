"""Samples: the captions of a reader in tables, from which `Sample` objects are created on access.

captions.arrow   one row per caption
images.arrow     one row per image, with its image id
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, chain
from typing import Any, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.sources.sample import ImageRef, Sample, usable_negatives
from zoo.support.compiled_tables import (
    ROWS,
    CompiledTables,
    Notes,
    Writer,
    build_in_memory,
    split_into_batches,
)

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
        # whether any negative differs from the caption; precomputed, since comparing is slow
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
        tables: The tables of `write_samples`.
        images: A table that replaces the images of `tables`, row by row.
    """

    def __init__(self, tables: CompiledTables, images: pa.Table | None = None) -> None:
        self.tables, self._replaced_images = tables, images

    def __reduce__(self) -> tuple[Any, ...]:
        return Samples, (self.tables, self._replaced_images)

    @classmethod
    def from_samples(cls, samples: Iterable[Sample]) -> "Samples":
        """Builds the tables of samples in memory."""
        return cls(build_in_memory(lambda writer: write_samples(writer, samples)))

    @property
    def captions(self) -> pa.Table:
        """The captions, in the schema `CAPTIONS`."""
        return self.tables["captions"]

    @property
    def images(self) -> pa.Table:
        """The images, in the schema `IMAGES`."""
        return self.tables["images"] if self._replaced_images is None else self._replaced_images

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
            raise IndexError(f"sample {index:,} is out of range: there are {len(self):,} samples")
        columns, row = self._batches.find(int(index) % len(self))
        caption, image, caption_id, split, negatives, companions, origin, companion_only = (
            column[row].as_py() for column in columns[:_FIELDS]
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
            companion_only,
        )

    def __iter__(self) -> Iterator[Sample]:
        return (self[i] for i in range(len(self)))

    def image(self, row: int) -> ImageRef:
        """Returns the reference of the image in a row of `images`."""
        columns, row = self._references.find(int(row))
        source, key, crop, size = (column[row].as_py() for column in columns[:-1])
        return ImageRef(source, key, crop and tuple(crop), size and tuple(size))

    def image_id(self, row: int) -> str:
        """Returns the id of the image in a row of `images`."""
        columns, row = self._references.find(int(row))
        return str(columns[-1][row].as_py())

    @cached_property
    def image_rows(self) -> NDArray[np.int32]:
        """The row in `images` of each caption."""
        rows: NDArray[np.int32] = self.captions.column("image").to_numpy()
        return rows

    @cached_property
    def image_codes(self) -> NDArray[np.int32]:
        """A number for each row of `images`, equal for equal image ids."""
        ids = self.images.column("image_id").cast(pa.large_string())  # 2 GiB and more in one array
        encoded = ids.combine_chunks().dictionary_encode()
        codes: NDArray[np.int32] = encoded.indices.to_numpy()
        return codes

    def with_images(self, new_refs: dict[ImageRef, ImageRef]) -> "Samples":
        """Returns the samples with new image references.

        Image ids that equal the text of a replaced reference are replaced as well.

        Args:
            new_refs: The new references, by the old ones.
        """
        pairs = []
        for row in range(self.images.num_rows):
            ref, old_id = self.image(row), self.image_id(row)
            new_ref = new_refs.get(ref, ref)
            pairs.append((new_ref, str(new_ref) if old_id == str(ref) else old_id))
        return self.replace_images(pa.Table.from_batches(list(_images(pairs)), IMAGES))

    def replace_images(self, images: pa.Table) -> "Samples":
        """Returns the samples with another table of images.

        Args:
            images: The new table, row by row, in the schema `IMAGES`.
        """
        return Samples(self.tables, images)

    @property
    def reader_starts(self) -> Rows:
        """The position of the first sample of each reader, followed by the number of samples."""
        return np.array([0, len(self)])

    @cached_property
    def _batches(self) -> "_Batches":
        return _Batches(self.captions)

    @cached_property
    def _references(self) -> "_Batches":
        return _Batches(self.images)


class _Batches:
    """The columns of a table, batch by batch."""

    def __init__(self, table: pa.Table) -> None:
        batches = table.to_batches()
        self._columns = [batch.columns for batch in batches]
        self._starts = list(accumulate((batch.num_rows for batch in batches), initial=0))

    def find(self, row: int) -> tuple[list[pa.Array], int]:
        """Returns the columns of the batch of a row, and the number of the row in it."""
        batch = bisect_right(self._starts, row) - 1
        return self._columns[batch], row - self._starts[batch]


class CaptionColumn(Sequence[str]):
    """The captions of selected samples.

    Args:
        samples: The samples.
        rows: Rows of the selected samples.
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
        batches = (self[start : start + ROWS] for start in range(0, len(self), ROWS))
        return chain.from_iterable(batches)


def write_samples(writer: Writer, samples: Iterable[Sample]) -> Notes:
    """Writes the tables of samples.

    Args:
        writer: Writes tables.
        samples: The samples.

    Returns:
        Empty notes.

    Raises:
        Unfit: A field of a sample has the wrong type.
    """
    images: dict[tuple[ImageRef, str], int] = {}
    writer.write(
        "captions", CAPTIONS, (_captions(batch, images) for batch in split_into_batches(samples))
    )
    writer.write("images", IMAGES, _images(images))
    return {}


class WrongFieldType(Exception):
    """A field of a sample has the wrong type."""


def _captions(samples: list[Sample], images: dict[tuple[ImageRef, str], int]) -> pa.RecordBatch:
    """Returns a batch of captions, and adds their images to `images`."""
    with _translate_type_errors():
        columns = {
            "caption": [s.caption for s in samples],
            "image": [images.setdefault((s.image, s.image_id), len(images)) for s in samples],
            "caption_id": [s.caption_id for s in samples],
            "split": [s.split for s in samples],
            "negatives": [s.negatives for s in samples],
            "companions": [s.companions for s in samples],
            "origin": [s.origin for s in samples],
            "companion_only": [s.companion_only for s in samples],
            "usable_negative": [bool(usable_negatives(s)) for s in samples],
        }
        return pa.RecordBatch.from_pydict(columns, CAPTIONS)


def _images(pairs: Iterable[tuple[ImageRef, str]]) -> Iterator[pa.RecordBatch]:
    for batch_pairs in split_into_batches(pairs):
        with _translate_type_errors():
            columns = {
                **{
                    name: [getattr(ref, name) for ref, _ in batch_pairs]
                    for name in IMAGES.names[:-1]
                },
                "image_id": [image_id for _, image_id in batch_pairs],
            }
            batch = pa.RecordBatch.from_pydict(columns, IMAGES)
        yield batch


@contextmanager
def _translate_type_errors() -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise WrongFieldType(str(error)) from error
