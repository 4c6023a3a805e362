"""The metrics.csv of a run: numbers over steps."""

import csv
import math
from collections import defaultdict
from pathlib import Path

PLACES = ("step", "epoch")


def curves(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Returns the finite numbers of a metrics.csv with the steps done by then, ascending, by name.

    Steps are counted from 1 here, and from 0 in the file, as Lightning does.

    A run that goes on from a checkpoint does some steps a second time. What was logged of them
    before it was interrupted is passed over.

    Args:
        path: The file.

    Raises:
        OSError: It cannot be read.
        ValueError: Something in it is no number.
        KeyError: It has no steps.
        TypeError: A row has another number of fields.
    """
    found: dict[str, list[tuple[int, float]]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            for name, value in row.items():
                if name in PLACES or not value or not math.isfinite(float(value)):
                    continue
                curve, step = found[name], int(row["step"]) + 1
                while curve and curve[-1][0] >= step:
                    curve.pop()
                curve.append((step, float(value)))
    return dict(found)
