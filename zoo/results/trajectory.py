"""Scores of models interpolated between two sets of weights: table, figure and JSON file."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from zoo.results.drawing import STYLE, figure_format, render_figure, run_styles
from zoo.results.number_formats import format_number
from zoo.results.report import Results
from zoo.results.tables import default_console
from zoo.support.files import write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS, PICTURES = "trajectory.json", ("trajectory.png", "trajectory.pdf")


@dataclass(frozen=True)
class Trajectory:
    """Scores of models on the line between two sets of weights.

    Attributes:
        alphas: Shares of the tuned weights, ascending.
        scores: Scores at each alpha in per cent: the averages by name, and the metrics by
            'benchmark/subset/metric'.
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
        table.add_row(name, *(format_number(scores[name]) for scores in trajectory.scores))
    default_console().print(table)


def named_scores(results: Results) -> dict[str, float]:
    """Returns the averages of all presets by name, then the metrics of the first preset.

    Averages without a value are left out. Of two with the same name the first is returned.

    Args:
        results: The results of a model.
    """
    scores: dict[str, float] = {}
    for counted in results.by_preset:
        for average in counted.averages:
            if average.value is not None:
                scores.setdefault(average.name, average.value)
    return scores | results.scalars()


def write_trajectory(trajectory: Trajectory, folder: Path) -> None:
    """Writes trajectory.json, trajectory.png and trajectory.pdf."""
    scores = [
        {"alpha": a, "scores": s} for a, s in zip(trajectory.alphas, trajectory.scores, strict=True)
    ]
    write_bytes(folder / METRICS, json.dumps(scores, indent=1).encode())
    for name in PICTURES:
        path = folder / name
        write_bytes(path, render_figure(draw_trajectory(trajectory), figure_format(path)))


def draw_trajectory(trajectory: Trajectory) -> "Figure":
    """Draws one line per score over alpha."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.add_subplot()
        for name, (colour, marker) in run_styles(trajectory.metrics).items():
            axes.plot(
                trajectory.alphas,
                [scores[name] for scores in trajectory.scores],
                color=colour,
                marker=marker,
                markersize=3,
                label=name,
            )
        axes.set_xlabel("alpha: share of the tuned weights")
        axes.set_ylabel("%")
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)
    return figure
