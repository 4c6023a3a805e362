"""Charts of a report: bars, a radar and lines, small enough to read on a phone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.results.drawing import (
    COLOURS,
    INK,
    MIN_LINE_POINTS,
    NEUTRAL,
    STYLE,
    colour_and_marker,
    format_hover,
    set_hover_text,
    style_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.0  # inches
MAX_TICKS = 12  # up to this number of positions, each has a tick on the axis
LABEL_WIDTH = 24  # characters per line of a label
LEGEND_LINE = 0.17  # inches per line of a legend
# to distinguish series if there are more than colours
HATCHES = ("", "////", "....", "xxxx")
MARK_SHIFT = 0.012  # between the marks of two curves at one position, as a share of the axis
DASHES = ("-", "--", ":", "-.")
GRID: dict[str, Any] = {"color": INK, "alpha": 0.15, "linewidth": 0.6}


@dataclass(frozen=True)
class Point:
    """A number with its interval, as it is drawn.

    Attributes:
        value: Value, None if there is none.
        low: Lower end of its 95 % interval, None if there is none.
        high: Upper end of its 95 % interval, None if there is none.
        href: Address of its cases; empty if they are not shown.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    href: str = ""


Series = Mapping[str, Sequence[Point]]
Looks = Mapping[str, tuple[int, int]]  # numbers of the colour (run) and of the hatch, by series


@dataclass(frozen=True)
class Curve:
    """A line.

    Attributes:
        x: Positions, ascending.
        y: Values.
        low: Lower ends of their intervals; empty if there are none.
        high: Upper ends of their intervals; empty if there are none.
        is_reference: Whether it is a reference such as chance, and not measured.
    """

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    is_reference: bool = False


def draw_bars(
    labels: Sequence[str], series: Series, axis_label: str, looks: Looks | None = None
) -> "Figure":
    """Draws a bar for each label and series, with its interval.

    Args:
        labels: Names of the rows.
        series: The numbers of each series, row by row.
        axis_label: Label of the axis of values.
        looks: Colour and hatch of each series; by its name if None.
    """
    import matplotlib
    from matplotlib.figure import Figure

    thickness = 0.8 / len(series)
    with matplotlib.rc_context(STYLE):
        height = 0.9 + len(labels) * max(0.34, 0.13 * len(series) + 0.1)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        handles: dict[str, Any] = {}
        looks = looks or _default_looks(series)
        for i, (name, points) in enumerate(series.items()):
            positions = np.arange(len(labels)) + (i - (len(series) - 1) / 2) * thickness
            handles[name] = _draw_series(axes, positions, points, 0.9 * thickness, *looks[name])
            for bar, label, point in zip(handles[name], labels, points, strict=True):
                text = format_hover((name, label), point.value, point.low, point.high)
                set_hover_text(bar, text)
        axes.set_yticks(
            range(len(labels)), [fill(label, LABEL_WIDTH) for label in labels], fontsize=8
        )
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel(axis_label)
        axes.grid(axis="x", **GRID)
        axes.set_axisbelow(True)
        _legend(figure, handles)
    return figure


def draw_radar(labels: Sequence[str], series: Series) -> "Figure":
    """Draws a radar chart: a closed line for each series, with a spoke for each label.

    Args:
        labels: Names of the spokes.
        series: The numbers of each series, spoke by spoke.
    """
    import matplotlib
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure

    angles = np.linspace(0, 2 * np.pi, len(labels), endpoint=False)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, WIDTH), layout="constrained")
        axes = figure.add_subplot(projection="polar")
        handles: dict[str, Any] = {}
        numbers = style_numbers(series)
        for name, points in series.items():
            values = [np.nan if point.value is None else point.value for point in points]
            colour, marker = colour_and_marker(numbers[name])
            (handles[name],) = axes.plot(
                [*angles, angles[0]],
                [*values, values[0]],
                color=colour,
                linewidth=1.4,
                marker=marker,
                markersize=4,
            )
            for angle, label, point in zip(angles, labels, points, strict=True):
                if point.value is not None:
                    (mark,) = axes.plot(angle, point.value, color=colour, marker=marker, ms=4)
                    text = format_hover((name, label), point.value, point.low, point.high)
                    set_hover_text(mark, text)
            # an alpha on the whole shape darkens a square around it in Chromium
            axes.fill(angles, values, facecolor=to_rgba(colour, 0.08), linewidth=0)
        axes.set_xticks(angles, [fill(label, 14) for label in labels], fontsize=8)
        axes.set_ylim(0, 100)
        axes.set_yticks([25, 50, 75, 100], ["25", "50", "75", "100 %"], fontsize=7)
        axes.grid(**GRID)
        axes.tick_params(axis="x", pad=18)
        _legend(figure, handles)
    return figure


def draw_lines(
    curves: Mapping[str, Curve],
    x_label: str,
    y_label: str,
    marks: bool = False,
    looks: Looks | None = None,
) -> "Figure":
    """Draws curves.

    Without markers, curves of few points are drawn as points, and references as grey lines.

    Args:
        curves: The curves by name.
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        marks: Whether to draw a marker for each number and a bar for its interval.
        looks: Colour and dash of each curve; by its name if None.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        height = 3.1 + LEGEND_LINE * -(-len(curves) // 2)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        handles: dict[str, Any] = {}
        looks = looks or _default_looks(curves)
        positions = sorted({position for curve in curves.values() for position in curve.x})
        shift = MARK_SHIFT * (positions[-1] - positions[0]) if positions else 0.0
        for i, (name, curve) in enumerate(curves.items()):
            run, kind = looks[name]
            colour, marker = colour_and_marker(run)
            style: dict[str, Any] = {"color": colour, "linewidth": 1.2}
            style["linestyle"] = DASHES[kind % len(DASHES)]
            mark_style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4}
            x = np.asarray(curve.x, float)
            if curve.is_reference:
                style |= {"color": NEUTRAL}
            elif marks:
                style |= mark_style
            elif len(x) < MIN_LINE_POINTS:
                hollow = {"markerfacecolor": "none"} if kind else {}
                style |= mark_style | hollow | {"linestyle": "none"}
            if curve.low:
                x = x + shift * (i - (len(curves) - 1) / 2)  # intervals would hide each other
                lower_errors = np.maximum(np.subtract(curve.y, curve.low), 0)
                upper_errors = np.maximum(np.subtract(curve.high, curve.y), 0)
                handles[name] = axes.errorbar(
                    x, curve.y, (lower_errors, upper_errors), capsize=2, **style
                )
            else:
                (handles[name],) = axes.plot(x, curve.y, **style)
            if len(x) < MIN_LINE_POINTS and not curve.is_reference:
                # a mark for each point, which only a pointer finds
                for at, x_value, y_value in zip(x, curve.x, curve.y, strict=True):
                    (mark,) = axes.plot(at, y_value, marker="o", markersize=7, alpha=0)
                    set_hover_text(mark, f"{name}, {x_label} {x_value:g}: {y_value:.4g}")
            elif not curve.low:
                last = f"{y_label} {curve.y[-1]:.4g} at {x_label} {curve.x[-1]:g}"
                set_hover_text(handles[name], f"{name}: {last}")
        if marks and len(positions) <= MAX_TICKS:
            axes.set_xticks(positions, [f"{position:g}" for position in positions])
        axes.set_xlabel(x_label)
        axes.set_ylabel(fill(y_label, LABEL_WIDTH))
        axes.grid(**GRID)
        _legend(figure, handles)
    return figure


def _default_looks(names: Iterable[str]) -> Looks:
    """Returns the numbers of each series' colour and of its hatch or dash."""
    return {name: (i, i // len(COLOURS)) for name, i in style_numbers(names).items()}


def _draw_series(
    axes: "Axes",
    positions: Any,
    points: Sequence[Point],
    thickness: float,
    colour_index: int,
    hatch_index: int,
) -> Any:
    values = [point.value or 0.0 for point in points]
    hatch_style: dict[str, Any] = {}
    if hatch := HATCHES[hatch_index % len(HATCHES)]:
        hatch_style = {"hatch": hatch, "edgecolor": INK, "linewidth": 0}
    container = axes.barh(
        positions, values, thickness, color=colour_and_marker(colour_index)[0], **hatch_style
    )
    for bar, point, position in zip(container, points, positions, strict=True):
        if point.href:
            bar.set_url(point.href)
        if point.low is not None and point.high is not None:
            axes.plot([point.low, point.high], [position, position], color=INK, linewidth=0.9)
    return container


def _legend(figure: "Figure", handle_by_name: Mapping[str, Any]) -> None:
    # handles are given, since matplotlib leaves out names that begin with an underscore
    handles, names = list(handle_by_name.values()), list(handle_by_name)
    figure.legend(handles, names, loc="outside upper left", ncols=2, frameon=False, fontsize=8)
