"""Drawings of a report: bars, a radar and lines, small enough to be read on a phone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from zoo.results.drawing import COLOURS, INK, STYLE, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 5.0  # inches
TICKS = 12  # places of an axis that are all named
LABEL = 24  # letters of a line of a label
LEGEND = 0.17  # inches of a line of a legend
# where there are more series than colours
HATCHES = ("", "////", "....", "xxxx")
DASHES = ("-", "--", ":", "-.")
GRID: dict[str, Any] = {"color": INK, "alpha": 0.15, "linewidth": 0.6}


@dataclass(frozen=True)
class Point:
    """A number with its interval, as it is drawn.

    Attributes:
        value: Value, None where there is none.
        low: Lower end of its 95 % interval, None where there is none.
        high: Upper end of its 95 % interval, None where there is none.
        href: Where its cases are shown; empty where they are not.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    href: str = ""


Series = Mapping[str, Sequence[Point]]
Looks = Mapping[str, tuple[int, int]]  # number of the run, and of what is drawn of it, by series


@dataclass(frozen=True)
class Curve:
    """A line.

    Attributes:
        x: Places, ascending.
        y: Values.
        low: Lower ends of their intervals; empty where there are none.
        high: Upper ends of their intervals; empty where there are none.
    """

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


def bars(labels: Sequence[str], series: Series, says: str, looks: Looks | None = None) -> "Figure":
    """Draws a bar for each label and series, with its interval.

    Args:
        labels: Names of the rows.
        series: The numbers of each series, row by row.
        says: What the numbers are.
        looks: Whose colour each series has; that of its own number where None.
    """
    import matplotlib
    from matplotlib.figure import Figure

    thick = 0.8 / len(series)
    with matplotlib.rc_context(STYLE):
        height = 0.9 + len(labels) * max(0.34, 0.13 * len(series) + 0.1)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        made: dict[str, Any] = {}
        for i, (name, points) in enumerate(series.items()):
            at = np.arange(len(labels)) + (i - (len(series) - 1) / 2) * thick
            made[name] = _bars(axes, at, points, 0.9 * thick, *_look(name, i, looks))
        axes.set_yticks(range(len(labels)), [fill(label, LABEL) for label in labels], fontsize=8)
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel(says)
        axes.grid(axis="x", **GRID)
        axes.set_axisbelow(True)
        _legend(figure, made)
    return figure


def radar(labels: Sequence[str], series: Series) -> "Figure":
    """Draws each series as a line around, with a spoke for each label.

    Args:
        labels: Names of the spokes.
        series: The numbers of each series, spoke by spoke.
    """
    import matplotlib
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure

    around = np.linspace(0, 2 * np.pi, len(labels), endpoint=False)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH, WIDTH), layout="constrained")
        axes = figure.add_subplot(projection="polar")
        made: dict[str, Any] = {}
        for i, (name, points) in enumerate(series.items()):
            values = [np.nan if point.value is None else point.value for point in points]
            colour, marker = look(i)
            (made[name],) = axes.plot(
                [*around, around[0]],
                [*values, values[0]],
                color=colour,
                linewidth=1.4,
                marker=marker,
                markersize=4,
            )
            # an alpha of the whole shape darkens a square around it in Chromium
            axes.fill(around, values, facecolor=to_rgba(colour, 0.08), linewidth=0)
        axes.set_xticks(around, [fill(label, 14) for label in labels], fontsize=8)
        axes.set_ylim(0, 100)
        axes.set_yticks([25, 50, 75, 100], ["25", "50", "75", "100 %"], fontsize=7)
        axes.grid(**GRID)
        axes.tick_params(axis="x", pad=18)
        _legend(figure, made)
    return figure


def lines(
    curves: Mapping[str, Curve], x: str, y: str, marks: bool = False, looks: Looks | None = None
) -> "Figure":
    """Draws curves.

    Args:
        curves: The curves by name.
        x: What is to the right.
        y: What is upward.
        marks: Whether each number has a mark, and its interval a bar.
        looks: Whose colour each curve has; that of its own number where None.
    """
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        height = 3.1 + LEGEND * -(-len(curves) // 2)
        figure = Figure(figsize=(WIDTH, height), layout="constrained")
        axes = figure.add_subplot()
        made: dict[str, Any] = {}
        for i, (name, curve) in enumerate(curves.items()):
            run, kind = _look(name, i, looks)
            colour, marker = look(run)
            drawn: dict[str, Any] = {"color": colour, "linewidth": 1.2}
            drawn["linestyle"] = DASHES[kind % len(DASHES)]
            if marks:
                drawn |= {"marker": marker, "markersize": 4}
            if curve.low:
                down = np.maximum(np.subtract(curve.y, curve.low), 0)
                up = np.maximum(np.subtract(curve.high, curve.y), 0)
                made[name] = axes.errorbar(curve.x, curve.y, (down, up), capsize=2, **drawn)
            else:
                (made[name],) = axes.plot(curve.x, curve.y, **drawn)
        places = sorted({place for curve in curves.values() for place in curve.x})
        if marks and len(places) <= TICKS:
            axes.set_xticks(places, [f"{place:g}" for place in places])
        axes.set_xlabel(x)
        axes.set_ylabel(fill(y, LABEL))
        axes.grid(**GRID)
        _legend(figure, made)
    return figure


def _look(name: str, i: int, looks: Looks | None) -> tuple[int, int]:
    """Returns the number of a series' colour, and of its hatch or dash."""
    return looks[name] if looks is not None else (i, i // len(COLOURS))


def _bars(axes: "Axes", at: Any, points: Sequence[Point], thick: float, run: int, kind: int) -> Any:
    values = [point.value or 0.0 for point in points]
    marked: dict[str, Any] = {}
    if hatch := HATCHES[kind % len(HATCHES)]:
        marked = {"hatch": hatch, "edgecolor": INK, "linewidth": 0}
    made = axes.barh(at, values, thick, color=look(run)[0], **marked)
    for bar, point, place in zip(made, points, at, strict=True):
        if point.href:
            bar.set_url(point.href)
        if point.low is not None and point.high is not None:
            axes.plot([point.low, point.high], [place, place], color=INK, linewidth=0.9)
    return made


def _legend(figure: "Figure", made: Mapping[str, Any]) -> None:
    """Names every series, also where its name begins with an underscore, as matplotlib does not."""
    handles, names = list(made.values()), list(made)
    figure.legend(handles, names, loc="outside upper left", ncols=2, frameon=False, fontsize=8)
