"""Rows of parquet files from the Hugging Face hub; images are referenced, not read."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.schema import DOWNLOAD_AGAIN, validate_record

T = TypeVar("T", bound=msgspec.Struct)

_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})(?:-[0-9a-f]+)?\.parquet")


def shard_paths(path: Path) -> list[Path]:
    """Returns the shards of a table, in order.

    Args:
        path: One of the shards, named as on the hub (test-00000-of-00003.parquet), or an unsharded
            file.

    Raises:
        ZooError: A shard is missing.
    """
    name_match = _SHARD.fullmatch(path.name)
    if name_match is None:
        return [path]
    shard_files = {
        int(other_match[2]): path.with_name(other_match[0])
        for other_match in map(
            _SHARD.fullmatch, (file.name for file in sorted(path.parent.iterdir()))
        )
        if other_match is not None
        and (other_match[1], other_match[3]) == (name_match[1], name_match[3])
    }
    absent = next((i for i in range(int(name_match[3])) if i not in shard_files), None)
    if absent is not None:
        raise ZooError(
            f"{path.parent}: the shard {name_match[1]}-{absent:05}-of-{name_match[3]}.parquet "
            "is missing: download it"
        )
    return [shard_files[i] for i in sorted(shard_files)]


def read_parquet_rows(
    path: Path, schema: type[T], images: Sequence[str]
) -> Iterator[tuple[str, T, tuple[ImageRef, ...]]]:
    """Reads the rows of a file; columns that the schema does not name are not read.

    Args:
        path: The file.
        schema: A msgspec struct whose fields are the columns.
        images: The columns that hold images.

    Yields:
        The place of each row, 'FILE[NUMBER]', its record, and references to its images.

    Raises:
        ZooError: The file is not a complete parquet file, a column is missing, or a row is invalid.
    """
    fields = schema.__struct_fields__
    try:
        names = pq.read_schema(path).names
        table = pq.read_table(path, columns=[name for name in fields if name in names])
    except (OSError, pa.ArrowInvalid) as error:
        raise ZooError(
            f"{path} is not a complete parquet file ({error}): {DOWNLOAD_AGAIN}"
        ) from error
    lacking = next((name for name in images if name not in names), None)
    if lacking is not None:
        raise ZooError(f"{path} has no column {lacking}, only {', '.join(names)}: {DOWNLOAD_AGAIN}")
    for i, row in enumerate(table.to_pylist()):
        place = f"{path}[{i}]"
        refs = tuple(ImageRef("parquet", f"{path}#{i}#{name}") for name in images)
        yield place, validate_record(row, schema, place, DOWNLOAD_AGAIN), refs
