"""Unit tables: the records of a units file, compiled once and decoded on access.

units.arrow   caption id, caption, and the record in msgpack
index.arrow   row of each caption id
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from zoo.support.compiled_tables import (
    CompiledTables,
    Notes,
    Writer,
    build_in_memory,
    load_or_build_tables,
    split_into_batches,
)
from zoo.support.progress import track
from zoo.support.text_files import sha256
from zoo.support.text_index import INDEX, TextIndex, build_text_index
from zoo.units.counts import KINDS, Counts
from zoo.units.reader import unit_files, unit_records
from zoo.units.record import UnitRecord

UNITS = pa.schema(
    [("caption_id", pa.string()), ("caption", pa.string()), ("record", pa.large_binary())]
)

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(UnitRecord)


class UnitTable(Mapping[str, UnitRecord]):
    """Records by caption id, in file order.

    Args:
        tables: The tables compiled by `unit_table`.
    """

    def __init__(self, tables: CompiledTables) -> None:
        self.tables = tables
        self._records = tables["units"].column("record")
        self._keys = TextIndex(self.caption_ids, tables["index"])
        self._last: UnitRecord | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return UnitTable, (self.tables,)

    @property
    def caption_ids(self) -> pa.ChunkedArray:
        """The caption ids in row order."""
        return self.tables["units"].column("caption_id")

    @property
    def captions(self) -> pa.ChunkedArray:
        """The captions in row order."""
        return self.tables["units"].column("caption")

    @property
    def sources_and_counts(self) -> Notes:
        """The sources of the units, and the numbers of captions, units and foils by edit."""
        return self.tables.notes

    def __getitem__(self, caption_id: str) -> UnitRecord:
        last_record = self._last  # each row of a batch reads its record several times
        if last_record is not None and last_record.caption_id == caption_id:
            return last_record
        rows = self._keys.rows(caption_id)
        if not rows:
            raise KeyError(caption_id)
        self._last = record = _DECODER.decode(self._records[rows[0]].as_buffer())
        return record

    def __contains__(self, caption_id: object) -> bool:
        return isinstance(caption_id, str) and bool(self._keys.rows(caption_id))

    def __iter__(self) -> Iterator[str]:
        return (caption_id.as_py() for caption_id in self.caption_ids)

    def __len__(self) -> int:
        return len(self.caption_ids)

    def count_covered_captions(self, caption_ids: pa.ChunkedArray) -> int:
        """Returns the number of captions that have a record."""
        return int(pc.sum(pc.is_in(caption_ids, self.caption_ids)).as_py() or 0)


def unit_table(path: str | Path) -> UnitTable:
    """Returns the table of a units file or folder; see `read_units`.

    Raises:
        ZooError: A file is invalid, or the table cannot be written.
    """

    def make(writer: Writer) -> Notes:
        counts, ids, sources = Counts(), list[str](), dict[int, dict[str, Any]]()

        def rows() -> Iterator[tuple[str, str, bytes]]:
            for record in track(counts.count_records(unit_records(path)), "compiling units"):
                ids.append(record.caption_id)
                sources[id(record.source)] = record.source  # records share these objects
                yield record.caption_id, record.caption, _ENCODER.encode(record)

        writer.write("units", UNITS, map(_batch, split_into_batches(rows())))
        writer.write("index", INDEX, [build_text_index(ids)])
        distinct = {json.dumps(source, sort_keys=True): source for source in sources.values()}
        return {
            "sources": [distinct[key] for key in sorted(distinct)],
            "captions": counts.captions,
            **{kind: counts.units[kind] for kind in KINDS},
            "foils": dict(sorted(counts.foils.items())),
        }

    try:
        files = [[file.name, sha256(file)] for file in unit_files(path)]
    except OSError:  # `unit_records` raises an error with details
        return UnitTable(build_in_memory(make))
    return UnitTable(load_or_build_tables("units", {"files": files}, make))


def _batch(rows: list[tuple[str, str, bytes]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_pydict(dict(zip(UNITS.names, columns, strict=True)), UNITS)
