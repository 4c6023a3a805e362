"""The three kinds of files that BindSplit releases: table, overlap per case, lists of cases."""

import csv
import io
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.familiarity.buckets import AMBIGUOUS, BUCKETS, EXCLUDED
from zoo.familiarity.table import BindingTable, to_csv
from zoo.results.familiarity import CaptionOverlap, Labelled, Overlaps
from zoo.support.files import write_atomically

FOLDER = "familiarity"
TABLE, OVERLAP, LISTS = "train_pair_counts.csv", "per_sample_overlap.tsv", "splits"
COLUMNS = ("case", "bucket", "positive", "positive_labels", "negative", "negative_labels")
AGGREGATES = {"ambiguous": AMBIGUOUS, "any_overlap": ("definitely_seen", *AMBIGUOUS)}


def write_release(overlaps: Overlaps, table: BindingTable, out: Path) -> None:
    """Writes the files into folder `familiarity` of a run and replaces existing ones.

    There is one table, and a folder with overlaps and lists per benchmark and subset.

    Args:
        overlaps: The overlap of each case.
        table: The bindings of training captions.
        out: Folder of the results.

    Raises:
        ZooError: The files cannot be written.
    """
    with write_atomically(out / FOLDER, folder=True) as folder:
        (folder / TABLE).write_bytes(to_csv(table, with_description=False))
        for (run, subset), cases in overlaps.items():
            split_cases = sorted((c for c in cases if c.bucket != EXCLUDED), key=_file_position)
            subset_folder = folder.joinpath(
                *(part.replace("/", "_") for part in (str(run), subset))
            )
            (subset_folder / LISTS).mkdir(parents=True)
            (subset_folder / OVERLAP).write_text(_overlap_tsv(split_cases), encoding="utf-8")
            for name, ids in _case_lists(split_cases):
                lines = "".join(f"{case}\n" for case in ids)
                (subset_folder / LISTS / f"{name}.txt").write_text(lines, encoding="utf-8")
        remove_release(out)  # a non-empty folder would not be replaced


def has_release(out: Path) -> bool:
    """Returns whether a folder of results has these files."""
    return (out / FOLDER / TABLE).is_file()


def remove_release(out: Path) -> None:
    """Removes the files of an earlier run; any other folder named `familiarity` is kept."""
    if has_release(out):
        shutil.rmtree(out / FOLDER, ignore_errors=True)


def check_release_folder(out: Path) -> None:
    """Checks, before anything is computed, that the files can be written.

    Args:
        out: Folder of the results.

    Raises:
        ZooError: The folder exists and was not written by zoo.
    """
    folder = out / FOLDER
    empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not empty and not has_release(out):
        raise ZooError(
            f"--familiar_with writes to {folder}, which exists and has no {TABLE} from an earlier "
            "run. Move it, or choose another folder with --out"
        )


def _file_position(overlap: CaptionOverlap) -> int:
    """Returns the position of a case in its file if its id is a number, else 0."""
    return int(overlap.case) if overlap.case.isdecimal() else 0


def _overlap_tsv(cases: Iterable[CaptionOverlap]) -> str:
    buffer = io.StringIO(newline="")
    rows = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    rows.writerow(COLUMNS)
    for case in cases:
        rows.writerow(
            (case.case, case.bucket, *_binding_cells(case.right), *_binding_cells(case.wrong))
        )
    return buffer.getvalue()


def _binding_cells(labelled: Labelled) -> tuple[str, str]:
    bindings = "; ".join(" ".join(binding) for binding, _ in labelled)
    return bindings, "; ".join(label for _, label in labelled)


def _case_lists(cases: list[CaptionOverlap]) -> Iterator[tuple[str, list[str]]]:
    for name, buckets in {**{name: (name,) for name in BUCKETS}, **AGGREGATES}.items():
        yield name, [case.case for case in cases if case.bucket in buckets]
