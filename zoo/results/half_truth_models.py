"""Half-truths of several models in tables and one figure (CS-CLIP, Tables 1, 6, 7 and Fig. 3)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from zoo.errors import ZooError
from zoo.results.drawing import INK, STYLE, format_hover, run_styles, set_hover_text
from zoo.results.half_truth_pictures import LABELS, X_LABEL
from zoo.results.half_truths import ANCHOR, COMPLETION, Diagnostic
from zoo.results.number_formats import format_number
from zoo.results.tables import TextTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = ("models.png", "models.pdf")
MAX_MODELS = 10  # models with distinguishable colours


def check_same_cases(diagnostics: Mapping[str, Diagnostic]) -> None:
    """Checks that models were evaluated on the same cases.

    Args:
        diagnostics: The diagnostic of each model, by the model's name.

    Raises:
        ZooError: Two models were evaluated on different cases.
    """
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


def model_tables(diagnostics: Mapping[str, Diagnostic]) -> tuple[TextTable, ...]:
    """Returns a table each of A > A-, of A+ > A- and of mean gaps, with one row per model.

    The columns are the conditions and the means. The tables of accuracies, in per cent, end with
    the text-only baselines and the numbers of cases (CS-CLIP, Tables 1, 6 and 7).

    Args:
        diagnostics: The diagnostic of each model, by the model's name.
    """
    first_diagnostic = next(iter(diagnostics.values()))
    reference_lines = (*first_diagnostic.conditions, *first_diagnostic.means)
    names = tuple(line.name for line in reference_lines)
    lines = {name: (*d.conditions, *d.means) for name, d in diagnostics.items()}
    tables = []
    for metric, title in ((ANCHOR, "A > A-, %"), (COMPLETION, "A+ > A-, %")):
        rows = [
            (name, *(format_number(line.accuracy(metric).value) for line in model_lines))
            for name, model_lines in lines.items()
        ]
        rows += [
            (
                baseline,
                *(
                    format_number(line.baselines.get((baseline, metric)))
                    for line in reference_lines
                ),
            )
            for baseline in dict.fromkeys(
                baseline
                for line in reference_lines
                for baseline, baseline_metric in line.baselines
                if baseline_metric == metric
            )
        ]
        rows.append(("n", *(f"{line.anchor.n:,}" for line in reference_lines)))
        tables.append(TextTable((title, *names), tuple(rows), n_text_columns=1))
    gaps = tuple(
        (name, *(f"{line.gap:+.4f}" for line in model_lines)) for name, model_lines in lines.items()
    )
    return (*tables, TextTable(("mean gap", *names), gaps, n_text_columns=1))


def check_drawable(diagnostics: Mapping[str, Diagnostic]) -> None:
    """Checks that one figure can show all models.

    Args:
        diagnostics: The diagnostic of each model, by the model's name.

    Raises:
        ZooError: There are too many.
    """
    if len(diagnostics) > MAX_MODELS:
        raise ZooError(
            f"one figure shows at most {MAX_MODELS} results, and {len(diagnostics)} were given"
        )


def draw_model_accuracies(diagnostics: Mapping[str, Diagnostic]) -> "Figure":
    """Draws both accuracies of every condition and mean, with one colour per model.

    Args:
        diagnostics: The diagnostic of each model, by the model's name.

    Raises:
        ZooError: There are too many models for one figure.
    """
    check_drawable(diagnostics)
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
        styles = run_styles(lines)
        for axes, (metric, description) in zip(panels, LABELS.items(), strict=True):
            for (name, model_lines), side in zip(lines.items(), sides, strict=True):
                colour, marker = styles[name]
                averages = [line.accuracy(metric) for line in model_lines]
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
                for x, line, average in zip(x_positions + side, model_lines, averages, strict=True):
                    if average.value is None:
                        continue
                    # a mark for each point, which only a pointer finds
                    (mark,) = axes.plot(x, average.value, marker="o", markersize=7, alpha=0)
                    text = format_hover((name, line.name), average.value, average.low, average.high)
                    set_hover_text(mark, text)
            axes.axhline(50, color=INK, linewidth=0.8, linestyle="--", label="chance")
            axes.set_ylim(-4, 104)
            axes.set_title(description, loc="left", fontsize=9)
            axes.set_ylabel("%, with 95 % interval")
        model_lines = next(iter(lines.values()))
        panels[-1].set_xticks(
            x_positions, [f"{line.name}\n{line.anchor.n:,}" for line in model_lines]
        )
        panels[-1].set_xlabel(X_LABEL)
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside upper left",
            ncols=min(5, len(diagnostics) + 1),
            frameon=False,
        )
    return figure
