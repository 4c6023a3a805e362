"""Tables: cells of parquet files, and of the arrow files that Hugging Face's datasets saves."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from zoo.errors import ZooError

ARROW = ".arrow"


class Tables:
    """Reads cells: of arrow in place, of parquet with the part of the column that they are in."""

    def __init__(self) -> None:
        self._columns: dict[tuple[Path, str, int], list[Any]] = {}
        self._batches: dict[Path, list[Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Returns what another process is sent; it maps the files itself."""
        return {"_columns": {}, "_batches": {}}

    def cell(self, path: Path, row: int, column: str, asked: str) -> Any:
        """Returns a cell.

        Args:
            path: The file.
            row: The number of the row, from 0.
            column: The name of the column.
            asked: What messages call the cell.

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
                f"{path} has no column {column!r}, which {asked} names: it has {', '.join(names)}"
            )
        first = 0
        for part, n in enumerate(sizes):
            if row < first + n:
                if path.suffix == ARROW:
                    return parts[part].column(column)[row - first].as_py()
                key = (path, column, part)
                if key not in self._columns:
                    values = file.read_row_group(part, columns=[column])[column]
                    self._columns = {key: values.to_pylist()}
                return self._columns[key][row - first]
            first += n
        raise ZooError(
            f"{path} has {first} rows, and {asked} names row {row}: fetch the file again"
        )


def arrow_batches(path: Path) -> list[Any]:
    """Returns the batches of an arrow file, which stay on disk.

    Raises:
        ZooError: The file is not whole.
    """
    try:
        with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as stream:
            return list(stream)
    except (OSError, pa.ArrowInvalid) as error:
        raise ZooError(f"{path} is not a whole arrow file ({error}): save it again") from error
