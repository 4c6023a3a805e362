"""Accuracy by familiarity split, with the range over seeds (BindSplit, Figs. 2 and 4)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zoo.errors import ZooError
from zoo.results.comparison.lines import ComparisonLine
from zoo.results.drawing import INK, STYLE, run_styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUBSETS = ("seen", "partial", "unseen")  # of benchmarks that are split by construction
PANEL_WIDTH, PANEL_HEIGHT = 4.2, 3.4  # inches
PANELS_PER_ROW = 2

Panels = dict[str, dict[str, ComparisonLine]]


def split_panels(lines: Sequence[ComparisonLine]) -> Panels:
    """Returns the rows of each metric by split.

    A split is one of `--familiar_with`, or a subset of a benchmark whose subsets are `SUBSETS`.

    Args:
        lines: The rows of the comparison.

    Raises:
        ZooError: No metric has a split.
    """
    panels: Panels = {}
    for line in lines:
        name = line.name
        if name.split:
            panels.setdefault(f"{name.benchmark}/{name.subset}/{name.metric}", {})[name.split] = (
                line
            )
        elif name.subset in SUBSETS:
            panels.setdefault(f"{name.benchmark}/{name.metric}", {})[name.subset] = line
    panels = {title: by_split for title, by_split in panels.items() if len(by_split) > 1}
    if not panels:
        raise ZooError(
            "--by_split: the runs have no familiarity split: create one with "
            "`zoo rescore RUN --familiar_with CAPTIONS --out DIR`"
        )
    return panels


def draw_split_accuracies(panels: Panels) -> "Figure":
    """Draws one panel per metric: the value of each run on each split.

    The lines are means over seeds, and the ribbons go from the lowest to the highest seed.

    Args:
        panels: The rows of each metric by split.
    """
    import matplotlib
    from matplotlib.figure import Figure

    columns = min(PANELS_PER_ROW, len(panels))
    rows = -(-len(panels) // columns)
    with matplotlib.rc_context(STYLE):
        figure = Figure(
            figsize=(PANEL_WIDTH * columns + 1.6, PANEL_HEIGHT * rows), layout="constrained"
        )
        all_axes = figure.subplots(rows, columns, squeeze=False).flatten()
        handles: dict[str, Any] = {}
        for axes, (title, by_split) in zip(all_axes, panels.items(), strict=False):
            positions = range(len(by_split))
            runs = list(zip(*(line.values for line in by_split.values()), strict=True))
            styles = run_styles(run_values[0].run for run_values in runs)
            for run_values in runs:
                colour, marker = styles[run_values[0].run]
                (handles[run_values[0].run],) = axes.plot(
                    positions,
                    [value.value for value in run_values],
                    color=colour,
                    marker=marker,
                    markersize=4,
                    linewidth=1.2,
                )
                axes.fill_between(
                    positions,
                    [value.lowest for value in run_values],
                    [value.highest for value in run_values],
                    facecolor=colour,
                    alpha=0.18,
                    linewidth=0,
                )
            axes.set_xticks(positions, [f"{split}\n{line.n:,}" for split, line in by_split.items()])
            line = next(iter(by_split.values()))
            axes.set_title(line.with_direction(title), loc="left", fontsize=9)
            axes.set_xlabel("familiarity split, and its number of cases")
            axes.set_ylabel("%")
            axes.grid(axis="y", color=INK, alpha=0.15, linewidth=0.6)
            axes.margins(x=0.08)
        for axes in all_axes[len(panels) :]:
            axes.set_axis_off()
        figure.legend(
            list(handles.values()),
            list(handles),
            loc="outside right upper",
            frameon=False,
            fontsize=8,
        )
    return figure
