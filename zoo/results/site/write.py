"""Writes the folder of pages of a report, from measured runs."""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.benchmarks.half_truth.rules import CONDITION_ERRORS
from zoo.errors import ZooError
from zoo.results.comparison.compare import check_excluded_runs, compare
from zoo.results.comparison.comparison import Comparison, format_p_value, format_points
from zoo.results.html_pages import TEMPLATES, describe_model, render_page
from zoo.results.metrics import tie_warnings
from zoo.results.presets.preset import Capabilities, Preset
from zoo.results.report import Results
from zoo.results.site.answers import collect_answers
from zoo.results.site.charts import Section, draw_chart
from zoo.results.site.data import INDEX, write_data
from zoo.results.site.familiarity import familiarity_section
from zoo.results.site.images import PageImages
from zoo.results.site.numbers import (
    CASES,
    Links,
    ReportRow,
    average_rows,
    metric_rows,
    run_differences,
)
from zoo.results.site.patches import PatchMapOptions
from zoo.results.site.sections import (
    capability_section,
    cost_table,
    forest_section,
    half_truth_section,
    read_logs,
    retrieval_section,
    training_section,
    trajectory_section,
)
from zoo.sources.images import ImageFinder
from zoo.support.files import write_atomically
from zoo.support.provenance import random_weights

PAGE = "index.html"
SCRIPTS = ("report.js", "cases.js")
MB = 1_000_000
# short names of metrics and splits, the patterns that they stand for, and their meanings
MEANINGS = (
    ("i2t", r"i2t(_r@\d+)?", "an image chooses among texts"),
    ("t2i", r"t2i(_r@\d+)?", "a text chooses among images"),
    ("group", r"group", "every image and every text of a case makes the right choice"),
    ("r@k", r".*_r@\d+", "share of queries with a right answer among the first k of the gallery"),
    ("macro", r"macro", "mean over classes, each of equal weight"),
    (
        "half_truth",
        r"half_truth",
        "a true description scores above the same with a wrong detail added",
    ),
    (
        "completion",
        r"completion",
        "a true completion of a description scores above the same with a wrong detail added",
    ),
    *(
        (name, re.escape(name), f"kind of half-truth; {description}")
        for name, description in CONDITION_ERRORS.items()
    ),
    ("test", r"test", "scenes that are not in the training set, with objects that are"),
    ("held_out", r"held_out", "scenes with pairs of words that are in no training caption"),
)


def write_site(
    runs: Mapping[str, Results],
    presets: Sequence[Preset],
    out: Path,
    run_folders: Mapping[str, Path] | None = None,
    roots: Sequence[Path] = (),
    max_size_mb: int = 100,
    publish: bool = False,
    overwrite: bool = False,
    mapped: PatchMapOptions | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    excluded_from_tests: Sequence[str] = (),
) -> list[str]:
    """Writes a report, and returns notes on images that could not be copied.

    Args:
        runs: Results by name; the others are compared with the first.
        presets: Ways of counting and averaging. Metrics are those of the first.
        out: The folder of the report.
        run_folders: Folders of the runs by name, in which to look for trajectories.
        roots: Folders of the images. Only images below them are shown, since results may name any
            file.
        max_size_mb: Maximum size of the folder in megabytes.
        publish: Whether to link public images instead of copying them.
        overwrite: Whether to replace an existing report.
        mapped: The runs whose words and patches are shown with the cases; no runs if None.
        groups: Names of the runs of each group, such as the seeds of a recipe, by the name of the
            group. Numbers are means over a group, everything else is from its first run. With
            None, runs are not grouped.
        excluded_from_tests: Names of runs or groups that are shown, but excluded from the tests.

    Raises:
        ZooError: The runs have no case in common, the folder contains other files, or the report
            would be too large.
    """
    check_report_folder(out, overwrite)
    groups = groups or {name: [name] for name in runs}
    check_excluded_runs(list(groups), excluded_from_tests)
    recounted = {name: run.recount(presets) for name, run in runs.items()}
    members = {group: [recounted[name] for name in names] for group, names in groups.items()}
    counted = {group: group_runs[0] for group, group_runs in members.items()}
    first_runs = {group: runs[names[0]] for group, names in groups.items()}
    comparison = None
    if len(groups) > 1:
        comparison = compare(
            recounted, group=groups, presets=presets, excluded_from_tests=excluded_from_tests
        )
    results = list(counted.values())
    all_answers = collect_answers(results, presets[0].rules)
    if not len(all_answers):
        raise ZooError(
            f"{', '.join(first_runs)} scored no case, so there is nothing to show: give the folder "
            "of the images with --data_root, and measure again"
        )
    with write_atomically(out, folder=True, overwrite=True) as folder:
        finder = ImageFinder(roots, confined=True) if roots else None
        images = PageImages(finder, folder, max_size_mb * MB, publish)
        size = write_data(all_answers, counted, images, folder, mapped)
        if size > max_size_mb * MB:
            raise ZooError(
                f"the cases of {', '.join(first_runs)} take {size / MB:,.0f} MB without their "
                f"images, more than --max_size_mb {max_size_mb}: allow more, or measure fewer "
                "benchmarks"
            )
        links = Links(all_answers)
        numbers = _page_numbers(members, presets, comparison, links)
        folder_by_group = {
            group: run_folders[names[0]]
            for group, names in groups.items()
            if run_folders and names[0] in run_folders
        }
        sections = _sections(
            first_runs, counted, presets, comparison, links, numbers["averages"], folder_by_group
        )
        multi_run_groups = {group: names for group, names in groups.items() if len(names) > 1}
        page = render_page(
            PAGE,
            runs={
                name: dict(describe_model(run.header["model"])) for name, run in first_runs.items()
            },
            groups=multi_run_groups,
            excluded_from_tests=list(excluded_from_tests),
            preset=presets[0],
            warnings=[*_run_notes(counted), *images.notes()],
            sections=[
                (section, [draw_chart(chart, folder) for chart in section.charts])
                for section in sections
            ],
            costs=cost_table(first_runs, read_logs(first_runs)),
            words=word_meanings(row.names for row in numbers["metrics"]),
            **numbers,
        )
        (folder / PAGE).write_text(page, "utf-8")
        (folder / CASES).write_text(
            render_page(CASES, runs=list(first_runs), groups=multi_run_groups), "utf-8"
        )
        for script in SCRIPTS:
            shutil.copyfile(TEMPLATES / script, folder / script)
    return images.notes()


def check_report_folder(out: Path, overwrite: bool) -> None:
    """Makes sure that writing a report into a folder destroys nothing.

    Args:
        out: The folder.
        overwrite: Whether to replace an existing report.

    Raises:
        ZooError: It is a file, contains a report and `overwrite` is not set, or contains other
            files.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return
    if not (out / INDEX).is_file():
        raise ZooError(f"{out} exists and is not a report: choose another folder with --out")
    if not overwrite:
        raise ZooError(
            f"{out} already contains a report: choose another folder with --out, or replace it "
            "with --overwrite"
        )


def _run_notes(runs: Mapping[str, Results]) -> Iterator[str]:
    for name, run in runs.items():
        random = random_weights(run.header["model"].get("weights", {}))
        if random is not None:
            yield f"{name}: {random}"
        for warning in tie_warnings(run.metrics, run.by_preset[0].preset):
            yield f"{name}: {warning}"


def word_meanings(names: Iterable[tuple[str, ...]]) -> dict[str, str]:
    """Returns the meanings of the words that occur in the names of rows.

    Args:
        names: Names of the rows: benchmark, subset, metric.
    """
    used = {part for row_names in names for part in row_names}
    return {
        word: meaning
        for word, pattern, meaning in MEANINGS
        if any(re.fullmatch(pattern, part) for part in used)
    }


def _page_numbers(
    members: Mapping[str, Sequence[Results]],
    presets: Sequence[Preset],
    comparison: Comparison | None,
    links: Links,
) -> dict[str, Any]:
    """Returns the averages, metrics, differences and notes for the first page."""
    averages = {
        preset.name: average_rows(
            [[run.by_preset[i] for run in group_runs] for group_runs in members.values()],
            preset.means,
            links,
        )
        for i, preset in enumerate(presets)
    }
    return {
        "averages": {name: rows for name, rows in averages.items() if rows},
        "metrics": metric_rows(members, links),
        "differences": []
        if comparison is None
        else list(run_differences(comparison, links, averages)),
        "probability": format_p_value,
        "points": format_points,
        "notes": [] if comparison is None else [n for n in comparison.notes if _belongs_on_page(n)],
    }


def _belongs_on_page(note: str) -> bool:
    """Returns whether a note belongs on the page: not about table marks, and not shown above."""
    return not note.startswith(("bold", "preset", "vs "))


def _sections(
    runs: Mapping[str, Results],
    counted: Mapping[str, Results],
    presets: Sequence[Preset],
    comparison: Comparison | None,
    links: Links,
    averages: Mapping[str, Sequence[ReportRow]],
    run_folders: Mapping[str, Path],
) -> list[Section]:
    """Returns the sections that have charts.

    Args:
        runs: The runs, with the counts from when they were measured.
        counted: The runs, counted under the presets.
        presets: Ways of counting and averaging.
        comparison: The comparison of the runs, None for a single run.
        links: Addresses of cases.
        averages: Averages, by preset.
        run_folders: Folders of the runs, by name.
    """
    sections = [
        forest_section(comparison),
        capability_section(averages.get(Capabilities.name, ()), list(runs)),
        half_truth_section(counted, presets[0], links),
        familiarity_section(runs, counted, presets[0], links),
        retrieval_section(counted, links),
        training_section(read_logs(runs), list(runs)),
        trajectory_section(runs, run_folders),
    ]
    return [section for section in sections if section is not None]
