"""The curves of a run: what its metrics.csv has of losses and benchmarks, drawn and told."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO

CURVES = "curves.png"
LOSSES = ("train/loss", "val/loss")
SETTINGS = ("train/lr_image", "train/lr_text", "train/lr_head", "train/scale")
BENCHMARK = "benchmark/"
SHARES = "train/missing_"
LINES = 8  # of a benchmark's metrics, the first; more would hide each other
COLUMNS = 3

Curve = list[tuple[int, float]]


def ends(found: Mapping[str, Curve]) -> Iterator[str]:
    """Yields a line for each number of a validation: its best and its last value, with steps.

    Args:
        found: The curves.
    """
    for name, curve in found.items():
        if name == "val/loss" or name.startswith(BENCHMARK):
            lowest = name == "val/loss"
            step, best = (min if lowest else max)(curve, key=lambda point: point[1])
            digits = 4 if lowest else 1
            yield (
                f"{name.removeprefix(BENCHMARK)}: best {best:.{digits}f} at step {step:,}, last "
                f"{curve[-1][1]:.{digits}f} at step {curve[-1][0]:,}"
            )


def panels(found: Mapping[str, Curve]) -> dict[str, list[str]]:
    """Returns which curves stand together, by what they are.

    Args:
        found: The curves.
    """
    groups: dict[str, list[str]] = {
        "loss": [name for name in LOSSES if name in found],
        "learning rate": [name for name in SETTINGS[:3] if name in found],
        "temperature's inverse": [name for name in SETTINGS[3:] if name in found],
        "share of missing texts": [name for name in found if name.startswith(SHARES)],
    }
    for name in found:
        if name.startswith(BENCHMARK):
            groups.setdefault(f"{name.split('/')[1]}, %", []).append(name)
    return {title: names for title, names in groups.items() if names}


def picture(found: Mapping[str, Curve]) -> bytes:
    """Returns a PNG with a panel for loss, rates, temperature, missing texts and each benchmark.

    Args:
        found: The curves.
    """
    from matplotlib.figure import Figure

    shown = panels(found)
    columns = min(COLUMNS, len(shown))
    rows = -(-len(shown) // columns)
    figure = Figure(figsize=(4.6 * columns, 3.2 * rows), layout="constrained")
    for place, (title, names) in enumerate(shown.items()):
        axes = figure.add_subplot(rows, columns, place + 1)
        for name in names[:LINES]:
            steps, values = zip(*found[name], strict=True)
            label = "/".join(name.split("/")[2:] if name.startswith(BENCHMARK) else [name])
            few = len(steps) < 30
            axes.plot(steps, values, marker="o" if few else "", markersize=3, label=label)
        axes.set_title(_title_svg(title, names), fontsize=10, loc="left")
        axes.set_xlabel("step")
        axes.grid(color="0.9")
        axes.legend(fontsize=7, frameon=False)
    out = BytesIO()
    figure.savefig(out, format="png", dpi=120)
    return out.getvalue()


def _title_svg(title: str, names: Sequence[str]) -> str:
    return title if len(names) <= LINES else f"{title} (the first {LINES} of {len(names)})"
