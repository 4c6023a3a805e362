"""Scores of models interpolated between two sets of weights: table, figure and JSON file."""

import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from rich.table import Table

from zoo.results.tables import default_console
from zoo.support.files import write_bytes

METRICS, PICTURE = "trajectory.json", "trajectory.png"


@dataclass(frozen=True)
class Trajectory:
    """Scores of models on the line between two sets of weights.

    Attributes:
        alphas: Shares of the tuned weights, ascending.
        scores: Scores at each alpha in per cent, by 'benchmark/subset/metric'.
    """

    alphas: list[float]
    scores: list[dict[str, float]]

    @property
    def metrics(self) -> list[str]:
        """The metrics that all alphas have, in order."""
        return [name for name in self.scores[0] if all(name in scores for scores in self.scores)]


def print_trajectory(trajectory: Trajectory) -> None:
    """Prints a table with one row per metric and one column per alpha."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("%, by alpha", overflow="fold")
    for alpha in trajectory.alphas:
        table.add_column(f"{alpha:g}", justify="right", no_wrap=True)
    for name in trajectory.metrics:
        table.add_row(name, *(f"{scores[name]:.1f}" for scores in trajectory.scores))
    default_console().print(table)


def write_trajectory(trajectory: Trajectory, folder: Path) -> None:
    """Writes trajectory.json and trajectory.png."""
    scores = [
        {"alpha": a, "scores": s} for a, s in zip(trajectory.alphas, trajectory.scores, strict=True)
    ]
    write_bytes(folder / METRICS, json.dumps(scores, indent=1).encode())
    write_bytes(folder / PICTURE, draw_trajectory(trajectory))


def draw_trajectory(trajectory: Trajectory) -> bytes:
    """Returns a PNG with one line per metric over alpha."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.add_subplot()
    for name in trajectory.metrics:
        axes.plot(
            trajectory.alphas,
            [scores[name] for scores in trajectory.scores],
            marker="o",
            markersize=3,
            label=name,
        )
    axes.set_xlabel("alpha: share of the tuned weights")
    axes.set_ylabel("%")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
