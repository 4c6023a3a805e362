"""Reads the metrics.csv of a run."""

import csv
import math
from collections import defaultdict
from pathlib import Path

STEP_COLUMNS = ("step", "epoch")


def read_curves(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Returns the finite values of each metric as (number of steps, value), ascending, by name.

    Steps are counted from 1 here, and from 0 in the file, as Lightning does.

    A run that resumes from a checkpoint repeats some steps. Values that were logged for them before
    the interruption are ignored.

    Args:
        path: The file.

    Raises:
        OSError: The file cannot be read.
        ValueError: A value is not a number.
        KeyError: The file has no column of steps.
        TypeError: A row has a wrong number of fields.
    """
    points_by_name: dict[str, list[tuple[int, float]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            for name, value in row.items():
                if name in STEP_COLUMNS or not value or not math.isfinite(float(value)):
                    continue
                curve, step = points_by_name[name], int(row["step"]) + 1
                while curve and curve[-1][0] >= step:
                    curve.pop()
                curve.append((step, float(value)))
    return dict(points_by_name)
