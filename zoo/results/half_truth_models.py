"""Half-truths of several models in one figure (CS-CLIP, Fig. 3)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from zoo.errors import ZooError
from zoo.results.drawing import INK, STYLE, colour_and_marker
from zoo.results.half_truth_pictures import LABELS
from zoo.results.half_truths import ANCHOR, Diagnostic
from zoo.results.tables import TextTable, format_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE = "models.png"
MAX_MODELS = 10  # models with distinguishable colours


def check_comparable(diagnostics: Mapping[str, Diagnostic]) -> None:
    """Checks that models can be compared in one figure.

    Args:
        diagnostics: The diagnostic of each model, by the model's name.

    Raises:
        ZooError: Two models were evaluated on different cases, or there are too many models.
    """
    if len(diagnostics) > MAX_MODELS:
        raise ZooError(
            f"one figure shows at most {MAX_MODELS} results, and {len(diagnostics)} were given"
        )
    (first_name, first_cases), *rest = (
        (name, _case_keys(diagnostic)) for name, diagnostic in diagnostics.items()
    )
    for name, cases in rest:
        if unshared := first_cases ^ cases:
            raise ZooError(
                f"{first_name} and {name} were evaluated on different half-truths "
                f"({len(unshared):,} are in only one of them). Measure both on the same case file"
            )


def _case_keys(diagnostic: Diagnostic) -> set[tuple[str, str, tuple[str, str, str]]]:
    return {(case.condition, case.id, case.texts) for case in diagnostic.cases}


def accuracy_table(diagnostics: Mapping[str, Diagnostic]) -> TextTable:
    """Returns one row per condition and mean, with both accuracies of each model in per cent.

    Args:
        diagnostics: The diagnostic of each model, by the model's name.
    """
    lines = {name: (*d.conditions, *d.means) for name, d in diagnostics.items()}
    header = [
        "condition",
        *(f"{name}\n{comparison}" for name in diagnostics for comparison in ("A > A-", "A+ > A-")),
    ]
    rows = (
        (
            row[0].name,
            *(format_number(a.value) for line in row for a in (line.anchor, line.completion)),
            f"{row[0].anchor.n:,}",
        )
        for row in zip(*lines.values(), strict=True)
    )
    return TextTable((*header, "n"), tuple(rows))


def draw_model_accuracies(diagnostics: Mapping[str, Diagnostic]) -> "Figure":
    """Draws both accuracies of every condition and mean, with one colour per model.

    Args:
        diagnostics: The diagnostic of each model, by the model's name.
    """
    import matplotlib
    from matplotlib.figure import Figure

    lines = {name: (*d.conditions, *d.means) for name, d in diagnostics.items()}
    first_diagnostic = next(iter(diagnostics.values()))
    x_offsets = [0.0] * len(first_diagnostic.conditions) + [0.6] * len(first_diagnostic.means)
    x_positions = np.arange(len(x_offsets)) + np.array(x_offsets)
    sides = (np.arange(len(diagnostics)) - (len(diagnostics) - 1) / 2) * (0.7 / len(diagnostics))
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(max(6.0, 1.2 + 0.9 * len(x_offsets)), 6.4), layout="constrained")
        panels = figure.subplots(2, sharex=True)
        for axes, (metric, description) in zip(panels, LABELS.items(), strict=True):
            for i, ((name, model_lines), side) in enumerate(zip(lines.items(), sides, strict=True)):
                colour, marker = colour_and_marker(i)
                averages = [
                    line.anchor if metric == ANCHOR else line.completion for line in model_lines
                ]
                value, low, high = (
                    np.array([getattr(average, end) for average in averages], float)
                    for end in ("value", "low", "high")
                )
                axes.errorbar(
                    x_positions + side,
                    value,
                    # rounding can put an end on the wrong side of the value
                    np.maximum((value - low, high - value), 0),
                    fmt=marker,
                    color=colour,
                    markersize=4,
                    capsize=2,
                    label=name,
                )
            axes.axhline(50, color=INK, linewidth=0.8, linestyle="--", label="chance")
            axes.set_ylim(-4, 104)
            axes.set_title(description, loc="left", fontsize=9)
            axes.set_ylabel("%, with 95 % interval")
        model_lines = next(iter(lines.values()))
        panels[-1].set_xticks(
            x_positions, [f"{line.name}\n{line.anchor.n:,}" for line in model_lines]
        )
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside upper left",
            ncols=min(5, len(diagnostics) + 1),
            frameon=False,
        )
    return figure
