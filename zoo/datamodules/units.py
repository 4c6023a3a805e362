"""Units held to the captions that they are of, column by column."""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.language.text import same_words
from zoo.sources.samples import CAPTIONS, Samples
from zoo.units.sampler import UnitSampler
from zoo.units.table import UnitTable

MEND = "extract units from the captions that are trained on"
KNOWN = ("caption_id", "caption", "origin")
_NONE = pa.schema([CAPTIONS.field(name) for name in KNOWN]).empty_table()


def check_units(
    units: UnitSampler,
    samples: Iterable[Samples],
    others: Callable[[], Iterable[Samples]] = tuple,
) -> UnitTable:
    """Returns the records of units by caption id, checked against the captions.

    Args:
        units: Draws units from a units file.
        samples: Samples in use.
        others: Reads further samples that units may be of (other splits of the files). It is called
            only if a record asks for them.

    Raises:
        ZooError: A record is of an unknown caption, or of other words than the caption has, or two
            captions share an id.
    """
    records = units.records()
    known = _join_samples(samples)
    _refuse_shared_ids(known)
    rows = _places(records, known)
    if rows.null_count:
        known = pa.concat_tables([known, _join_samples(others())])
        rows = _places(records, known)
    if rows.null_count:
        unknown = records.caption_ids.filter(pc.is_null(rows))
        raise ZooError(
            f"{units.file} has units for {len(unknown):,} captions that the data does not have "
            f"({', '.join(map(repr, unknown[:3].to_pylist()))}): {MEND}"
        )
    same = pc.equal(records.captions, known.column("caption").take(rows))
    for row in np.flatnonzero(~same.to_numpy()).tolist():
        written, found = records.captions[row].as_py(), known.slice(rows[row].as_py(), 1)
        said, origin = (found.column(name)[0].as_py() for name in ("caption", "origin"))
        if not same_words(written, said):
            raise ZooError(
                f"{units.file} has caption {records.caption_ids[row].as_py()!r} as "
                f"{written[:60]!r}, and {origin} as {said[:60]!r}: {MEND}"
            )
    return records


def _join_samples(samples: Iterable[Samples]) -> pa.Table:
    tables = [each.captions.select(KNOWN) for each in samples]
    return pa.concat_tables([_NONE, *tables])


def _places(records: UnitTable, known: pa.Table) -> pa.ChunkedArray:
    """Returns for each record the row of its caption, null where there is none."""
    return pc.index_in(records.caption_ids, known.column("caption_id"))


def _refuse_shared_ids(known: pa.Table) -> None:
    """Refuses an id of two captions; a caption in two readers of one file is one."""
    ids = known.column("caption_id")
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    first: dict[str, str] = {}
    for caption_id, origin in zip(ids, known.column("origin"), strict=True):
        here = origin.as_py()
        before = first.setdefault(caption_id.as_py(), here)
        if before != here:
            raise ZooError(
                f"{here} has caption id {caption_id.as_py()!r}, and so has {before}: make ids "
                "unique"
            )
