"""The three files that BindSplit releases: the table, each case's overlap, and lists of cases."""

import csv
import io
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.familiarity.buckets import AMBIGUOUS, BUCKETS, EXCLUDED
from zoo.familiarity.table import BindingTable, to_csv
from zoo.results.familiar import CaptionOverlap, Labelled, Overlaps
from zoo.support.files import write_atomically

FOLDER = "familiarity"
TABLE, OVERLAP, LISTS = "train_pair_counts.csv", "per_sample_overlap.tsv", "splits"
COLUMNS = ("case", "bucket", "positive", "positive_labels", "negative", "negative_labels")
AGGREGATES = {"ambiguous": AMBIGUOUS, "any_overlap": ("definitely_seen", *AMBIGUOUS)}


def release(overlaps: Overlaps, table: BindingTable, out: Path) -> None:
    """Writes the files into the folder `familiarity` of a run, in the place of former ones.

    The table lies there once, overlaps and lists lie in a folder for each benchmark and subset.

    Args:
        overlaps: The overlap of each case.
        table: The bindings of training captions.
        out: Folder of the results.

    Raises:
        ZooError: They cannot be written.
    """
    with write_atomically(out / FOLDER, folder=True) as folder:
        (folder / TABLE).write_bytes(to_csv(table, says=False))
        for (run, subset), cases in overlaps.items():
            kept = sorted((c for c in cases if c.bucket != EXCLUDED), key=_in_file)
            own = folder.joinpath(*(part.replace("/", "_") for part in (str(run), subset)))
            (own / LISTS).mkdir(parents=True)
            (own / OVERLAP).write_text(_overlap(kept), encoding="utf-8")
            for name, ids in _lists(kept):
                lines = "".join(f"{case}\n" for case in ids)
                (own / LISTS / f"{name}.txt").write_text(lines, encoding="utf-8")
        withdraw(out)  # a folder that holds files is not replaced


def is_released(out: Path) -> bool:
    """Returns whether a folder of results holds these files."""
    return (out / FOLDER / TABLE).is_file()


def withdraw(out: Path) -> None:
    """Removes the files of a former run; a folder `familiarity` of anybody else stays."""
    if is_released(out):
        shutil.rmtree(out / FOLDER, ignore_errors=True)


def check_release(out: Path) -> None:
    """Makes sure, before anything is computed, that the files find their place.

    Args:
        out: Folder of the results.

    Raises:
        ZooError: Something else has the name of their folder.
    """
    folder = out / FOLDER
    empty = folder.is_dir() and not any(folder.iterdir())
    if folder.exists() and not empty and not is_released(out):
        raise ZooError(
            f"{folder} is in the place of the files that --familiar_with writes, and holds no "
            f"{TABLE} of theirs: move it, or name another folder by --out"
        )


def _in_file(overlap: CaptionOverlap) -> int:
    """Returns the place of a case in its file, where its id tells that."""
    return int(overlap.case) if overlap.case.isdecimal() else 0


def _overlap(cases: Iterable[CaptionOverlap]) -> str:
    out = io.StringIO(newline="")
    rows = csv.writer(out, delimiter="\t", lineterminator="\n")
    rows.writerow(COLUMNS)
    for case in cases:
        rows.writerow((case.case, case.bucket, *_cells(case.right), *_cells(case.wrong)))
    return out.getvalue()


def _cells(labelled: Labelled) -> tuple[str, str]:
    bindings = "; ".join(" ".join(binding) for binding, _ in labelled)
    return bindings, "; ".join(label for _, label in labelled)


def _lists(cases: list[CaptionOverlap]) -> Iterator[tuple[str, list[str]]]:
    for name, buckets in {**{name: (name,) for name in BUCKETS}, **AGGREGATES}.items():
        yield name, [case.case for case in cases if case.bucket in buckets]
