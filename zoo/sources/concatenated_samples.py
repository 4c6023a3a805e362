"""The samples of several readers, one reader after the other, in the tables of each reader."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zoo.sources.samples import IMAGES, Rows, Samples
from zoo.support.compiled_tables import CompiledTables

IMAGE_ID = IMAGES.field("image_id")


class ConcatenatedSamples(Samples):
    """Samples in the tables of several readers, which stay mapped from their files.

    Args:
        parts: The samples of each reader.
        images: A table that replaces the images of the parts, row by row.
    """

    def __init__(self, parts: Sequence[Samples], images: pa.Table | None = None) -> None:
        self.parts = tuple(parts)
        starts = accumulate(map(len, self.parts), initial=0)
        image_starts = accumulate((part.images.num_rows for part in self.parts), initial=0)
        captions = pa.concat_tables(
            _shift(part.captions, start, image_start)
            for part, start, image_start in zip(self.parts, starts, image_starts, strict=False)
        )
        tables = {
            "captions": captions,
            "images": pa.concat_tables(part.images for part in self.parts),
        }
        super().__init__(CompiledTables(tables, {}), images)

    def __reduce__(self) -> tuple[Any, ...]:
        return ConcatenatedSamples, (self.parts, self._replaced_images)

    def replace_images(self, images: pa.Table) -> Samples:
        """Returns the samples with another table of images.

        Args:
            images: The new table, row by row, in the schema `IMAGES`.
        """
        return ConcatenatedSamples(self.parts, images)

    @property
    def reader_starts(self) -> Rows:
        """The position of the first sample of each reader, followed by the number of samples."""
        return np.cumsum([0, *map(len, self.parts)])


def concatenate_samples(parts: Sequence[Samples]) -> Samples:
    """Concatenates the samples of several readers.

    An image id that two readers have for the same image is kept. If they have it for different
    images, it becomes 'ID (reader K)' in the later reader, with K counted from 1.

    Args:
        parts: The samples of each reader.
    """
    samples = ConcatenatedSamples(parts)
    renamed = [_ids_of_other_images(part, parts[:k]) for k, part in enumerate(parts)]
    if not any(renamed):
        return samples
    chunks = [
        pa.array([f"{i} (reader {k})" if i in ids else i for i in chunk.to_pylist()], IMAGE_ID.type)
        for k, (part, ids) in enumerate(zip(parts, renamed, strict=True), start=1)
        for chunk in part.images.column(IMAGE_ID.name).chunks
    ]
    return samples.replace_images(_replace(samples.images, IMAGE_ID.name, chunks))


def _ids_of_other_images(part: Samples, earlier_parts: Sequence[Samples]) -> set[str]:
    """Returns the image ids of a part that only other images have in earlier parts."""
    ids = part.images.column(IMAGE_ID.name)
    known: dict[str, set[tuple[str, str]]] = {}
    for earlier_part in earlier_parts:
        _add_references(known, earlier_part.images, ids)
    references: dict[str, set[tuple[str, str]]] = {}
    if known:
        _add_references(references, part.images, pa.array(list(known)))
    return {
        image_id for image_id, images in references.items() if images.isdisjoint(known[image_id])
    }


def _add_references(
    references: dict[str, set[tuple[str, str]]], images: pa.Table, ids: pa.ChunkedArray
) -> None:
    """Adds the references of the images with one of the ids, by id."""
    images = images.filter(pc.is_in(images.column(IMAGE_ID.name), ids))
    columns = (images.column(name).to_pylist() for name in (IMAGE_ID.name, "source", "key"))
    for image_id, source, key in zip(*columns, strict=True):
        references.setdefault(image_id, set()).add((source, key))


def _shift(captions: pa.Table, start: int, image_start: int) -> pa.Table:
    """Returns captions whose companions and images are numbered from later starts."""
    companions = [
        pa.ListArray.from_arrays(chunk.offsets, pc.add(chunk.values, start))
        for chunk in captions.column("companions").chunks
    ]
    captions = _replace(captions, "companions", companions)
    images = pc.add(captions.column("image"), pa.scalar(image_start, pa.int32()))
    return _replace(captions, "image", images.chunks)


def _replace(table: pa.Table, name: str, chunks: list[pa.Array]) -> pa.Table:
    """Returns a table with other values in one of its columns."""
    field, position = table.schema.field(name), table.schema.get_field_index(name)
    return table.set_column(position, field, pa.chunked_array(chunks, field.type))
