"""Tables of images and captions in Parquet, in one file or in many."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError, suggest_names
from zoo.sources.own_images import OwnImages
from zoo.sources.readers.base import Reader
from zoo.sources.readers.tables import CAPTION_COLUMNS, IMAGE_COLUMNS
from zoo.sources.sample import Sample
from zoo.support.text_files import caption

_NAMED = ("caption_id", "image_id", "split")
_ROWS = 4096  # held as objects of Python at a time


class ParquetTable(Reader):
    """A Parquet file, or a folder of them, with a caption a row.

    Besides image and caption a row may have `caption_id` (its place among all rows, from 0, where
    there is no such column), `image_id` and `split`. Images are paths or references as this
    project writes them ('coco:391895').

    Args:
        path: A file, or a folder with files at any depth.
        image_column: Column of the images. Where None, the first of filepath, image, image_path,
            file_name, filename, path.
        caption_column: Column of the captions. Where None, the first of title, caption, text,
            sentence, description.
    """

    def __init__(
        self, path: Path, image_column: str | None = None, caption_column: str | None = None
    ) -> None:
        self.path = Path(path)
        self.image_column, self.caption_column = image_column, caption_column

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, or those of the folder by name."""
        if self.path.is_dir():
            return tuple(sorted(self.path.glob("**/*.parquet")))
        return (self.path,)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each row."""
        if not self.files:
            raise ZooError(f"{self.path} has no *.parquet: give a folder that has some")
        start = 0
        for file in self.files:
            shard = parquet_file(file)
            yield from self._samples(file, shard, start)
            start += shard.metadata.num_rows

    def _samples(self, file: Path, shard: pq.ParquetFile, start: int) -> Iterator[Sample]:
        """Yields the samples of a file, the first of which is the `start`-th of all."""
        image = self._column(file, shard, self.image_column, "image_column", IMAGE_COLUMNS)
        text = self._column(file, shard, self.caption_column, "caption_column", CAPTION_COLUMNS)
        named = [name for name in _NAMED if name in shard.schema_arrow.names]
        images = OwnImages(file.parent)
        for number, row in enumerate(_rows(shard, list(dict.fromkeys([image, text, *named])))):
            origin = f"{file}[{number}]"
            for column in (image, text):
                if not isinstance(row[column], str) or not row[column].strip():
                    raise ZooError(
                        f"{origin} has {row[column]!r:.40} as {column!r}: write a text, or take "
                        "the row out"
                    )
            ref = images.ref(row[image])
            caption_id, image_id, split = (row.get(name) for name in _NAMED)
            yield Sample(
                ref,
                caption(row[text], origin),
                str(ref if image_id is None else image_id),
                str(start + number if caption_id is None else caption_id),
                None if split is None else str(split),
                origin=origin,
            )

    def _column(
        self,
        file: Path,
        shard: pq.ParquetFile,
        given: str | None,
        argument: str,
        names: Sequence[str],
    ) -> str:
        there = shard.schema_arrow.names
        wanted = (given,) if given is not None else names
        found = next((name for name in wanted if name in there), None)
        if found is None:
            raise ZooError(
                f"{file} has no column "
                f"{' nor '.join(map(repr, wanted))}{suggest_names(wanted[0], there)}: "
                f"it has {', '.join(map(repr, there))}; say by {argument} which one it is"
            )
        return found


def parquet_file(file: Path) -> pq.ParquetFile:
    """Opens a Parquet file.

    Raises:
        ZooError: It cannot be read.
    """
    try:
        return pq.ParquetFile(file)
    except (OSError, pa.ArrowException) as error:
        raise ZooError(
            f"{file} is not a whole parquet file ({error}): fetch or write it again"
        ) from error


def _rows(shard: pq.ParquetFile, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for batch in shard.iter_batches(_ROWS, columns=list(columns)):
        yield from batch.to_pylist()
