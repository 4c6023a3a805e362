"""Write: the folder of pages, from runs that were measured."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.results.comparison.compare import check_aside, compare
from zoo.results.comparison.comparison import Comparison
from zoo.results.comparison.layout import points, probability
from zoo.results.metrics import tie_warnings
from zoo.results.pages import TEMPLATES, describe_model, render_page
from zoo.results.presets.base import Preset
from zoo.results.presets.shipped import Capabilities
from zoo.results.report import Results
from zoo.results.site.answers import answers
from zoo.results.site.charts import Section, draw_chart
from zoo.results.site.data import INDEX, write_data
from zoo.results.site.familiarity import familiar
from zoo.results.site.images import PageImages
from zoo.results.site.numbers import CASES, Links, ReportRow, average_rows, differences, metric_rows
from zoo.results.site.patches import Mapped
from zoo.results.site.sections import (
    capabilities,
    costs,
    forest_section,
    half_truths,
    logs,
    retrieval,
    training,
    trajectories,
)
from zoo.results.site.words import words
from zoo.sources.images import ImageFinder
from zoo.support.files import write_atomically
from zoo.support.provenance import random_weights

PAGE = "index.html"
SCRIPTS = ("report.js", "cases.js")
MB = 1_000_000


def write(
    runs: Mapping[str, Results],
    presets: Sequence[Preset],
    out: Path,
    places: Mapping[str, Path] | None = None,
    roots: Sequence[Path] = (),
    most_mb: int = 100,
    publish: bool = False,
    overwrite: bool = False,
    mapped: Mapped | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    aside: Sequence[str] = (),
) -> list[str]:
    """Writes a report, and returns sentences on what it has not.

    Args:
        runs: Results by name; the others are compared with the first.
        presets: Ways of counting and averaging. Metrics are those of the first.
        out: The folder of the report.
        places: Folders of the runs by name, beside which trajectories are looked for.
        roots: Folders of the images. Only images below them are shown, since results may name any
            file.
        most_mb: How many megabytes the folder may have.
        publish: Whether images of others are linked rather than copied.
        overwrite: Whether a report that lies there may be lost.
        mapped: Whose words and patches are shown beside cases; of no run where None.
        groups: Names of runs that are taken together, as the seeds of a recipe, by the name of
            their group: numbers are means over them, and all else is of the first. None leaves each
            run by itself.
        aside: Names of runs or groups that are shown and not tested.

    Raises:
        ZooError: The runs have no case in common, the folder holds something else, or it would be
            too large.
    """
    check_out(out, overwrite)
    groups = groups or {name: [name] for name in runs}
    check_aside(list(groups), aside)
    recounted = {name: run.recount(presets) for name, run in runs.items()}
    members = {group: [recounted[name] for name in of] for group, of in groups.items()}
    counted = {group: of[0] for group, of in members.items()}
    shown = {group: runs[of[0]] for group, of in groups.items()}
    comparison = None
    if len(groups) > 1:
        comparison = compare(recounted, group=groups, presets=presets, aside=aside)
    results = list(counted.values())
    found = answers(results, presets[0].rules)
    if not len(found):
        raise ZooError(
            f"{', '.join(shown)} scored no case, so that there is nothing to show: name the folder "
            "of the images by --data_root, and measure again"
        )
    with write_atomically(out, folder=True, over=True) as folder:
        finder = ImageFinder(roots, confined=True) if roots else None
        images = PageImages(finder, folder, most_mb * MB, publish)
        size = write_data(found, counted, images, folder, mapped)
        if size > most_mb * MB:
            raise ZooError(
                f"the cases of {', '.join(shown)} take {size / MB:,.0f} MB without their images, "
                f"and --most_mb {most_mb} is allowed: allow more, or measure fewer benchmarks"
            )
        links = Links(found)
        numbers = _numbers(members, presets, comparison, links)
        lie = places or {}
        beside = {group: lie[of[0]] for group, of in groups.items() if of[0] in lie}
        sections = _sections(
            shown, counted, presets, comparison, links, numbers["averages"], beside
        )
        several = {group: of for group, of in groups.items() if len(of) > 1}
        page = render_page(
            PAGE,
            runs={name: dict(describe_model(run.header["model"])) for name, run in shown.items()},
            groups=several,
            aside=list(aside),
            preset=presets[0],
            said=[*_run_notes(counted), *images.notes()],
            sections=[
                (section, [draw_chart(chart, folder) for chart in section.charts])
                for section in sections
            ],
            costs=costs(shown, logs(shown)),
            words=words(row.names for row in numbers["metrics"]),
            **numbers,
        )
        (folder / PAGE).write_text(page, "utf-8")
        (folder / CASES).write_text(render_page(CASES, runs=list(shown), groups=several), "utf-8")
        for script in SCRIPTS:
            shutil.copyfile(TEMPLATES / script, folder / script)
    return images.notes()


def check_out(out: Path, overwrite: bool) -> None:
    """Makes sure that nothing in the folder of a report will be lost.

    Args:
        out: The folder.
        overwrite: Whether a report that lies there may be lost.

    Raises:
        ZooError: It is a file, holds a report that may not be lost, or anything else.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / INDEX).is_file():
        raise ZooError(f"{out} is there and holds no report: name another folder by --out")
    if not overwrite:
        raise ZooError(
            f"{out} holds a report: name another folder by --out, or add --overwrite if it may be "
            "lost"
        )


def _run_notes(runs: Mapping[str, Results]) -> Iterator[str]:
    for name, run in runs.items():
        random = random_weights(run.header["model"].get("weights", {}))
        if random is not None:
            yield f"{name}: {random}"
        for warning in tie_warnings(run.metrics, run.counted[0].preset):
            yield f"{name}: {warning}"


def _numbers(
    members: Mapping[str, Sequence[Results]],
    presets: Sequence[Preset],
    comparison: Comparison | None,
    links: Links,
) -> dict[str, Any]:
    """Returns what the first page shows of numbers."""
    averages = {
        preset.name: average_rows(
            [[run.counted[i] for run in of] for of in members.values()], preset.means, links
        )
        for i, preset in enumerate(presets)
    }
    return {
        "averages": {name: rows for name, rows in averages.items() if rows},
        "metrics": metric_rows(members, links),
        "differences": [] if comparison is None else list(differences(comparison, links, averages)),
        "probability": probability,
        "points": points,
        "notes": [] if comparison is None else [n for n in comparison.notes if _is_shown(n)],
    }


def _is_shown(note: str) -> bool:
    """Returns whether a note is not on marks of a table that the page lacks, or said above."""
    return not note.startswith(("bold", "preset", "less "))


def _sections(
    runs: Mapping[str, Results],
    counted: Mapping[str, Results],
    presets: Sequence[Preset],
    comparison: Comparison | None,
    links: Links,
    averages: Mapping[str, Sequence[ReportRow]],
    places: Mapping[str, Path],
) -> list[Section]:
    """Returns the sections that runs have something for.

    Args:
        runs: The runs, as they were counted when they were measured.
        counted: The runs, counted under the presets.
        presets: Ways of counting and averaging.
        comparison: The runs beside each other, None of one alone.
        links: Addresses of cases.
        averages: Averages, by preset.
        places: Folders of the runs, by name.
    """
    found = [
        forest_section(comparison),
        capabilities(averages.get(Capabilities.name, ()), list(runs)),
        half_truths(counted, presets[0], links),
        familiar(runs, counted, presets[0], links),
        retrieval(counted, links),
        training(logs(runs), list(runs)),
        trajectories(runs, places),
    ]
    return [section for section in found if section is not None]
