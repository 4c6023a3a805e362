"""Forest: the differences to the first run with their intervals, as a picture."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import ZooError
from zoo.results.comparison.comparison import LEVEL, Comparison, ComparisonLine
from zoo.results.drawing import INK, PAPER, STYLE, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
APART, ROW, HEAD = 0.075, 0.2, 1.1  # inches: between the runs of a row, a row, and what is around


def format_of(path: Path) -> str:
    """Returns the format that a picture's name asks for.

    Args:
        path: The picture.

    Raises:
        ZooError: It is none that is drawn.
    """
    suffix = path.suffix.removeprefix(".").lower()
    if suffix not in FORMATS:
        raise ZooError(
            f"--plot {path}: a picture is png, svg or pdf, as its name ends; end it in .png"
        )
    return suffix


def draw_forest(comparison: Comparison, kind: str) -> bytes:
    """Returns the picture as a file has it.

    Args:
        comparison: The comparison.
        kind: One of FORMATS.
    """
    import matplotlib

    out, dated = BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({**STYLE, "svg.fonttype": "path"}):
        forest(comparison).savefig(
            out, format=kind, dpi=150, facecolor="white", metadata=dated.get(kind)
        )
    return out.getvalue()


def forest(comparison: Comparison) -> "Figure":
    """Draws the differences to the first run: a row for each number, under its benchmark.

    A mark is full where the difference is significant, and hollow where it is not.

    Args:
        comparison: The comparison.

    Raises:
        ZooError: It is of the seeds of one recipe alone, which has no differences.
    """
    import matplotlib
    from matplotlib.figure import Figure

    first, *others = comparison.tested_runs
    if not others:
        raise ZooError(
            f"{first} stands alone, so that there is no difference to draw: leave --plot out, or "
            "add a run"
        )
    rows = list(_rows(comparison))
    row = max(ROW, APART * len(others) + 0.1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.5, HEAD + row * len(rows)), layout="constrained")
        axes = figure.add_subplot()
        for i, run in enumerate(others):
            _draw(axes, rows, run, i, APART / row * (i - (len(others) - 1) / 2))
        axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
        names = [name for name, _ in rows]
        axes.set_yticks(range(len(rows)), names)
        for label, (_, line) in zip(axes.get_yticklabels(), rows, strict=True):
            if line is None:
                label.set_fontweight("bold")
        for at, (_, line) in enumerate(rows):
            if line is not None:
                axes.axhline(at, color=INK, alpha=0.15, linewidth=0.6, zorder=0)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.set_xlabel(f"percentage points above {first}, with the 95 % paired interval")
        figure.legend(
            *_legend(axes, others), loc="outside upper left", ncols=3, frameon=False, fontsize=8
        )
    return figure


def _rows(comparison: Comparison) -> Iterator[tuple[str, ComparisonLine | None]]:
    """Yields the label of each row with its line, and before those of a benchmark its name."""
    last = None
    for line in comparison.lines:
        place = line.place
        group = "averages" if place.is_mean else place.benchmark
        if place.split:
            group = f"{group}, by familiarity"
        if group != last:
            yield group, None
        last = group
        name = place.metric if place.is_mean else f"{place.subset}, {place.metric}"
        yield f"{name}, {place.split}" if place.split else name, line


def _draw(
    axes: "Axes", rows: list[tuple[str, ComparisonLine | None]], run: str, i: int, shift: float
) -> None:
    colour, marker = look(i + 1)  # the first run has the first colour wherever it is drawn
    for at, (_, line) in enumerate(rows):
        test = line and next((t for t in line.against_first() if t.second == run), None)
        if not test or test.low is None or test.high is None:
            continue
        axes.plot([test.low, test.high], [at + shift] * 2, color=colour, linewidth=1.2, zorder=2)
        axes.plot(
            test.difference,
            at + shift,
            marker=marker,
            markersize=4.5,
            markeredgecolor=colour,
            markerfacecolor=colour if test.q <= LEVEL else PAPER,
            linestyle="none",
            zorder=3,
        )


def _legend(axes: "Axes", others: list[str]) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    def mark(colour: str, marker: str, face: str) -> Line2D:
        return Line2D(
            [], [], color=colour, marker=marker, markersize=4.5, markerfacecolor=face, linewidth=0
        )

    looks = map(look, range(1, len(others) + 1))
    marks = [mark(colour, marker, colour) for colour, marker in looks]
    return [*marks, mark(INK, "o", PAPER)], [*others, f"hollow: q above {LEVEL}"]
