"""Training: what the folder of a run keeps of it, found from what its results say."""

import json
from collections.abc import Mapping
from pathlib import Path

from zoo.errors import ZooError
from zoo.results.report import Results
from zoo.results.site.drawings import Curve
from zoo.results.trajectory import METRICS, Trajectory
from zoo.support.metrics_csv import curves

LOG = "metrics.csv"


def checkpoint_of(results: Results) -> Path | None:
    """Returns the checkpoint that was measured, None where there was none or it is gone."""
    named = results.header["model"].get("checkpoint")
    path = Path(named) if named else None
    return path if path is not None and path.exists() else None


def curves_of(results: Results) -> dict[str, Curve]:
    """Returns what was logged while a model was trained, over steps; nothing where that is gone.

    Args:
        results: What the model was measured to be.

    Raises:
        ZooError: The log is broken.
    """
    checkpoint = checkpoint_of(results)
    if checkpoint is None:
        return {}
    path = checkpoint.parent.parent / LOG
    return read_log(path) if path.is_file() else {}


def read_log(path: Path) -> dict[str, Curve]:
    """Returns the columns of metrics.csv over steps, without what is no finite number.

    Args:
        path: The file.

    Raises:
        ZooError: It is broken.
    """
    try:
        found = curves(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ZooError(
            f"{path} is no log of training ({type(error).__name__}: {error}): move it away, and "
            "the report goes without training curves"
        ) from error
    return {name: Curve(*map(list, zip(*of, strict=True))) for name, of in found.items()}


def trajectory_of(run: Path, results: Results) -> Trajectory | None:
    """Returns the trajectory that `zoo merge` measured, among results or beside the checkpoint.

    Args:
        run: Folder of the results.
        results: The results.

    Returns:
        The trajectory, None where there is none.

    Raises:
        ZooError: It is broken.
    """
    places, named = [run], results.header["model"].get("checkpoint")
    if named is not None:
        places += [Path(named).parent, Path(named).parent / "merged"]
    path = next((place / METRICS for place in places if (place / METRICS).is_file()), None)
    if path is None:
        return None
    try:
        points = json.loads(path.read_text("utf-8"))
        alphas = [float(point["alpha"]) for point in points]
        scores: list[Mapping[str, float]] = [dict(point["scores"]) for point in points]
        return Trajectory(alphas, [dict(one) for one in scores]) if points else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ZooError(
            f"{path} is no trajectory ({type(error).__name__}: {error}): merge again by "
            "`zoo merge --benchmarks`, or move it away"
        ) from error
