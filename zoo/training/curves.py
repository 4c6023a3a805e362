"""The curves of a run: the losses and benchmarks in its metrics.csv, as a figure and as text."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO

CURVES = "curves.png"
LOSSES = ("train/loss", "val/loss")
RATES = ("train/lr_image", "train/lr_text", "train/lr_head")
SCALE = "train/scale"
BENCHMARK = "benchmark/"
SHARES = "train/missing_"
LINES = 8  # the first metrics of a benchmark; more lines would hide each other
COLUMNS = 3

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
        "loss": [name for name in LOSSES if name in curves],
        "learning rate": [name for name in RATES if name in curves],
        "temperature: 1 / the head's scale": [SCALE] if SCALE in curves else [],
        "share of missing texts": [name for name in curves if name.startswith(SHARES)],
    }
    for name in curves:
        if name.startswith(BENCHMARK):
            groups.setdefault(f"{name.split('/')[1]}, %", []).append(name)
    return {title: names for title, names in groups.items() if names}


def draw_curves(curves: Mapping[str, Curve]) -> bytes:
    """Draws a PNG with panels for loss, rates, temperature, missing texts and each benchmark.

    Args:
        curves: The curves.
    """
    from matplotlib.figure import Figure

    names_by_panel = panels(curves)
    columns = min(COLUMNS, len(names_by_panel))
    rows = -(-len(names_by_panel) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.2 * rows), layout="constrained")
    for position, (title, names) in enumerate(names_by_panel.items()):
        axes = figure.add_subplot(rows, columns, position + 1)
        for name in names[:LINES]:
            steps, values = zip(*curves[name], strict=True)
            label = "/".join(name.split("/")[2:] if name.startswith(BENCHMARK) else [name])
            if name == SCALE:
                label, values = "temperature", tuple(1 / value for value in values)
            # between few points a line would suggest values that nobody measured
            axes.plot(steps, values, "o" if len(steps) < 30 else "-", markersize=3, label=label)
        axes.set_title(_panel_title(title, names), fontsize=10, loc="left")
        axes.set_xlabel("step")
        axes.grid(color="0.9")
        axes.legend(fontsize=7, frameon=False)
    png = BytesIO()
    figure.savefig(png, format="png", dpi=120)
    return png.getvalue()


def _panel_title(title: str, names: Sequence[str]) -> str:
    return title if len(names) <= LINES else f"{title} (the first {LINES} of {len(names)})"
