"""Checks that units belong to the captions, column by column."""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.language.text import equal_when_normalized
from zoo.sources.readers.base import Reader
from zoo.sources.samples import CAPTIONS, Samples
from zoo.units.sampler import UnitSampler
from zoo.units.table import UnitTable

ADVICE = "extract units from the training captions"
KNOWN = ("caption_id", "caption", "origin")
_NONE = pa.schema([CAPTIONS.field(name) for name in KNOWN]).empty_table()


def check_units_file(units: UnitSampler, reader: Reader) -> None:
    """Checks that the units file exists, since its own error cannot name the captions.

    Args:
        units: Draws units from the file.
        reader: Reads the training captions.

    Raises:
        ZooError: The file does not exist. If it lies in another folder than the captions, a recipe
            set it for other captions, and the message proposes a file of its own.
    """
    file = Path(units.file)
    if file.exists() or not reader.files:
        return
    new_file, commands = extraction_commands(units, reader)
    if new_file == file and len(commands) == 1:
        raise ZooError(
            f"the units file {file} does not exist: `{commands[0]}` creates it from the training "
            "captions"
        )
    captions = " and ".join(command.split()[3] for command in commands)
    raise ZooError(
        f"the units file {file} does not exist, and units must belong to the training captions in "
        f"{captions}: run {' and '.join(f'`{command}`' for command in commands)}, and set "
        f"--data.units.file {new_file}"
    )


def extraction_commands(units: UnitSampler, reader: Reader) -> tuple[Path, list[str]]:
    """Returns the file to write units of the training captions to, and the commands that do it.

    It is the file that was set, unless a recipe set it for captions in another folder. The units of
    several readers are written to one folder.

    Args:
        units: Draws units from a file.
        reader: Reads the training captions, from at least one file.
    """
    file = Path(units.file)
    captions = list(dict.fromkeys(part.files[0] for part in reader.parts if part.files))
    if len(captions) == 1:
        if file.parent != captions[0].parent:
            file = captions[0].with_name("units.jsonl")
        return file, [f"zoo units extract {captions[0]} --out {file}"]
    folder = file.with_suffix("")
    return folder, [
        f"zoo units extract {path} --out {folder / f'units{number}.jsonl'}"
        for number, path in enumerate(captions, start=1)
    ]


def read_checked_units(
    units: UnitSampler,
    samples: Iterable[Samples],
    read_other_samples: Callable[[], Iterable[Samples]] = tuple,
) -> UnitTable:
    """Returns the records of units by caption id, checked against the captions.

    Args:
        units: Draws units from a units file.
        samples: Samples in use.
        read_other_samples: Reads further samples that units may belong to (other splits of the
            files). It is only called if a record needs them.

    Raises:
        ZooError: A record belongs to an unknown caption, or its words differ from the caption's, or
            two captions share an id.
    """
    all_captions = _concatenate_captions(samples)
    _refuse_shared_ids(all_captions)
    records = units.records()
    rows = _caption_rows(records, all_captions)
    if rows.null_count:
        all_captions = pa.concat_tables([all_captions, _concatenate_captions(read_other_samples())])
        rows = _caption_rows(records, all_captions)
    if rows.null_count:
        unknown = records.caption_ids.filter(pc.is_null(rows))
        raise ZooError(
            f"{units.file} has units for {len(unknown):,} captions that the data does not have "
            f"({', '.join(map(repr, unknown[:3].to_pylist()))}): {ADVICE}"
        )
    is_same = pc.equal(records.captions, all_captions.column("caption").take(rows))
    for row in np.flatnonzero(~is_same.to_numpy()).tolist():
        unit_caption, caption_row = (
            records.captions[row].as_py(),
            all_captions.slice(rows[row].as_py(), 1),
        )
        caption, origin = (caption_row.column(name)[0].as_py() for name in ("caption", "origin"))
        if not equal_when_normalized(unit_caption, caption):
            raise ZooError(
                f"{units.file} has caption {records.caption_ids[row].as_py()!r} as "
                f"{unit_caption[:60]!r}, and {origin} as {caption[:60]!r}: {ADVICE}"
            )
    return records


def _concatenate_captions(samples: Iterable[Samples]) -> pa.Table:
    tables = [part.captions.select(KNOWN) for part in samples]
    return pa.concat_tables([_NONE, *tables])


def _caption_rows(records: UnitTable, captions: pa.Table) -> pa.ChunkedArray:
    """Returns for each record the row of its caption, null if there is none."""
    return pc.index_in(records.caption_ids, captions.column("caption_id"))


def _refuse_shared_ids(captions: pa.Table) -> None:
    """Rejects an id that two captions share; a caption in two readers of a file counts once."""
    ids = captions.column("caption_id")
    if pc.count_distinct(ids).as_py() == len(ids):
        return
    origins: dict[str, str] = {}
    for caption_id, origin in zip(ids, captions.column("origin"), strict=True):
        current = origin.as_py()
        earlier = origins.setdefault(caption_id.as_py(), current)
        if earlier != current:
            raise ZooError(
                f"{current} has caption id {caption_id.as_py()!r}, and so has {earlier}: make ids "
                "unique"
            )
