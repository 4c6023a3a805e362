"""Draws the figures of studies and of measurements of speed again, from the committed results.

python benchmarks/studies/redraw.py
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import familiar_ranks_report
import hard_negative_weight_report
import tf_local_report
import world_figures
from matplotlib.figure import Figure

from zoo.results.drawing import render_figure

BENCHMARKS = Path(__file__).parents[1]
RESULTS = BENCHMARKS / "results"
sys.path.insert(0, str(BENCHMARKS / "speed"))

import figures  # noqa: E402
import gpu_report  # noqa: E402

DRAWN: dict[str, Callable[[Any], Figure]] = {
    "familiar_ranks": familiar_ranks_report.draw,
    "gpu": gpu_report.draw,
    "gpu_dry_run/gpu": gpu_report.draw,
    "hard_negative_weight": hard_negative_weight_report.draw,
    "soak": figures.draw_soak,
    "step_memory_cpu": figures.draw_step_memory,
    "suite_speed": figures.draw_suite_speed,
    "tf_local_scenes": tf_local_report.draw,
}

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, draw in DRAWN.items():
        data = json.loads((RESULTS / f"{name}.json").read_text())
        (RESULTS / f"{name}.svg").write_bytes(render_figure(draw(data), "svg"))
    figures_of_pages = {
        "world_objectives": world_figures.draw_objectives(RESULTS),
        "world_wise_ft": world_figures.draw_wise_ft(RESULTS),
        **{page.name: world_figures.draw_forest(page, RESULTS) for page in world_figures.FORESTS},
    }
    for name, figure in figures_of_pages.items():
        (RESULTS / f"{name}.svg").write_bytes(render_figure(figure, "svg"))
