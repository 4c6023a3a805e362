"""Extraction: the units of captions, written into a file with what was counted on the way."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from zoo.support.files import check_place
from zoo.units.counts import Counts, counts_file, counts_of, keep_beside, kept_beside
from zoo.units.extract import Captioned, UnitExtractor
from zoo.units.parquet import SUFFIX, notes_of, write_rows
from zoo.units.reader import to_json, unit_files, write_units

COUNTS = "counts"


def extract(
    extractor: UnitExtractor,
    captions: Sequence[Captioned],
    out: Path,
    progress: Callable[[int], None] | None = None,
    notes: Mapping[str, str] | None = None,
    beside: Path | None = None,
) -> Counts:
    """Writes one record a caption.

    The file appears when it is whole.

    Args:
        extractor: Finds the units and makes their foils.
        captions: Captions, each as (caption, caption_id, image_id), in the order of the records.
        out: The file to write: Parquet where its name ends so, else JSON lines.
        progress: Is told how many more captions are done.
        notes: What a Parquet file's metadata says besides.
        beside: The path beside which the extractor may keep what it has so far; `out` by default.

    Returns:
        What was found and dropped. It is kept in the metadata of a Parquet file, and beside any
        other.

    Raises:
        ZooError: The extractor gives something else, or the file cannot be written.
    """
    extractor.out = beside or out
    counts, before = Counts(), Counter(extractor.dropped_foils)
    records = counts.count_records(extractor.records(captions, progress))

    def note_fields() -> dict[str, str]:
        counts.dropped = Counter(extractor.dropped_foils) - before
        return {**(notes or {}), COUNTS: counts.text()}

    if out.suffix == SUFFIX:
        write_rows(map(to_json, records), out, note_fields)
    else:
        write_units(records, out)
        note_fields()
        keep_beside(counts, out)
    return counts


def check_out(out: Path, overwrite: bool) -> None:
    """Makes sure, before any work is done, that the files of `extract` can be written.

    Args:
        out: The units file; a file of counts stands beside it where it is no Parquet.
        overwrite: Whether files that are there may be lost.

    Raises:
        ZooError: One cannot be written, or is there.
    """
    for file in [out] if out.suffix == SUFFIX else [out, counts_file(out)]:
        check_place(file, overwrite)


def kept_counts(units: Path) -> Counts | None:
    """Returns what `extract` counted, None where it is not known of every file.

    Args:
        units: A units file, or a folder of them.

    Raises:
        ZooError: The path does not exist, or a Parquet file cannot be read.
    """
    total = Counts()
    for file in unit_files(units):
        found = counts_within(file) if file.suffix == SUFFIX else kept_beside(file)
        if found is None:
            return None
        total += found
    return total


def counts_within(file: Path) -> Counts | None:
    """Returns the counts in the metadata of a Parquet file, None where there are none.

    Raises:
        ZooError: The file cannot be read.
    """
    try:
        return counts_of(notes_of(file)[COUNTS])
    except (KeyError, ValueError):
        return None
