"""Scatter plots of two metrics of a comparison, with the points of `zoo merge` joined."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zoo.errors import ZooError, suggest_names
from zoo.results.comparison.lines import ComparisonLine
from zoo.results.drawing import INK, PAPER, STYLE, run_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# the names of the folders that `zoo merge` writes
INTERPOLATED = re.compile(r"^(?P<method>.*?)[/_.\- ]*(?<![a-z])alpha_(?P<alpha>[0-9.e+-]+)$")

MERGED = "merged"


@dataclass(frozen=True)
class ScatterPoint:
    """A run in a scatter plot.

    Attributes:
        x: The value of the horizontal metric in per cent.
        y: The value of the vertical metric in per cent.
        x_deviation: The standard deviation over seeds in points, None for one seed.
        y_deviation: The same of the vertical metric.
        alpha: The share of the tuned weights; None for a run that is not interpolated.
    """

    x: float
    y: float
    x_deviation: float | None = None
    y_deviation: float | None = None
    alpha: float | None = None


def scatter_points(
    lines: Sequence[ComparisonLine], x_name: str, y_name: str
) -> dict[str, list[ScatterPoint]]:
    """Returns the points of each method, in the order of the runs.

    Runs whose names differ only in their alpha, as in `fsc_clip/alpha_0.5`, are one method, with
    one point per alpha in ascending order.

    Args:
        lines: The rows of the comparison.
        x_name: The horizontal metric or mean.
        y_name: The vertical metric or mean.

    Raises:
        ZooError: The comparison has no such row.
    """
    x_values, y_values = _find_line(lines, x_name).values, _find_line(lines, y_name).values
    names = {value.run for value in x_values}
    points: dict[str, list[ScatterPoint]] = {}
    for x, y in zip(x_values, y_values, strict=True):
        interpolated = INTERPOLATED.match(x.run)
        method, alpha = x.run, None
        if interpolated is not None:
            method, alpha = interpolated["method"] or MERGED, float(interpolated["alpha"])
            if method in names:  # the tuned model itself is another run
                method = f"{method}, {MERGED}"
        point = ScatterPoint(x.value, y.value, x.deviation, y.deviation, alpha)
        points.setdefault(method, []).append(point)
    return {
        method: sorted(method_points, key=lambda point: point.alpha or 0.0)
        for method, method_points in points.items()
    }


def published_points(
    lines: Sequence[ComparisonLine], x_name: str, y_name: str
) -> dict[str, ScatterPoint]:
    """Returns the published results of models that have both metrics.

    Args:
        lines: The rows of the comparison.
        x_name: The horizontal metric or mean.
        y_name: The vertical metric or mean.
    """
    x_values, y_values = (
        {figure.model: figure.value for figure in reversed(_find_line(lines, name).published)}
        for name in (x_name, y_name)
    )
    return {
        model: ScatterPoint(x, y_values[model])
        for model, x in x_values.items()
        if model in y_values
    }


def axis_label(lines: Sequence[ComparisonLine], name: str) -> str:
    """Returns the label of the axis of a metric or mean.

    Args:
        lines: The rows of the comparison.
        name: The metric or mean.
    """
    return _find_line(lines, name).with_direction(name)


def draw_scatter(
    points: Mapping[str, Sequence[ScatterPoint]],
    published: Mapping[str, ScatterPoint],
    x_label: str,
    y_label: str,
) -> "Figure":
    """Draws one mark per run, and a line through the interpolated models of a method.

    Bars show one standard deviation over seeds. Marks of interpolated models are small, except for
    the largest alpha. Published results are hollow.

    Args:
        points: The points of each method.
        published: The published results of models.
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
    """
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.0, 4.6), layout="constrained")
        axes = figure.add_subplot()
        handles: dict[str, Any] = {}
        styles = run_styles([*points, *published])
        for method, method_points in points.items():
            colour, marker = styles[method]
            *earlier, last = method_points
            axes.plot(
                [point.x for point in method_points],
                [point.y for point in method_points],
                color=colour,
                linewidth=1,
            )
            for point in earlier:
                axes.plot(point.x, point.y, color=colour, marker=marker, markersize=3.5)
            span = f", alpha {earlier[0].alpha:g} (small) to {last.alpha:g}" if earlier else ""
            handles[f"{method}{span}"] = Line2D(
                [], [], color=colour, marker=marker, markersize=7, linewidth=bool(earlier)
            )
            axes.errorbar(
                last.x,
                last.y,
                xerr=last.x_deviation,
                yerr=last.y_deviation,
                fmt=marker,
                color=colour,
                markersize=7,
                capsize=2,
            )
        for model, point in published.items():
            colour, marker = styles[model]
            (handles[f"{model} (published)"],) = axes.plot(
                point.x,
                point.y,
                marker=marker,
                color=colour,
                markersize=7,
                markerfacecolor=PAPER,
                linewidth=0,
            )
        if any(point.x_deviation or point.y_deviation for p in points.values() for point in p):
            axes.set_title("bars: one standard deviation over seeds", loc="right", fontsize=8)
        axes.set_xlabel(f"{x_label}, %")
        axes.set_ylabel(f"{y_label}, %")
        axes.grid(color=INK, alpha=0.15, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.margins(0.12)
        # handles are given, since matplotlib leaves out names that begin with an underscore
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside right upper",
            frameon=False,
            fontsize=8,
        )
    return figure


def _find_line(lines: Sequence[ComparisonLine], name: str) -> ComparisonLine:
    """Returns the row of a metric or mean.

    Raises:
        ZooError: There is none.
    """
    names = [str(line.name) for line in lines]
    if name not in names:
        raise ZooError(
            f"--scatter {name!r} is not a metric or mean that the runs have in common"
            f"{suggest_names(name, names)}: name two of the table's rows; means depend on --presets"
        )
    return lines[names.index(name)]
