"""Units files in Parquet: one record a row, under the names that a line of JSON has."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError
from zoo.support.files import write_atomically

SUFFIX = ".parquet"
_ROWS = 4096  # held as objects of Python at a time
_NAMED = ("caption_id", "image_id", "caption")
_SOURCE = "source"


def _struct(*names: str, **others: pa.DataType) -> pa.DataType:
    return pa.struct([*((name, pa.string()) for name in names), *others.items()])


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _NAMED),
        ("entities", pa.list_(_struct("text", foils=pa.list_(_struct("text", "edit"))))),
        (
            "relations",
            pa.list_(
                _struct(
                    *("subject", "predicate", "object"),
                    foils=pa.list_(
                        _struct("subject", "predicate", "object", "edit", "component", "part")
                    ),
                )
            ),
        ),
        # what made a unit is of no fixed form
        (_SOURCE, pa.string()),
    ]
)


def write_rows(
    rows: Iterable[dict[str, Any]], path: Path, notes: Callable[[], dict[str, str]]
) -> None:
    """Writes a file that appears when it is whole, or not at all.

    Args:
        rows: The records, in the schema of a units file.
        path: The file.
        notes: Is asked for what the file's metadata says besides, once all rows were taken.

    Raises:
        ZooError: The system refuses.
    """
    batches: list[pa.RecordBatch] = []
    taken: list[dict[str, Any]] = []

    def pack() -> None:
        batches.append(pa.RecordBatch.from_pylist(taken, SCHEMA))
        taken.clear()

    for row in rows:
        taken.append({**row, _SOURCE: json.dumps(row[_SOURCE], ensure_ascii=False)})
        if len(taken) == _ROWS:
            pack()
    pack()
    table = pa.Table.from_batches(batches).replace_schema_metadata(notes())
    with write_atomically(path) as part:
        pq.write_table(table, part)


def read_rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each row with its place, 'FILE[ROW]'.

    Args:
        file: The file.

    Raises:
        ZooError: The file cannot be read, lacks a column, or a source is no JSON.
    """
    shard = _open_parquet(file)
    there = [name for name in SCHEMA.names if name in shard.schema_arrow.names]
    lacks = [name for name in SCHEMA.names if name not in (*there, _SOURCE)]
    if lacks:
        raise ZooError(
            f"{file} has no column {lacks[0]!r} (it has "
            f"{', '.join(map(repr, shard.schema_arrow.names))}): a units file has "
            f"{', '.join(SCHEMA.names)}"
        )
    number = 0
    for batch in shard.iter_batches(_ROWS, columns=there):
        for row in batch.to_pylist():
            place = f"{file}[{number}]"
            yield place, {**row, _SOURCE: _source(row.get(_SOURCE), place)}
            number += 1


def notes_of(file: Path) -> dict[str, str]:
    """Returns what the metadata of a file says, besides Parquet's own.

    Raises:
        ZooError: The file cannot be read.
    """
    kept = _open_parquet(file).schema_arrow.metadata or {}
    return {name.decode(): value.decode(errors="replace") for name, value in kept.items()}


def _open_parquet(file: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise ZooError(
            f"{file} cannot be read as Parquet ({error}): extract the units of its captions anew"
        ) from error


def _source(kept: Any, place: str) -> Any:
    """Returns what made the units of a row, which others may keep as a structure."""
    if not isinstance(kept, str):
        return kept or {}
    try:
        return json.loads(kept)
    except ValueError as error:
        raise ZooError(
            f"{place}: field 'source' is no JSON ({error}): mend the row, or leave it empty"
        ) from error
