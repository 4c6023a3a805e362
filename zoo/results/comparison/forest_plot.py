"""A forest plot: the differences from the first run with their intervals."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from zoo.errors import ZooError
from zoo.results.comparison.lines import LEVEL, ComparisonLine
from zoo.results.drawing import INK, PAPER, STYLE, run_styles, set_hover_text
from zoo.results.number_formats import format_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RUN_HEIGHT, ROW_HEIGHT, MARGIN = 0.09, 0.2, 1.1  # inches: per run of a row, per row, and around
MARKER_SIZE = 6  # points


def draw_forest_figure(
    lines: Sequence[ComparisonLine], tested_runs: Sequence[str], runs: Sequence[str]
) -> "Figure":
    """Draws the differences from the first run, one row per number, grouped by benchmark.

    A marker is filled where the difference is significant, and hollow where it is not.

    Args:
        lines: The rows of the comparison.
        tested_runs: Names of the tested runs; the others are compared with the first.
        runs: Names of all runs, whose order gives them their colours.

    Raises:
        ZooError: All runs are seeds of one recipe, so that nothing can be compared.
    """
    import matplotlib
    from matplotlib.figure import Figure

    first_run, *other_runs = tested_runs
    styles = run_styles(runs)
    looks = {run: styles[run] for run in other_runs}
    if not other_runs:
        raise ZooError(
            f"--plot: no run is left to compare with {first_run}: leave it out, or add a run"
        )
    rows = list(_plot_rows(lines))
    row_height = max(ROW_HEIGHT, RUN_HEIGHT * len(other_runs) + 0.16)
    heights = [ROW_HEIGHT if line is None else row_height for _, line in rows]
    ends = list(accumulate(heights))
    positions = [end - height / 2 for end, height in zip(ends, heights, strict=True)]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(7.5, MARGIN + ends[-1]), layout="constrained")
        axes = figure.add_subplot()
        for i, run in enumerate(other_runs):
            shift = RUN_HEIGHT * (i - (len(other_runs) - 1) / 2)
            _draw_run(axes, rows, [p + shift for p in positions], run, looks[run])
        axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
        names = [name for name, _ in rows]
        axes.set_yticks(positions, names)
        for label, (_, line) in zip(axes.get_yticklabels(), rows, strict=True):
            if line is None:
                label.set_fontweight("bold")
        for position, (_, line) in zip(positions, rows, strict=True):
            if line is not None:
                axes.axhline(position, color=INK, alpha=0.15, linewidth=0.6, zorder=0)
        axes.set_ylim(ends[-1], 0)
        axes.tick_params(axis="y", length=0)
        axes.tick_params(axis="x", top=True, labeltop=True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.set_xlabel(
            f"percentage points vs {first_run}, with the 95 % paired interval over images"
        )
        figure.legend(
            *_legend_entries(looks),
            loc="outside upper left",
            ncols=3,
            frameon=False,
            fontsize=8,
        )
    return figure


def _plot_rows(lines: Sequence[ComparisonLine]) -> Iterator[tuple[str, ComparisonLine | None]]:
    """Yields each row's label and line, with a heading (without a line) before each benchmark."""
    last_group = None
    for line in lines:
        row_name = line.name
        group = "averages" if row_name.is_mean else row_name.benchmark
        if row_name.split:
            group = f"{group}, by familiarity"
        if group != last_group:
            yield group, None
        last_group = group
        name = row_name.metric if row_name.is_mean else f"{row_name.subset}, {row_name.metric}"
        label = f"{name}, {row_name.split}" if row_name.split else name
        yield line.with_direction(label), line


def _draw_run(
    axes: "Axes",
    rows: list[tuple[str, ComparisonLine | None]],
    positions: Sequence[float],
    run: str,
    look: tuple[str, str],
) -> None:
    colour, marker = look
    for position, (_, line) in zip(positions, rows, strict=True):
        test = line and next((t for t in line.tests_against_first() if t.second == run), None)
        if line is None or not test or test.low is None or test.high is None:
            continue
        axes.plot([test.low, test.high], [position] * 2, color=colour, linewidth=1.2, zorder=2)
        (mark,) = axes.plot(
            test.difference,
            position,
            marker=marker,
            markersize=MARKER_SIZE,
            markeredgecolor=colour,
            markerfacecolor=colour if test.q <= LEVEL else PAPER,
            linestyle="none",
            zorder=3,
        )
        interval = f"{format_points(test.low)} to {format_points(test.high)}"
        set_hover_text(
            mark,
            f"{run}, {line.with_direction(str(line.name))}: {format_points(test.difference)} "
            f"points (95 % interval {interval}), q {test.q:.2g}",
        )


def _legend_entries(looks: Mapping[str, tuple[str, str]]) -> tuple[list[Any], list[str]]:
    from matplotlib.lines import Line2D

    def marker_handle(colour: str, marker: str, face: str) -> Line2D:
        return Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            markersize=MARKER_SIZE,
            markerfacecolor=face,
            linewidth=0,
        )

    marks = [marker_handle(colour, marker, colour) for colour, marker in looks.values()]
    return [*marks, marker_handle(INK, "o", PAPER)], [
        *looks,
        f"hollow: q (adjusted p) above {LEVEL}",
    ]
