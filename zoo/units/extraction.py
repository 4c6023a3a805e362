"""Extraction: writes the units of captions to a file, with their counts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from zoo.support.files import check_writable
from zoo.units.counts import Counts, counts_path, parse_counts, read_counts_file, write_counts
from zoo.units.extractor import CaptionRow, UnitExtractor
from zoo.units.parquet import SUFFIX, read_metadata, write_unit_rows
from zoo.units.reader import record_to_dict, unit_files, write_units

COUNTS = "counts"


def write_extracted_units(
    extractor: UnitExtractor,
    captions: Sequence[CaptionRow],
    out: Path,
    progress: Callable[[int], None] | None = None,
    extra_metadata: Mapping[str, str] | None = None,
    partial_path: Path | None = None,
) -> Counts:
    """Extracts units and writes one record per caption.

    The file appears only when it is complete.

    Args:
        extractor: Finds the units and makes their foils.
        captions: Captions, each as (caption, caption_id, image_id), in the order of the records.
        out: The output file: Parquet if its name ends in .parquet, otherwise JSON lines.
        progress: Called with the number of captions that have just been completed.
        extra_metadata: Further entries of a Parquet file's metadata.
        partial_path: The path next to which the extractor may store partial results; `out` by
            default.

    Returns:
        The counts of what was found and dropped. They are also stored in the metadata of a Parquet
        file, or next to a file of JSON lines.

    Raises:
        ZooError: The extractor yields wrong records, or the file cannot be written.
    """
    extractor.output_path = partial_path or out
    counts, dropped_before = Counts(), Counter(extractor.dropped_foils)
    records = counts.count_records(extractor.validated_records(captions, progress))

    def build_metadata() -> dict[str, str]:
        counts.dropped = Counter(extractor.dropped_foils) - dropped_before
        return {**(extra_metadata or {}), COUNTS: counts.to_json()}

    if out.suffix == SUFFIX:
        write_unit_rows(map(record_to_dict, records), out, build_metadata)
    else:
        write_units(records, out)
        build_metadata()
        write_counts(counts, out)
    return counts


def check_output(out: Path, overwrite: bool) -> None:
    """Checks, before any work is done, that the output files of `extract` can be written.

    Args:
        out: The units file. Its counts are a second file unless it is Parquet.
        overwrite: Whether existing files may be overwritten.

    Raises:
        ZooError: A file cannot be written, or exists already.
    """
    for file in [out] if out.suffix == SUFFIX else [out, counts_path(out)]:
        check_writable(file, overwrite)


def total_stored_counts(units: Path) -> Counts | None:
    """Returns the counts that `extract` stored, or None if a file has none.

    Args:
        units: A units file, or a folder of them.

    Raises:
        ZooError: The path does not exist, or a Parquet file cannot be read.
    """
    total = Counts()
    for file in unit_files(units):
        counts = parquet_counts(file) if file.suffix == SUFFIX else read_counts_file(file)
        if counts is None:
            return None
        total += counts
    return total


def parquet_counts(file: Path) -> Counts | None:
    """Returns the counts in the metadata of a Parquet file, or None if there are none.

    Raises:
        ZooError: The file cannot be read.
    """
    try:
        return parse_counts(read_metadata(file)[COUNTS])
    except (KeyError, ValueError):
        return None
