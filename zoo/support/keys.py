"""Keys: rows of a table by the text of a column, without an object of Python for each."""

from bisect import bisect_left
from collections.abc import Iterable
from zlib import crc32

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

INDEX = pa.schema([("hash", pa.int64()), ("row", pa.int64())])


class Keys:
    """Finds rows by the text of a column.

    Args:
        column: The column.
        index: What `index_of` made of it.
    """

    def __init__(self, column: pa.ChunkedArray, index: pa.Table) -> None:
        self.column = column
        self._hashes, self._rows = (_column_values(index.column(name)).data for name in INDEX.names)

    def rows(self, key: str) -> list[int]:
        """Returns the rows of that text, in their order."""
        hashed = _hash(key)
        found = []
        for place in range(bisect_left(self._hashes, hashed), len(self._hashes)):
            if self._hashes[place] != hashed:
                break
            row = self._rows[place]
            if self.column[row].as_py() == key:
                found.append(row)
        return found


def index_of(keys: Iterable[str]) -> pa.RecordBatch:
    """Returns the index of the texts of a column, by which `Keys` finds rows."""
    hashes = np.fromiter(map(_hash, keys), np.int64)
    order = np.argsort(hashes, kind="stable")
    return pa.RecordBatch.from_arrays([pa.array(hashes[order]), pa.array(order)], schema=INDEX)


def _hash(text: str) -> int:
    return crc32(text.encode())


def _column_values(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Returns a column of one batch as it lies in the file."""
    found: NDArray[np.int64] = column.chunk(0).to_numpy()
    return found
