"""Figures of measurements of speed and memory, from the contents of their result files."""

from typing import Any

import matplotlib
from matplotlib.figure import Figure

from zoo.results.drawing import INK, STYLE, run_styles

GRID: dict[str, Any] = {"color": INK, "alpha": 0.15, "linewidth": 0.6}


def draw_suite_speed(data: dict[str, Any]) -> Figure:
    """Draws the processor time of the engine and of a loop over the number of cases.

    Args:
        data: The content of suite_speed.json, with its part `cases`.
    """
    engine, loop = data["cases"]["engine"], data["cases"]["loop"]
    cases = [run["cases"] for run in engine]
    seconds_per_case = loop["cpu"] / loop["cases"]
    series = {
        "case by case (extrapolated)": [seconds_per_case * n for n in cases],
        "engine": [run["cpu"] for run in engine],
    }
    lines = {name: (cases, seconds) for name, seconds in series.items()}
    return _draw_lines(lines, "cases of the same images and texts", "processor time, s")


def draw_step_memory(data: dict[str, Any]) -> Figure:
    """Draws the peak memory of whole and chunked steps over the batch.

    Args:
        data: The content of step_memory_DEVICE.json.
    """
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for step in data["steps"]:
        name = f"chunks of {step['chunk']}" if step["chunk"] else "whole batch"
        batches, peaks = lines.setdefault(name, ([], []))
        batches.append(step["batch"])
        peaks.append(step["peak"] / 1024)
    figure = _draw_lines(
        lines, "images per batch, six texts each", "GiB above weights, gradients and moments"
    )
    (axes,) = figure.axes
    axes.set_xticks(sorted({step["batch"] for step in data["steps"]}))
    axes.set_xlim(0)
    axes.set_title(
        f"Peak memory of a CS-CLIP step, {data['backbone']}, {data['precision']}",
        loc="left",
        fontsize=9,
    )
    return figure


def draw_soak(data: dict[str, Any]) -> Figure:
    """Draws the private memory of every process over the steps of a long run.

    Args:
        data: The content of soak.json.
    """
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for look in data["looks"]:
        for name, memory in look["processes"].items():
            steps, private = lines.setdefault(name, ([], []))
            steps.append(look["step"])
            private.append(memory["private"])
    return _draw_lines(lines, "step", "private memory, MiB", marked=False)


def _draw_lines(
    lines: dict[str, tuple[list[float], list[float]]],
    x_label: str,
    y_label: str,
    marked: bool = True,
) -> Figure:
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(5.5, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for name, (colour, marker) in run_styles(lines).items():
            x, y = lines[name]
            axes.plot(x, y, color=colour, marker=marker if marked else "", ms=4, label=name, lw=1.2)
        axes.set_xlabel(x_label)
        axes.set_ylabel(y_label)
        axes.set_ylim(0)
        axes.grid(**GRID)
        figure.legend(loc="outside upper left", ncols=3, frameon=False, fontsize=8)
    return figure
