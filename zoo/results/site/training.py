"""Training curves and trajectories of runs, from the folders that their results name."""

import json
from pathlib import Path

from zoo.errors import ZooError
from zoo.results.report import Results
from zoo.results.site.chart_drawing import Curve
from zoo.results.trajectory import METRICS, Trajectory
from zoo.support.metrics_csv import read_curves

LOG = "metrics.csv"


def read_training_curves(results: Results) -> dict[str, Curve]:
    """Returns the curves that were logged during training, over steps; empty without a log.

    Args:
        results: The results of the trained model.

    Raises:
        ZooError: The log cannot be read.
    """
    checkpoint = results.header["model"].get("checkpoint")  # it may have been deleted
    path = Path(checkpoint).parent.parent / LOG if checkpoint else None
    return read_log(path) if path is not None and path.is_file() else {}


def read_log(path: Path) -> dict[str, Curve]:
    """Returns the columns of metrics.csv over steps, without values that are not finite.

    Args:
        path: The file.

    Raises:
        ZooError: It cannot be read.
    """
    try:
        columns = read_curves(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ZooError(
            f"{path} is not a valid training log ({type(error).__name__}: {error}): move it away "
            "to write the report without training curves"
        ) from error
    return {
        name: Curve([step for step, _ in points], [value for _, value in points])
        for name, points in columns.items()
    }


def read_trajectory(run_folder: Path, results: Results) -> Trajectory | None:
    """Returns the trajectory that `zoo merge` measured, from the results or the checkpoint folder.

    Args:
        run_folder: Folder of the results.
        results: The results.

    Returns:
        The trajectory, None if there is none.

    Raises:
        ZooError: It cannot be read.
    """
    folders, checkpoint = [run_folder], results.header["model"].get("checkpoint")
    if checkpoint is not None:
        folders += [Path(checkpoint).parent, Path(checkpoint).parent / "merged"]
    path = next((folder / METRICS for folder in folders if (folder / METRICS).is_file()), None)
    if path is None:
        return None
    try:
        points = json.loads(path.read_text("utf-8"))
        alphas = [float(point["alpha"]) for point in points]
        scores = [dict(point["scores"]) for point in points]
        return Trajectory(alphas, scores) if points else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ZooError(
            f"{path} is not a valid trajectory ({type(error).__name__}: {error}): repeat "
            "`zoo merge --benchmarks`, or move the file away"
        ) from error
