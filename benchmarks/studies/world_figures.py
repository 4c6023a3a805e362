"""Draws the figures of studies of the packaged tower from the tables of their pages of results."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from zoo.results.comparison.common_metrics import MetricName
from zoo.results.comparison.forest_plot import draw_forest_figure
from zoo.results.comparison.lines import ComparisonLine, Contrast, RunValue
from zoo.results.comparison.scatter import ScatterPoint, draw_scatter

DIFFERENCE = re.compile(r"\| metric or average \| run \| the run vs (.+?) \|")
SUBSETS = {  # clearer names of subsets
    "seen": "seen pairs",
    "unseen_true": "held-out pair in true caption",
    "unseen_false": "held-out pair in wrong caption",
}


@dataclass(frozen=True)
class ForestPage:
    """A page whose differences are drawn as a forest plot.

    Args:
        name: Its name, without ending.
        runs: Clearer names of runs by those in the table.
    """

    name: str
    runs: Mapping[str, str]


FORESTS = [
    ForestPage("sentence_negatives", {"start/seed_0": "start"}),
    ForestPage("world_heads", {"start": "cosine"}),
    ForestPage("world_length", {}),
    ForestPage("world_ranks", {}),
    ForestPage("world_units", {}),
]


def draw_forest(page: ForestPage, folder: Path) -> Figure:
    """Returns the forest plot of the last table of differences of a page.

    Args:
        page: The page.
        folder: The folder of results.
    """
    text = (folder / f"{page.name}.md").read_text("utf-8")
    header = list(DIFFERENCE.finditer(text))[-1]
    first = page.runs.get(header[1], header[1])
    tests: dict[str, list[Contrast]] = {}
    row = ""
    for name, run, difference, interval, p, q in table_rows(text[header.start() :]):
        row = name or row
        low, high = map(float, interval.split(" to "))
        test = Contrast(
            first,
            page.runs.get(run, run),
            float(difference),
            low,
            high,
            float(p.removeprefix("< ")),
            float(q.removeprefix("< ")),
            right_only=None,
            p_by_query=None,
        )
        tests.setdefault(row, []).append(test)
    lines = [comparison_line(name, first, row_tests) for name, row_tests in tests.items()]
    runs = [first, *dict.fromkeys(t.second for row_tests in tests.values() for t in row_tests)]
    return draw_forest_figure(lines, runs, runs)


def comparison_line(name: str, first: str, tests: list[Contrast]) -> ComparisonLine:
    """Returns a row of a forest plot. The plot reads no values but those of the tests."""
    benchmark, subset, metric = name.split("/", 2) if name.count("/") == 2 else ("", "", name)
    value = RunValue(first, 0, None, 1, 0, 0, best=False, near_best=False)
    row_name = MetricName("", benchmark, SUBSETS.get(subset, subset), metric)
    return ComparisonLine(row_name, 0, 0, 0, (value,), tuple(tests), (), ())


def table_rows(text: str) -> Iterator[list[str]]:
    """Yields the rows of the first table of a text, without its header."""
    lines = text.splitlines()
    for line in lines[2:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split(" | ")]


def draw_objectives(folder: Path) -> Figure:
    """Returns R@1 against swaps by objective.

    Args:
        folder: The folder of results.
    """
    means = read_means((folder / "world_objectives.md").read_text("utf-8"))
    points = {run: [point(means, run)] for run in means["R@1"]}
    return draw_scatter(points, {}, "swapped captions", "R@1")


def draw_wise_ft(folder: Path) -> Figure:
    """Returns R@1 against swaps of interpolated weights, by method.

    Args:
        folder: The folder of results.
    """
    text = (folder / "world_wise_ft.md").read_text("utf-8")
    points = {}
    for section in text.split("\n## ")[1:]:
        means = read_means(section)
        points[section.partition("\n")[0]] = [
            point(means, run, float(run.removeprefix("alpha "))) for run in means["R@1"]
        ]
    return draw_scatter(points, {}, "swapped captions", "R@1")


def point(
    means: Mapping[str, Mapping[str, list[float]]], run: str, alpha: float | None = None
) -> ScatterPoint:
    """Returns a run's swaps and R@1, each with its deviation over seeds if it has one."""
    x, y = means["swapped"][run], means["R@1"][run]
    x_deviation, y_deviation = (x[1], y[1]) if len(x) == 2 else (None, None)
    return ScatterPoint(x[0], y[0], x_deviation, y_deviation, alpha)


def read_means(text: str) -> dict[str, dict[str, list[float]]]:
    """Returns the means of a page's table of averages, by average and run."""
    table = text[text.index("| average | n |") :]
    runs = [cell.strip() for cell in table.partition("\n")[0].strip("|").split(" | ")][2:]
    return {
        name: {
            run: [float(number) for number in re.findall(r"\d+\.\d+", cell)]
            for run, cell in zip(runs, cells, strict=True)
        }
        for name, _, *cells in table_rows(table)
    }
