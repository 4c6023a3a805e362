"""Checkpoints that are whole or absent, and how commands find them."""

import logging
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import TorchCheckpointIO
from torch import Tensor

from zoo.checkpoints.exported import read_export
from zoo.errors import ZooError
from zoo.support.files import sweep, temporary_path
from zoo.support.spec import is_recipe
from zoo.support.tensors import read_tensors

SOURCES = ("pretrained", "weights")
RUNS = Path("runs")
NAMES = ("last", "best")
CHECKPOINTS, LAST, BEST = "checkpoints", "last.ckpt", "best.ckpt"
CHECKPOINT = "a checkpoint of `zoo fit`"
PLAIN_WEIGHTS = "weights of other projects are given by model.backbone.init_args.pretrained"

log = logging.getLogger(__name__)


class WholeCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint beside its place and renames it.

    So a killed run or a full disk leaves the checkpoint from before.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        """Writes a checkpoint.

        Args:
            checkpoint: What it holds.
            path: The file.
            storage_options: Not used.

        Raises:
            ZooError: The file cannot be written.
        """
        target = Path(path)
        try:
            with temporary_path(target) as part, part.open("wb") as file:
                torch.save(checkpoint, file)
                file.flush()
                os.fsync(file.fileno())
        except (OSError, RuntimeError) as error:
            # after a failed write torch's archive fails to end, and says only that
            failed = error if isinstance(error, OSError) else error.__context__
            if not isinstance(failed, OSError):
                raise
            raise ZooError(
                f"{target} could not be written ({failed.strerror}): the checkpoint before it is "
                "untouched, make room and resume"
            ) from error

    def load_checkpoint(self, path: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Reads a checkpoint, or a folder of `zoo export` as one, without running what it holds.

        Half-written files of dead processes beside it are removed.

        Args:
            path: The file or the folder.
            args: Lightning's, not used: a checkpoint never unpickles other objects than tensors
                and plain data, whatever `weights_only` is.
            kwargs: As `args`.

        Returns:
            What it holds.

        Raises:
            ZooError: The file cannot be read, or holds other objects.
        """
        if Path(path).is_dir():
            return read_export(Path(path))
        sweep(Path(path).parent)
        return read_tensors(Path(path), CHECKPOINT, PLAIN_WEIGHTS)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Reads a checkpoint of `zoo fit` or `zoo merge`, or a folder of `zoo export`.

    Args:
        path: The file or the folder.

    Returns:
        What it holds.

    Raises:
        ZooError: The path is neither.
    """
    if path.is_dir():
        return read_export(path)
    if not path.is_file():
        raise ZooError(
            f"{path} is no file: give the path of a checkpoint that `zoo fit` wrote, or of a "
            "folder that `zoo export` wrote"
        )
    checkpoint = read_tensors(path, CHECKPOINT, PLAIN_WEIGHTS, mapped=True)
    if not (
        is_recipe(checkpoint.get("hyper_parameters"))
        and isinstance(checkpoint.get("zoo", {}), dict)
        and isinstance(checkpoint.get("state_dict"), dict)
        and all(
            isinstance(value, Tensor)
            for name, value in checkpoint["state_dict"].items()
            if name.startswith(("backbone.", "head."))
        )
    ):
        raise ZooError(
            f"{path} is no checkpoint of `zoo fit`: plain weights are given by "
            "model.backbone.init_args.pretrained"
        )
    return checkpoint


def recipe_of(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Returns the recipe in a checkpoint, without the files that its weights came from.

    A checkpoint brings its own weights.
    """
    recipe = {
        name: part
        for name, part in deepcopy(checkpoint["hyper_parameters"]).items()
        if not name.startswith("_")
    }
    for part in ("backbone", "head"):
        settings = recipe.get(part, {}).get("init_args", {})
        settings |= {name: None for name in SOURCES if isinstance(settings.get(name), str | dict)}
    return recipe


def find_checkpoint(name: str | Path, runs: Path = RUNS) -> Path:
    """Finds the checkpoint that a command is given.

    Args:
        name: `last` or `best` of the newest run; the folder of a run, whose last checkpoint is
            meant; or any other path, which is returned as it is.
        runs: The folder of runs.

    Returns:
        The path of the checkpoint.

    Raises:
        ZooError: There is no such checkpoint.
    """
    if str(name) in NAMES:
        last = newest_last(runs)
        found = last if str(name) == "last" else best_of(last)
        log.info("--ckpt_path %s: %s", name, found)
        return found
    path = Path(name)
    for folder in (path / CHECKPOINTS, path):
        if (folder / LAST).is_file():
            return folder / LAST
    if (path / CHECKPOINTS).is_dir():
        raise ZooError(f"{path} has no {CHECKPOINTS}/{LAST}: give the path of another checkpoint")
    return path


def newest_last(folder: Path) -> Path:
    """Returns the newest `last.ckpt` under a folder of runs.

    Args:
        folder: The folder of runs.

    Raises:
        ZooError: There is none.
    """
    found = sorted(folder.glob(f"**/{LAST}"), key=lambda p: p.stat().st_mtime)
    if not found:
        raise ZooError(
            f"--ckpt_path last: there is no last.ckpt under {folder}: give the path of one, or "
            "leave the flag out to start anew"
        )
    return found[-1]


def best_of(last: Path) -> Path:
    """Returns the best checkpoint of a run, which may lie with the run that it resumed.

    Args:
        last: The run's `last.ckpt`.

    Raises:
        ZooError: There is none.
    """
    states = read_checkpoint(last).get("callbacks", {}).values()
    kept = [Path(state.get("best_model_path") or "") for state in states]
    for best in (last.with_name(BEST), *(path for path in kept if path.name == BEST)):
        if best.is_file():
            return best
    raise ZooError(f"the run of {last} has no {BEST}: give {last} itself, or the path of another")
