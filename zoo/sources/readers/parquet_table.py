"""Tables of images and captions in one or more Parquet files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError, suggest_names
from zoo.sources.image_paths import OwnImages
from zoo.sources.readers.base import Reader
from zoo.sources.readers.tables import CAPTION_COLUMNS, IMAGE_COLUMNS
from zoo.sources.sample import Sample
from zoo.support.text_files import strip_caption

_NAMED = ("caption_id", "image_id", "split")
_ROWS = 4096  # rows that are Python objects at a time


class ParquetTable(Reader):
    """A Parquet file, or a folder of Parquet files, with one caption per row.

    Optional columns are `caption_id` (default: the row number, from 0, counted over all files),
    `image_id` and `split`. Images are paths or image references such as 'coco:391895'.

    Args:
        path: A file, or a folder with files at any depth.
        image_column: Column of the images. If None, the first of filepath, image, image_path,
            file_name, filename, path.
        caption_column: Column of the captions. If None, the first of title, caption, text,
            sentence, description.
    """

    def __init__(
        self, path: Path, image_column: str | None = None, caption_column: str | None = None
    ) -> None:
        self.path = Path(path)
        self.image_column, self.caption_column = image_column, caption_column

    @property
    def files(self) -> tuple[Path, ...]:
        """The file, or the sorted files of the folder."""
        if self.path.is_dir():
            return tuple(sorted(self.path.glob("**/*.parquet")))
        return (self.path,)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each row."""
        if not self.files:
            raise ZooError(f"{self.path} has no *.parquet files: give another folder")
        start = 0
        for file in self.files:
            shard = parquet_file(file)
            yield from self._samples(file, shard, start)
            start += shard.metadata.num_rows

    def _samples(self, file: Path, shard: pq.ParquetFile, start: int) -> Iterator[Sample]:
        """Yields the samples of a file, numbered from `start`."""
        image = self._column(file, shard, self.image_column, "image_column", IMAGE_COLUMNS)
        text = self._column(file, shard, self.caption_column, "caption_column", CAPTION_COLUMNS)
        optional = [name for name in _NAMED if name in shard.schema_arrow.names]
        images = OwnImages(file.parent)
        for number, row in enumerate(_rows(shard, list(dict.fromkeys([image, text, *optional])))):
            origin = f"{file}[{number}]"
            for column in (image, text):
                if not isinstance(row[column], str) or not row[column].strip():
                    raise ZooError(
                        f"{origin} has {row[column]!r:.40} in column {column!r}: write a text, or "
                        "remove the row"
                    )
            ref = images.ref(row[image])
            caption_id, image_id, split = (row.get(name) for name in _NAMED)
            yield Sample(
                ref,
                strip_caption(row[text], origin),
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
        column_names = shard.schema_arrow.names
        candidates = (given,) if given is not None else names
        column = next((name for name in candidates if name in column_names), None)
        if column is None:
            suggestion = suggest_names(candidates[0], column_names)
            raise ZooError(
                f"{file} has no column {' or '.join(map(repr, candidates))}{suggestion}: "
                f"set {argument} to one of {', '.join(map(repr, column_names))}"
            )
        return column


def parquet_file(file: Path) -> pq.ParquetFile:
    """Opens a Parquet file.

    Raises:
        ZooError: The file cannot be read.
    """
    try:
        return pq.ParquetFile(file)
    except (OSError, pa.ArrowException) as error:
        raise ZooError(
            f"{file} is not a valid Parquet file ({error}): download or write it again"
        ) from error


def _rows(shard: pq.ParquetFile, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    for batch in shard.iter_batches(_ROWS, columns=list(columns)):
        yield from batch.to_pylist()
