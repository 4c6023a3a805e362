"""Tables, figures and report of a study's completed runs."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo.cli.studies.file import FIRST, Study
from zoo.cli.studies.records import WHOLE, Records
from zoo.cli.studies.runs import Run, WorkFolder
from zoo.results.comparison.against_published import (
    compare_with_published,
    differences_to_records,
    published_differences_table,
)
from zoo.results.comparison.compare import PRESETS, compare, read_runs
from zoo.results.comparison.comparison import Comparison, render_forest
from zoo.results.comparison.own_cases import compare_seeds_with_own_cases
from zoo.results.presets.preset import Preset, preset_of
from zoo.results.published_values import published_values
from zoo.results.reader import read_results
from zoo.results.site.write import PAGE
from zoo.results.site.write import write_report as write_report
from zoo.results.tables import TextTable
from zoo.support.arguments import split_list
from zoo.support.files import write_bytes

WRITTEN: dict[str, Callable[[Comparison], str]] = {
    "table.md": Comparison.to_markdown,
    "table.tex": Comparison.to_latex,
    "table.csv": Comparison.to_csv,
    "table.json": Comparison.to_json,
}
PICTURES = ("forest.png", "forest.pdf")
AGAINST_PUBLISHED = ("published.md", "published.json")
REPORT = "report"
START_TITLE = "start"  # the title in tables of the runs that others start from


def check_presets_and_models(study: Study) -> None:
    """Checks, before any run, that the presets and published models of the table exist.

    Raises:
        ZooError: One of them is unknown.
    """
    for model in _reference_models(study):
        published_values(model)
    for name in _split_names(study.compare.get("preset", [])):
        preset_of(name)


def compare_rows(place: WorkFolder, runs: list[Run]) -> Comparison | None:
    """Compares the rows of a study over their completed runs, with the seeds of a row as a group.

    The runs that others start from come last. The notes list rows with missing seeds.

    Args:
        place: The work folder.
        runs: The runs of the study.

    Returns:
        The comparison, None if fewer than two rows have a completed run.
    """
    rows = _complete_runs(place, runs)
    if len(rows) < 2:
        return None
    settings = place.study.compare
    arguments: dict[str, Any] = {
        "reference_models": _reference_models(place.study),
        "presets": _presets(place),
        "metrics": _split_names(settings.get("metrics", [])),
        "excluded_from_tests": _untested_rows(rows),
    }
    if place.study.seeds_have_own_cases:
        results = {
            _row_title(row): {run.seed: read_results(place.results_folder(run)) for run in row_runs}
            for row, row_runs in rows.items()
        }
        comparison = compare_seeds_with_own_cases(results, **arguments)
    else:
        folders = {
            str(run): place.results_folder(run) for row_runs in rows.values() for run in row_runs
        }
        comparison = compare(folders, group=_run_names_by_title(rows), **arguments)
    return replace(comparison, notes=(*_incomplete_row_notes(runs, rows), *comparison.notes))


def _run_names_by_title(rows: Mapping[str, Sequence[Run]]) -> dict[str, list[str]]:
    """Returns the names of the runs by the title of their row."""
    return {_row_title(row): [str(run) for run in row_runs] for row, row_runs in rows.items()}


def _row_title(row: str) -> str:
    return START_TITLE if row == FIRST else row


def _untested_rows(rows: Mapping[str, Sequence[Run]]) -> tuple[str, ...]:
    """Returns the rows to exclude from tests: the start, if there are two other rows."""
    return (START_TITLE,) if FIRST in rows and len(rows) > 2 else ()


def _incomplete_row_notes(
    runs: Iterable[Run], complete: Mapping[str, Sequence[Run]]
) -> Iterator[str]:
    """Yields a note for each row with fewer seeds than the study defines, or none."""
    planned = Counter(run.row for run in runs)
    for row, n in planned.items():
        n_complete = len(complete.get(row, ()))
        if n_complete < n:
            seeds = "seed" if n == 1 else "seeds"
            yield f"incomplete: {row} has {n_complete} of its {n} {seeds}" + (
                "" if n_complete else ", and is omitted"
            )


def report(place: WorkFolder, runs: list[Run]) -> Path:
    """Writes the report of a study: means over seeds, with the cases of each row's first seed.

    If the cases depend on the seed, the report is of the first seed alone.

    Args:
        place: The work folder.
        runs: The runs of the study.

    Returns:
        Its first page.

    Raises:
        ZooError: The report would be too large, or there are no cases.
    """
    rows = _complete_runs(place, runs)
    if place.study.seeds_have_own_cases:
        rows = {row: row_runs[:1] for row, row_runs in rows.items()}
    folders = {
        str(run): place.results_folder(run) for row_runs in rows.values() for run in row_runs
    }
    folder = place.root / REPORT
    write_report(
        read_runs(folders),
        _presets(place),
        folder,
        folders,
        [*map(Path, place.data_roots), place.root],
        overwrite=True,
        groups=_run_names_by_title(rows),
        excluded_from_tests=_untested_rows(rows),
    )
    return folder / PAGE


def _complete_runs(place: WorkFolder, runs: list[Run]) -> dict[str, list[Run]]:
    """Returns the completed runs of each row that has any."""
    records = Records(place)
    rows: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.row == FIRST):
        if records.stage(run) == WHOLE:
            rows.setdefault(run.row, []).append(run)
    return rows


def _presets(place: WorkFolder) -> list[Preset]:
    return [
        preset_of(name) for name in _split_names(place.study.compare.get("preset", list(PRESETS)))
    ]


def _reference_models(study: Study) -> list[str]:
    """Returns the models whose published values are shown."""
    named = _split_names(study.compare.get("reference_models", []))
    return list(dict.fromkeys([*named, *study.published_models.values()]))


def _split_names(value: str | list[str]) -> list[str]:
    return split_list(value, "compare") if isinstance(value, str) else value


def delete_tables(folder: Path) -> None:
    """Deletes the tables, figures and report of a work folder, which are out of date."""
    for name in (*WRITTEN, *PICTURES, *AGAINST_PUBLISHED):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder / REPORT, ignore_errors=True)


def write_tables(comparison: Comparison, folder: Path) -> list[Path]:
    """Writes a comparison as tables and figures, and returns their files."""
    for name, render in WRITTEN.items():
        write_bytes(folder / name, (render(comparison).rstrip("\n") + "\n").encode())
    for name in PICTURES:
        write_bytes(folder / name, render_forest(comparison, Path(name).suffix[1:]))
    return [folder / name for name in (*WRITTEN, *PICTURES)]


def write_published_differences(
    place: WorkFolder, runs: list[Run], comparison: Comparison
) -> tuple[TextTable, list[Path]] | None:
    """Writes the measured values of a study's models next to the published ones.

    Args:
        place: The work folder.
        runs: The runs of the study.
        comparison: The comparison of its rows.

    Returns:
        The table and its files, None if the study asks for none or nothing was published.
    """
    study = place.study
    differences = compare_with_published(comparison, study.published_models)
    if not differences:
        return None
    table = published_differences_table(differences, study.tolerance)
    devices = {
        row: read_results(place.results_folder(row_runs[0])).header["scoring"].get("device")
        for row, row_runs in _complete_runs(place, runs).items()
        if row in study.published_models
    }
    records = {
        "study": study.name,
        "tolerance": study.tolerance,
        "devices": devices,
        "values": differences_to_records(differences, study.tolerance),
    }
    files = [place.root / name for name in AGAINST_PUBLISHED]
    write_bytes(files[0], f"{table.markdown()}\n".encode())
    write_bytes(files[1], (json.dumps(records, indent=1) + "\n").encode())
    return table, files
