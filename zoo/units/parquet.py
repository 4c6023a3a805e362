"""Units files in Parquet: one record per row, with the field names of the JSON lines."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError
from zoo.support.files import write_atomically

SUFFIX = ".parquet"
_ROWS_PER_BATCH = 4096  # converted to Python objects at a time
_TEXT_COLUMNS = ("caption_id", "image_id", "caption")
_SOURCE = "source"


def _struct(*text_fields: str, **other_fields: pa.DataType) -> pa.DataType:
    return pa.struct([*((name, pa.string()) for name in text_fields), *other_fields.items()])


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in _TEXT_COLUMNS),
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
        # JSON, since the source of a record has no fixed form
        (_SOURCE, pa.string()),
    ]
)


def write_unit_rows(
    rows: Iterable[dict[str, Any]], path: Path, build_metadata: Callable[[], dict[str, str]]
) -> None:
    """Writes a units file, which appears only when it is complete.

    Args:
        rows: The records, in the schema of a units file.
        path: The file.
        build_metadata: Called after the last row; returns the file's metadata.

    Raises:
        ZooError: The file cannot be written.
    """
    batches: list[pa.RecordBatch] = []
    batch_rows: list[dict[str, Any]] = []

    def pack() -> None:
        batches.append(pa.RecordBatch.from_pylist(batch_rows, SCHEMA))
        batch_rows.clear()

    for row in rows:
        batch_rows.append({**row, _SOURCE: json.dumps(row[_SOURCE], ensure_ascii=False)})
        if len(batch_rows) == _ROWS_PER_BATCH:
            pack()
    pack()
    table = pa.Table.from_batches(batches).replace_schema_metadata(build_metadata())
    with write_atomically(path) as part:
        pq.write_table(table, part)


def read_unit_rows(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each row with its location, 'FILE[ROW]'.

    Args:
        file: The file.

    Raises:
        ZooError: The file cannot be read, a column is missing, or a source is not valid JSON.
    """
    parquet_file = _open_parquet(file)
    present_columns = [name for name in SCHEMA.names if name in parquet_file.schema_arrow.names]
    missing_columns = [name for name in SCHEMA.names if name not in (*present_columns, _SOURCE)]
    if missing_columns:
        raise ZooError(
            f"{file} has no column {missing_columns[0]!r} (it has "
            f"{', '.join(map(repr, parquet_file.schema_arrow.names))}): a units file has "
            f"{', '.join(SCHEMA.names)}"
        )
    number = 0
    for batch in parquet_file.iter_batches(_ROWS_PER_BATCH, columns=present_columns):
        for row in batch.to_pylist():
            location = f"{file}[{number}]"
            yield location, {**row, _SOURCE: _parse_source(row.get(_SOURCE), location)}
            number += 1


def read_metadata(file: Path) -> dict[str, str]:
    """Returns the metadata of a file, without Parquet's own entries.

    Raises:
        ZooError: The file cannot be read.
    """
    raw_metadata = _open_parquet(file).schema_arrow.metadata or {}
    return {name.decode(): value.decode(errors="replace") for name, value in raw_metadata.items()}


def _open_parquet(file: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise ZooError(
            f"{file} cannot be read as Parquet ({error}): extract the units of its captions again"
        ) from error


def _parse_source(value: Any, location: str) -> Any:
    """Parses the source of a row, which other writers may store as a struct."""
    if not isinstance(value, str):
        return value or {}
    try:
        return json.loads(value)
    except ValueError as error:
        raise ZooError(
            f"{location}: field 'source' is not valid JSON ({error}): fix it, or leave it empty"
        ) from error
