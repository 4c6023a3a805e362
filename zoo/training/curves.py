"""The curves of a run: the losses and benchmarks in its metrics.csv, as a figure and as text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.results.drawing import COLOURS, INK, MIN_LINE_POINTS, STYLE, render_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CURVES = "curves.png"
CHANCE = "train/chance_loss"
LOSSES = ("train/loss", "val/loss", CHANCE)
RATES = ("train/lr_image", "train/lr_text", "train/lr_head")
SCALE = "train/scale"
BENCHMARK = "benchmark/"
SHARES = "train/missing_"
LINES = 8  # the first metrics of a benchmark; more lines would hide each other
COLUMNS = 3
TEMPERATURE, LOSS, RATE = "temperature: 1 / the head's scale", "loss", "learning rate"
MISSING = "share of missing texts"
Y_LABELS = {LOSS: "nats", RATE: RATE, TEMPERATURE: "temperature", MISSING: "share"}

Curve = list[tuple[int, float]]


def best_and_last_lines(curves: Mapping[str, Curve]) -> Iterator[str]:
    """Yields a line per validation metric: its best and its last value, with steps.

    Args:
        curves: The curves.
    """
    for name, curve in curves.items():
        if name == "val/loss" or name.startswith(BENCHMARK):
            lowest = name == "val/loss"
            step, best = (min if lowest else max)(curve, key=lambda point: point[1])
            digits = 4 if lowest else 1
            yield (
                f"{name.removeprefix(BENCHMARK)}: best {best:.{digits}f} at step {step:,}, last "
                f"{curve[-1][1]:.{digits}f} at step {curve[-1][0]:,}"
            )


def panels(curves: Mapping[str, Curve]) -> dict[str, list[str]]:
    """Returns the names of the curves in each panel, by the panel's title.

    Args:
        curves: The curves.
    """
    groups: dict[str, list[str]] = {
        LOSS: [name for name in LOSSES if name in curves],
        RATE: [name for name in RATES if name in curves],
        TEMPERATURE: [SCALE] if SCALE in curves else [],
        MISSING: [name for name in curves if name.startswith(SHARES)],
    }
    for name in curves:
        if name.startswith(BENCHMARK):
            groups.setdefault(f"{name.split('/')[1]}, %", []).append(name)
    return {title: names for title, names in groups.items() if names}


def draw_curves(curves: Mapping[str, Curve]) -> bytes:
    """Returns `draw_figure` as a PNG."""
    return render_figure(draw_figure(curves), "png")


def draw_figure(curves: Mapping[str, Curve]) -> "Figure":
    """Draws panels for loss, rates, temperature, missing texts and each benchmark.

    The panel of the loss shows that of a uniform guess as a dashed line, if it is defined.

    Args:
        curves: The curves.
    """
    import matplotlib
    from matplotlib.figure import Figure

    names_by_panel = panels(curves)
    columns = min(COLUMNS, len(names_by_panel))
    rows = -(-len(names_by_panel) // columns)
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.6 * columns, 3.2 * rows), layout="constrained")
        for position, (title, names) in enumerate(names_by_panel.items()):
            axes = figure.add_subplot(rows, columns, position + 1)
            for name, colour in zip(names[:LINES], COLOURS, strict=False):
                _draw_curve(axes, name, curves[name], colour)
            axes.set_title(_panel_title(title, names), fontsize=10, loc="left")
            axes.set_xlabel("step")
            axes.set_ylabel(Y_LABELS.get(title, "%"))
            axes.grid(color=INK, alpha=0.15, linewidth=0.6)
            axes.legend(fontsize=7, frameon=False)
    return figure


def _draw_curve(axes: "Axes", name: str, curve: Curve, colour: str) -> None:
    steps, values = zip(*curve, strict=True)
    label = "/".join(name.split("/")[2:] if name.startswith(BENCHMARK) else [name])
    if name == SCALE:
        label, values = "temperature", tuple(1 / value for value in values)
    look: dict[str, Any] = {"color": colour, "marker": "o", "linestyle": "none", "markersize": 3}
    if len(steps) >= MIN_LINE_POINTS:
        look = {"color": colour}
    if name == CHANCE:
        label, look = "chance: a uniform guess", {"color": INK, "linestyle": "--", "linewidth": 0.8}
    if name == CHANCE and len(steps) == 1:
        axes.axhline(values[0], label=label, **look)
    else:
        axes.plot(steps, values, label=label, **look)


def _panel_title(title: str, names: Sequence[str]) -> str:
    return title if len(names) <= LINES else f"{title} (the first {LINES} of {len(names)})"
