"""Writes the folder of pages of a report, from measured runs."""

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo.benchmarks.half_truth.rules import CONDITION_ERRORS
from zoo.errors import ZooError
from zoo.results.comparison.compare import check_excluded_runs, compare, limit_notes
from zoo.results.comparison.comparison import Comparison, format_p_value
from zoo.results.comparison.lines import summarise_differences
from zoo.results.header import describe_limit
from zoo.results.html_pages import TEMPLATES, describe_model, render_page
from zoo.results.metrics import find_tie_warnings
from zoo.results.number_formats import format_number, format_points
from zoo.results.presets.preset import Capabilities, Preset
from zoo.results.report import Results
from zoo.results.site.answers import ReportAnswers, collect_answers
from zoo.results.site.charts import Section, draw_chart
from zoo.results.site.data import INDEX, write_data
from zoo.results.site.familiarity import familiarity_section
from zoo.results.site.images import PageImages
from zoo.results.site.numbers import (
    CASES,
    Links,
    ReportRow,
    RunDifference,
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
from zoo.support.provenance import describe_random_weights

PAGE = "index.html"
SCRIPTS = ("report.js", "cases.js")
MB = 1_000_000
# short names of metrics and splits, their patterns, and their meanings
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


@dataclass(frozen=True)
class ReportContent:
    """What the pages show, by the name of each run or group of runs.

    Attributes:
        first_runs: The first run of each group, with the counts from when it was measured.
        recounted_groups: All runs of each group, counted under the presets of the report.
        recounted_first_runs: The first of them.
        folders: Folders of the first runs that have one.
        seed_groups: Names of the runs of each group that has several.
        presets: Ways of counting and averaging.
        excluded_from_tests: Names of runs or groups that are excluded from the tests.
        comparison: The comparison of the groups, None for a single one.
        answers: The answers of the first runs to every query.
    """

    first_runs: Mapping[str, Results]
    recounted_groups: Mapping[str, Sequence[Results]]
    recounted_first_runs: Mapping[str, Results]
    folders: Mapping[str, Path]
    seed_groups: Mapping[str, Sequence[str]]
    presets: Sequence[Preset]
    excluded_from_tests: Sequence[str]
    comparison: Comparison | None
    answers: ReportAnswers


def write_report(
    runs: Mapping[str, Results],
    presets: Sequence[Preset],
    out: Path,
    run_folders: Mapping[str, Path] | None = None,
    roots: Sequence[Path] = (),
    max_size_mb: int = 100,
    publish: bool = False,
    overwrite: bool = False,
    patch_map_options: PatchMapOptions | None = None,
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
        patch_map_options: The runs whose words and patches are shown with the cases; no runs if
            None.
        groups: Names of the runs of each group, such as the seeds of a recipe, by the name of the
            group. Numbers are means over a group, everything else is from its first run. With
            None, runs are not grouped.
        excluded_from_tests: Names of runs or groups that are shown, but excluded from the tests.

    Raises:
        ZooError: The runs have no case in common, the folder contains other files, or the report
            would be too large.
    """
    check_report_folder(out, overwrite)
    content = _collect_content(runs, presets, groups, excluded_from_tests, run_folders or {})
    with write_atomically(out, folder=True, overwrite=True) as folder:
        finder = ImageFinder(roots, confined=True) if roots else None
        images = PageImages(finder, folder, max_size_mb * MB, publish)
        size = write_data(
            content.answers, content.recounted_first_runs, images, folder, patch_map_options
        )
        if size > max_size_mb * MB:
            raise ZooError(
                f"the cases of {', '.join(content.first_runs)} take {size / MB:,.0f} MB without "
                f"their images, more than --max_size_mb {max_size_mb}: allow more, or measure "
                "fewer benchmarks"
            )
        page = _render_first_page(content, images.notes(), folder)
        (folder / PAGE).write_text(page, "utf-8")
        cases = render_page(CASES, runs=list(content.first_runs), groups=content.seed_groups)
        (folder / CASES).write_text(cases, "utf-8")
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


def _collect_content(
    runs: Mapping[str, Results],
    presets: Sequence[Preset],
    groups: Mapping[str, Sequence[str]] | None,
    excluded_from_tests: Sequence[str],
    run_folders: Mapping[str, Path],
) -> ReportContent:
    """Counts runs under the presets and compares them; the arguments are those of `write_report`.

    Raises:
        ZooError: The runs have no case in common, or scored none.
    """
    groups = groups or {name: [name] for name in runs}
    check_excluded_runs(list(groups), excluded_from_tests)
    recounted = {name: run.recount(presets) for name, run in runs.items()}
    comparison = None
    if len(groups) > 1:
        comparison = compare(
            recounted, group=groups, presets=presets, excluded_from_tests=excluded_from_tests
        )
    first_names = {group: names[0] for group, names in groups.items()}
    counted = {group: recounted[name] for group, name in first_names.items()}
    answers = collect_answers(list(counted.values()), presets[0].rules)
    if not len(answers):
        raise ZooError(
            f"{', '.join(groups)} scored no case, so there is nothing to show: give the folder of "
            "the images with --data_root, and measure again"
        )
    return ReportContent(
        first_runs={group: runs[name] for group, name in first_names.items()},
        recounted_groups={
            group: [recounted[name] for name in names] for group, names in groups.items()
        },
        recounted_first_runs=counted,
        folders={
            group: run_folders[name] for group, name in first_names.items() if name in run_folders
        },
        seed_groups={group: names for group, names in groups.items() if len(names) > 1},
        presets=presets,
        excluded_from_tests=excluded_from_tests,
        comparison=comparison,
        answers=answers,
    )


def _render_first_page(content: ReportContent, image_notes: Sequence[str], folder: Path) -> str:
    """Returns the first page, and writes its charts into the folder of the pages."""
    links = Links(content.answers)
    metrics = metric_rows(content.recounted_groups, links)
    averages = {
        preset.name: average_rows(
            [
                [run.by_preset[i] for run in group_runs]
                for group_runs in content.recounted_groups.values()
            ],
            preset.means,
            links,
        )
        for i, preset in enumerate(content.presets)
    }
    differences: list[RunDifference] = []
    notes: list[str] = []
    if content.comparison is not None:
        differences = list(run_differences(content.comparison, links, averages))
        notes = [note for note in content.comparison.notes if _belongs_on_page(note)]
    descriptions = {
        name: dict(describe_model(run.header["model"])) for name, run in content.first_runs.items()
    }
    return render_page(
        PAGE,
        runs=descriptions,
        run_parts=dict.fromkeys(part for parts in descriptions.values() for part in parts),
        groups=content.seed_groups,
        excluded_from_tests=list(content.excluded_from_tests),
        preset=content.presets[0],
        verdicts=summarise_differences(content.comparison.lines) if content.comparison else [],
        warnings=[*_run_warnings(content.recounted_first_runs), *image_notes],
        averages={name: rows for name, rows in averages.items() if rows},
        metrics=metrics,
        is_limited=any(describe_limit(run.header) for run in content.first_runs.values()),
        differences=differences,
        probability=format_p_value,
        number=format_number,
        points=format_points,
        notes=notes,
        sections=[
            (section, [draw_chart(chart, folder) for chart in section.charts])
            for section in _sections(content, averages, links)
        ],
        costs=cost_table(content.first_runs, read_logs(content.first_runs)),
        words=word_meanings(row.names for row in metrics),
    )


def _sections(
    content: ReportContent, averages: Mapping[str, Sequence[ReportRow]], links: Links
) -> list[Section]:
    """Returns the sections that have charts."""
    measured, counted = content.first_runs, content.recounted_first_runs
    sections = [
        forest_section(content.comparison),
        capability_section(averages.get(Capabilities.name, ()), list(measured)),
        half_truth_section(counted, content.presets[0], links),
        familiarity_section(measured, counted, content.presets[0], links),
        retrieval_section(counted, links),
        training_section(read_logs(measured), _objective_names(measured)),
        trajectory_section(measured, content.folders),
    ]
    return [section for section in sections if section is not None]


def _objective_names(runs: Mapping[str, Results]) -> dict[str, str]:
    """Returns the class of each run's objective, empty if its results do not name one."""
    recipes = {name: run.header["model"].get("recipe", {}) for name, run in runs.items()}
    return {
        name: recipe.get("objective", {}).get("class_path", "").rpartition(".")[2]
        for name, recipe in recipes.items()
    }


def _belongs_on_page(note: str) -> bool:
    """Returns whether a note belongs on the page: not about table marks, and not shown above."""
    return not note.startswith(("bold", "preset", "vs "))


def _run_warnings(runs: Mapping[str, Results]) -> Iterator[str]:
    yield from limit_notes(runs)
    for name, run in runs.items():
        random = describe_random_weights(run.header["model"].get("weights", {}))
        if random is not None:
            yield f"{name}: {random}"
        for warning in find_tie_warnings(run.metrics, run.by_preset[0].preset):
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
