"""Tables: what a study's whole runs come to, by `zoo compare`, and where that is written."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from zoo.cli.studies.file import FIRST, Study
from zoo.cli.studies.records import WHOLE, Records
from zoo.cli.studies.runs import Run, WorkFolder
from zoo.results.comparison.compare import PRESETS, compare, read_runs
from zoo.results.comparison.comparison import Comparison
from zoo.results.comparison.forest import draw_forest
from zoo.results.presets.base import Preset
from zoo.results.presets.named import preset_of
from zoo.results.published import figures
from zoo.results.site.write import PAGE
from zoo.results.site.write import write as write_report
from zoo.support.arguments import split_list
from zoo.support.files import write_bytes

WRITTEN: dict[str, Callable[[Comparison], str]] = {
    "table.md": Comparison.to_markdown,
    "table.tex": Comparison.to_latex,
    "table.csv": Comparison.to_csv,
    "table.json": Comparison.to_json,
}
PICTURES = ("forest.png", "forest.pdf")
REPORT = "report"
START = "start"  # what tables call the runs that others start from


def check_names(study: Study) -> None:
    """Makes sure, before any run, that there are the presets and models that the table wants.

    Raises:
        ZooError: One of them is not known.
    """
    for model in _names(study.compare.get("beside", [])):
        figures(model)
    for name in _names(study.compare.get("preset", [])):
        preset_of(name)


def compare_rows(place: WorkFolder, runs: list[Run]) -> Comparison | None:
    """Compares the rows of a study over their whole runs, the seeds of each together.

    The runs that others start from stand last. Rows of which seeds lack are named in the notes.

    Args:
        place: The work folder.
        runs: The runs of the study.

    Returns:
        The comparison, None where fewer than two rows have a whole run.
    """
    rows = _complete_runs(place, runs)
    if len(rows) < 2:
        return None
    given = place.study.compare
    found = compare(
        {str(run): place.results_folder(run) for of in rows.values() for run in of},
        beside=_names(given.get("beside", [])),
        group=_groups(rows),
        presets=_presets(place),
        metrics=_names(given.get("metrics", [])),
        aside=_aside(rows),
    )
    return replace(found, notes=(*_lacking(runs, rows), *found.notes))


def _groups(rows: Mapping[str, Sequence[Run]]) -> dict[str, list[str]]:
    """Returns the names of runs by what tables call their row."""
    return {_row_title(row): [str(run) for run in of] for row, of in rows.items()}


def _row_title(row: str) -> str:
    return START if row == FIRST else row


def _aside(rows: Mapping[str, Sequence[Run]]) -> tuple[str, ...]:
    """Returns what is not tested: the start, where there are two rows beside it."""
    return (START,) if FIRST in rows and len(rows) > 2 else ()


def _lacking(runs: Iterable[Run], whole: Mapping[str, Sequence[Run]]) -> Iterator[str]:
    """Yields which rows have fewer seeds than the study asks for, or none."""
    asked = Counter(run.row for run in runs)
    for row, n in asked.items():
        there = len(whole.get(row, ()))
        if there < n:
            seeds = "seed" if n == 1 else "seeds"
            yield f"not whole: {row} has {there} of its {n} {seeds}" + (
                "" if there else ", and is left out"
            )


def report(place: WorkFolder, runs: list[Run]) -> Path:
    """Writes the report of a study: means over seeds, with the cases of the first of each row.

    Args:
        place: The work folder.
        runs: The runs of the study.

    Returns:
        Its first page.

    Raises:
        ZooError: It would be too large, or there is no case to show.
    """
    rows = _complete_runs(place, runs)
    folders = {str(run): place.results_folder(run) for of in rows.values() for run in of}
    out = place.root / REPORT
    write_report(
        read_runs(folders),
        _presets(place),
        out,
        folders,
        [Path(place.data_root), place.root],
        overwrite=True,
        groups=_groups(rows),
        aside=_aside(rows),
    )
    return out / PAGE


def _complete_runs(place: WorkFolder, runs: list[Run]) -> dict[str, list[Run]]:
    """Returns the whole runs of each row that has some."""
    records = Records(place)
    rows: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.row == FIRST):
        if records.stage(run) == WHOLE:
            rows.setdefault(run.row, []).append(run)
    return rows


def _presets(place: WorkFolder) -> list[Preset]:
    return [preset_of(name) for name in _names(place.study.compare.get("preset", list(PRESETS)))]


def _names(value: str | list[str]) -> list[str]:
    return split_list(value, "compare") if isinstance(value, str) else value


def forget(folder: Path) -> None:
    """Deletes tables, pictures and report of a work folder, whose runs are no longer those."""
    for name in (*WRITTEN, *PICTURES):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / REPORT, ignore_errors=True)


def write(comparison: Comparison, folder: Path) -> list[Path]:
    """Writes a comparison as tables and pictures, and returns their files."""
    for name, made in WRITTEN.items():
        write_bytes(folder / name, (made(comparison).rstrip("\n") + "\n").encode())
    for name in PICTURES:
        write_bytes(folder / name, draw_forest(comparison, Path(name).suffix[1:]))
    return [folder / name for name in (*WRITTEN, *PICTURES)]
