"""Reads cells of Parquet files and of the Arrow files of Hugging Face datasets."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError

ARROW = ".arrow"


class TableFiles:
    """Reads single cells. Arrow files are memory-mapped; of Parquet a column chunk is read."""

    def __init__(self) -> None:
        self._columns: dict[tuple[Path, str, int], list[Any]] = {}
        self._batches: dict[Path, list[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Returns an empty state: each process opens the files itself."""
        return {"_columns": {}, "_batches": {}}

    def cell(self, path: Path, row: int, column: str, reference: str) -> Any:
        """Returns a cell.

        Args:
            path: The file.
            row: The number of the row, from 0.
            column: The name of the column.
            reference: Name of the cell in error messages.

        Raises:
            ZooError: The file has no such column or row.
        """
        if path.suffix == ARROW:
            if path not in self._batches:
                self._batches[path] = arrow_batches(path)
            parts = self._batches[path]
            names, sizes = parts[0].schema.names if parts else [], [part.num_rows for part in parts]
        else:
            file = pq.ParquetFile(path)
            names = file.schema_arrow.names
            groups = range(file.num_row_groups)
            sizes = [file.metadata.row_group(group).num_rows for group in groups]
        if column not in names:
            raise ZooError(
                f"{path} has no column {column!r}, which is used by {reference}: its columns are "
                f"{', '.join(names)}"
            )
        start = 0
        for part, n in enumerate(sizes):
            if row < start + n:
                if path.suffix == ARROW:
                    return parts[part].column(column)[row - start].as_py()
                key = (path, column, part)
                if key not in self._columns:
                    values = file.read_row_group(part, columns=[column])[column]
                    self._columns = {key: values.to_pylist()}
                return self._columns[key][row - start]
            start += n
        raise ZooError(
            f"{path} has {start} rows, but {reference} refers to row {row}: download the file again"
        )


def arrow_batches(path: Path) -> list[Any]:
    """Returns the batches of an Arrow file, memory-mapped.

    Raises:
        ZooError: The file is damaged.
    """
    try:
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as stream:
            return list(stream)
    except (OSError, pa.ArrowInvalid) as error:
        raise ZooError(f"{path} is not a valid Arrow file ({error}): save it again") from error
