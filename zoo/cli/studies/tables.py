"""Tables: what a study's whole runs come to, by `zoo compare`, and where that is written."""

from collections.abc import Callable
from pathlib import Path

from zoo.cli.studies.records import WHOLE, Records
from zoo.cli.studies.runs import FIRST, Place, Run
from zoo.results.comparison.compare import PRESETS, compare, named
from zoo.results.comparison.comparison import Comparison
from zoo.results.comparison.forest import drawn
from zoo.results.presets.base import Preset
from zoo.results.presets.named import preset_of
from zoo.results.site.write import PAGE
from zoo.results.site.write import write as write_report
from zoo.support.arguments import listed
from zoo.support.files import write_beside

WRITTEN: dict[str, Callable[[Comparison], str]] = {
    "table.md": Comparison.to_markdown,
    "table.tex": Comparison.to_latex,
    "table.csv": Comparison.to_csv,
    "table.json": Comparison.to_json,
}
PICTURES = ("forest.png", "forest.pdf")
REPORT = "report"


def compared(place: Place, runs: list[Run]) -> Comparison | None:
    """Compares the rows of a study over their whole runs, the seeds of each together.

    The runs that others start from stand last.

    Args:
        place: The work folder.
        runs: The runs of the study.

    Returns:
        The comparison, None where fewer than two rows have a whole run.
    """
    rows = _whole(place, runs)
    if len(rows) < 2:
        return None
    given = place.study.compare
    return compare(
        {str(run): place.measured(run) for of in rows.values() for run in of},
        beside=_names(given.get("beside", [])),
        group={row: [str(run) for run in of] for row, of in rows.items()},
        presets=_presets(place),
        metrics=_names(given.get("metrics", [])),
    )


def report(place: Place, runs: list[Run]) -> Path:
    """Writes the report of a study, with the first whole seed of each row.

    Args:
        place: The work folder.
        runs: The runs of the study.

    Returns:
        Its first page.

    Raises:
        ZooError: It would be too large, or there is no case to show.
    """
    folders = {row: place.measured(of[0]) for row, of in _whole(place, runs).items()}
    out = place.root / REPORT
    write_report(named(folders), _presets(place), out, folders, overwrite=True)
    return out / PAGE


def _whole(place: Place, runs: list[Run]) -> dict[str, list[Run]]:
    """Returns the whole runs of each row that has some."""
    records = Records(place)
    rows: dict[str, list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.row == FIRST):
        if records.stage(run) == WHOLE:
            rows.setdefault(run.row, []).append(run)
    return rows


def _presets(place: Place) -> list[Preset]:
    return [preset_of(name) for name in _names(place.study.compare.get("preset", list(PRESETS)))]


def _names(value: str | list[str]) -> list[str]:
    return listed(value, "compare") if isinstance(value, str) else value


def write(comparison: Comparison, folder: Path) -> list[Path]:
    """Writes a comparison as tables and pictures, and returns their files."""
    for name, made in WRITTEN.items():
        write_beside(folder / name, (made(comparison).rstrip("\n") + "\n").encode())
    for name in PICTURES:
        write_beside(folder / name, drawn(comparison, Path(name).suffix[1:]))
    return [folder / name for name in (*WRITTEN, *PICTURES)]
