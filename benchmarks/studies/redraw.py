"""Draws the figures of studies again, from the committed results.

python benchmarks/studies/redraw.py
"""

import argparse
import json
from pathlib import Path

import binding_heads_report
import familiar_ranks_report
import hard_negative_weight_report
import tf_local_report

from zoo.results.drawing import render_figure

RESULTS = Path(__file__).parents[1] / "results"
REPORTS = {
    "binding_heads": binding_heads_report,
    "familiar_ranks": familiar_ranks_report,
    "hard_negative_weight": hard_negative_weight_report,
    "tf_local_scenes": tf_local_report,
}

if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, report in REPORTS.items():
        data = json.loads((RESULTS / f"{name}.json").read_text())
        (RESULTS / f"{name}.svg").write_bytes(render_figure(report.draw(data), "svg"))
