"""Half-truths of several models in one picture (CS-CLIP, Fig. 3)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from zoo.errors import ZooError
from zoo.results.drawing import INK, STYLE, look
from zoo.results.half_truth_pictures import LABELS
from zoo.results.half_truths import ANCHOR, Diagnostic
from zoo.results.tables import TextTable, number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE = "models.png"
MOST = 10  # models whose colours can be told apart


def check_alike(found: Mapping[str, Diagnostic]) -> None:
    """Refuses what cannot stand side by side.

    Args:
        found: The diagnostic of each model, by the model's name.

    Raises:
        ZooError: Two were asked other cases, or there are more models than colours.
    """
    if len(found) > MOST:
        raise ZooError(f"{len(found)} results are more than one picture shows: name at most {MOST}")
    (first, own), *others = ((name, _case_keys(one)) for name, one in found.items())
    for name, other in others:
        if apart := own ^ other:
            raise ZooError(
                f"{first} and {name} were asked other half-truths, {len(apart):,} of them by one "
                "alone: measure both on one case file"
            )


def _case_keys(diagnostic: Diagnostic) -> set[tuple[str, str, tuple[str, str, str]]]:
    return {(case.condition, case.id, case.texts) for case in diagnostic.cases}


def table(found: Mapping[str, Diagnostic]) -> TextTable:
    """Returns a row for each condition and mean, with both accuracies of each model in per cent.

    Args:
        found: The diagnostic of each model, by the model's name.
    """
    lines = {name: (*one.conditions, *one.means) for name, one in found.items()}
    header = ["condition", *(f"{name}\n{what}" for name in found for what in ("A > A-", "A+ > A-"))]
    rows = (
        (
            row[0].name,
            *(number(one.value) for line in row for one in (line.anchor, line.completion)),
            f"{row[0].anchor.n:,}",
        )
        for row in zip(*lines.values(), strict=True)
    )
    return TextTable((*header, "n"), tuple(rows))


def drawing(found: Mapping[str, Diagnostic]) -> "Figure":
    """Draws both accuracies of every condition and mean, with a colour for each model.

    Args:
        found: The diagnostic of each model, by the model's name.
    """
    import matplotlib
    from matplotlib.figure import Figure

    lines = {name: (*one.conditions, *one.means) for name, one in found.items()}
    first = next(iter(found.values()))
    gap = [0.0] * len(first.conditions) + [0.6] * len(first.means)
    at = np.arange(len(gap)) + np.array(gap)
    sides = (np.arange(len(found)) - (len(found) - 1) / 2) * (0.7 / len(found))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(6.0, 1.2 + 0.9 * len(gap)), 6.4), layout="constrained")
        panels = figure.subplots(2, sharex=True)
        for axes, (metric, says) in zip(panels, LABELS.items(), strict=True):
            for i, ((name, own), side) in enumerate(zip(lines.items(), sides, strict=True)):
                colour, marker = look(i)
                averages = [one.anchor if metric == ANCHOR else one.completion for one in own]
                value, low, high = (
                    np.array([getattr(average, end) for average in averages], float)
                    for end in ("value", "low", "high")
                )
                axes.errorbar(
                    at + side,
                    value,
                    # an end at the value itself may lie a rounding beyond it
                    np.maximum((value - low, high - value), 0),
                    fmt=marker,
                    color=colour,
                    markersize=4,
                    capsize=2,
                    label=name,
                )
            axes.axhline(50, color=INK, linewidth=0.8, linestyle="--", label="chance")
            axes.set_ylim(-4, 104)
            axes.set_title(says, loc="left", fontsize=9)
            axes.set_ylabel("%, and its 95 % interval")
        own = next(iter(lines.values()))
        panels[-1].set_xticks(at, [f"{line.name}\n{line.anchor.n:,}" for line in own])
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside upper left",
            ncols=min(5, len(found) + 1),
            frameon=False,
        )
    return figure
