"""Figures of half-truths: accuracy by condition (CS-CLIP, Fig. 3) and a histogram of gaps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zoo.benchmarks.half_truth.baselines import CORPUS, LONGER
from zoo.benchmarks.half_truth.rules import figure_label
from zoo.results.drawing import INK, NEUTRAL, STYLE
from zoo.results.half_truths import ANCHOR, COMPLETION, ENTITIES, ConditionLine, Diagnostic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {ANCHOR: "#3f7fd1", COMPLETION: "#d9822b"}
LABELS = {
    ANCHOR: "A > A-: anchor above half-truth",
    COMPLETION: "A+ > A-: true completion above half-truth",
}
SIDE = {ANCHOR: -0.16, COMPLETION: 0.16}
GUESSES = {LONGER: ("_", "guess: the longer text"), CORPUS: ("x", "guess: the more frequent text")}
CHANCE = "chance"
LEGEND = (*LABELS.values(), *(label for _, label in GUESSES.values()), CHANCE)
X_LABEL = "condition, and its number of cases"
BINS = 60


def draw_accuracy(diagnostic: Diagnostic) -> "Figure":
    """Draws both accuracies of every condition and mean, with intervals and baselines."""
    import matplotlib
    from matplotlib.figure import Figure

    lines = (*diagnostic.conditions, *diagnostic.means)
    x_offsets = [0.0] * len(diagnostic.conditions) + [0.6] * len(diagnostic.means)
    x_positions = np.arange(len(lines)) + np.array(x_offsets)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(6.0, 1.2 + 0.8 * len(lines)), 4.4), layout="constrained")
        axes = figure.add_subplot()
        for metric in LABELS:
            _draw_metric_points(axes, x_positions, lines, metric)
        for baseline in GUESSES:
            _draw_baselines(axes, x_positions, lines, baseline)
        axes.axhline(50, color=INK, linewidth=0.8, linestyle="--", label=CHANCE)
        axes.set_xticks(
            x_positions, [f"{figure_label(line.name)}\n{line.anchor.n:,}" for line in lines]
        )
        axes.set_xlabel(X_LABEL)
        axes.set_ylim(-4, 104)
        axes.set_ylabel("%, with 95 % interval")
        handles = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        order = [name for name in LEGEND if name in handles]
        figure.legend(
            [handles[name] for name in order],
            order,
            loc="outside upper left",
            ncols=3,
            frameon=False,
        )
    return figure


def gap_limit(diagnostic: Diagnostic) -> float:
    """Returns the 99.9th percentile of absolute gaps."""
    gaps = np.abs([case.gap for case in diagnostic.cases])
    return float(np.quantile(gaps, 0.999)) or 1.0


def draw_gaps(
    diagnostic: Diagnostic, axis_limit: float | None = None, colour: str = COLOURS[ANCHOR]
) -> "Figure":
    """Draws histograms of gaps, one for entity and one for relation additions.

    Args:
        diagnostic: The gaps.
        axis_limit: Limit of the axis on both sides of zero, to compare models; `reach_of` the
            diagnostic if None.
        colour: Colour of the cases whose half-truth does not win; the others are grey.
    """
    import matplotlib
    from matplotlib.figure import Figure

    kinds = {
        "entity additions": np.array([c.gap for c in diagnostic.cases if c.condition in ENTITIES]),
        "relation additions": np.array(
            [c.gap for c in diagnostic.cases if c.condition not in ENTITIES]
        ),
    }
    kinds = {name: kind_gaps for name, kind_gaps in kinds.items() if len(kind_gaps)}
    axis_limit = gap_limit(diagnostic) if axis_limit is None else axis_limit
    edges = np.linspace(-axis_limit, axis_limit, BINS + 1)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, 0.9 + 1.8 * len(kinds)), layout="constrained")
        panels = figure.subplots(len(kinds), sharex=True, squeeze=False)[:, 0]
        for axes, (name, kind_gaps) in zip(panels, kinds.items(), strict=True):
            fooled = kind_gaps < 0
            for part, part_colour in ((kind_gaps[~fooled], colour), (kind_gaps[fooled], NEUTRAL)):
                clipped = np.clip(part, -axis_limit, axis_limit)
                axes.hist(clipped, edges, color=part_colour, histtype="stepfilled")
            axes.axvline(0, color=INK, linewidth=0.8, linestyle="--")
            axes.set_title(
                f"{name}: mean gap {kind_gaps.mean():+.4f}; {fooled.mean():.1%} of "
                f"{len(kind_gaps):,} cases are below zero, where the half-truth wins",
                loc="left",
                fontsize=9,
            )
            axes.set_ylabel("cases")
        panels[-1].set_xlabel("gap: score of the anchor minus score of the half-truth")
    return figure


def _draw_metric_points(
    axes: "Axes", x_positions: NDArray[np.float64], lines: Sequence[ConditionLine], metric: str
) -> None:
    averages = [line.anchor if metric == ANCHOR else line.completion for line in lines]
    value, low, high = (
        np.array([getattr(average, end) for average in averages], float)
        for end in ("value", "low", "high")
    )
    axes.errorbar(
        x_positions + SIDE[metric],
        value,
        # rounding can put an end on the wrong side of the value
        np.maximum((value - low, high - value), 0),
        fmt="o",
        color=COLOURS[metric],
        markersize=5,
        capsize=3,
        label=LABELS[metric],
    )


def _draw_baselines(
    axes: "Axes", x_positions: NDArray[np.float64], lines: Sequence[ConditionLine], baseline: str
) -> None:
    marker, label = GUESSES[baseline]
    for metric in LABELS:
        guessed = [line.baselines.get((baseline, metric), np.nan) for line in lines]
        if np.isfinite(guessed).any():
            axes.scatter(
                x_positions + SIDE[metric],
                guessed,
                s=90,
                color=COLOURS[metric],
                marker=marker,
                alpha=0.6,
                label=label,
            )
            label = ""
