"""Rows of the hub's parquet files, whose images stay where they are."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.schema import record

T = TypeVar("T", bound=msgspec.Struct)

MEND = "fetch the file again"
_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})(?:-[0-9a-f]+)?\.parquet")


def shards(path: Path) -> list[Path]:
    """Returns the files that a table was cut into, in their order.

    Args:
        path: One of them, named as the hub names them (test-00000-of-00003.parquet), or a file that
            is whole.

    Raises:
        ZooError: One of them is absent.
    """
    named = _SHARD.fullmatch(path.name)
    if named is None:
        return [path]
    beside = {
        int(other[2]): path.with_name(other[0])
        for other in map(_SHARD.fullmatch, (file.name for file in sorted(path.parent.iterdir())))
        if other is not None and (other[1], other[3]) == (named[1], named[3])
    }
    absent = next((i for i in range(int(named[3])) if i not in beside), None)
    if absent is not None:
        raise ZooError(
            f"{path.parent} lacks {named[1]}-{absent:05}-of-{named[3]}.parquet, "
            "one of the files that a table was cut into: fetch it"
        )
    return [beside[i] for i in sorted(beside)]


def rows(
    path: Path, schema: type[T], images: Sequence[str]
) -> Iterator[tuple[str, T, tuple[ImageRef, ...]]]:
    """Reads the rows of a file; columns that the schema does not name are not read.

    Args:
        path: The file.
        schema: A struct of msgspec's, whose fields are the columns.
        images: The columns that hold images.

    Yields:
        The place of each row, 'FILE[NUMBER]', its record, and references to its images.

    Raises:
        ZooError: The file is no whole parquet file, lacks a column, or a row is wrong.
    """
    wanted = schema.__struct_fields__
    try:
        names = pq.read_schema(path).names
        table = pq.read_table(path, columns=[name for name in wanted if name in names])
    except (OSError, pa.ArrowInvalid) as error:
        raise ZooError(f"{path} is not a whole parquet file ({error}): {MEND}") from error
    lacking = next((name for name in images if name not in names), None)
    if lacking is not None:
        raise ZooError(f"{path} has no column {lacking}, only {', '.join(names)}: {MEND}")
    for i, row in enumerate(table.to_pylist()):
        place = f"{path}[{i}]"
        refs = tuple(ImageRef("parquet", f"{path}#{i}#{name}") for name in images)
        yield place, record(row, schema, place, MEND), refs
