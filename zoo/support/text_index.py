"""TextIndex: an index from the text of a column to its rows, without a Python object per row."""

from bisect import bisect_left
from collections.abc import Iterable
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

INDEX = pa.schema([("hash", pa.int64()), ("row", pa.int64())])


class TextIndex:
    """Finds rows by the text of a column.

    Args:
        column: The column.
        index: The index of the column, from `build_text_index`.
    """

    def __init__(self, column: pa.ChunkedArray, index: pa.Table) -> None:
        self.column = column
        self._hashes, self._rows = (_column_values(index.column(name)).data for name in INDEX.names)

    def rows(self, key: str) -> list[int]:
        """Returns the rows with this text, in order."""
        hashed = _hash(key)
        matches = []
        for place in range(bisect_left(self._hashes, hashed), len(self._hashes)):
            if self._hashes[place] != hashed:
                break
            row = self._rows[place]
            if self.column[row].as_py() == key:
                matches.append(row)
        return matches


def build_text_index(keys: Iterable[str]) -> pa.RecordBatch:
    """Builds the index of the texts of a column, for `TextIndex`."""
    hashes = np.fromiter(map(_hash, keys), np.int64)
    order = np.argsort(hashes, kind="stable")
    return pa.RecordBatch.from_arrays([pa.array(hashes[order]), pa.array(order)], schema=INDEX)


def _hash(text: str) -> int:
    return crc32(text.encode())


def _column_values(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Returns the values of a single-batch column without copying them."""
    values: NDArray[np.int64] = column.chunk(0).to_numpy()
    return values
