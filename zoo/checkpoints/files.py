"""Checkpoint files: written atomically, read safely, and found by name."""

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
from zoo.support.configurable import is_recipe
from zoo.support.files import remove_leftovers, temporary_path
from zoo.support.renames import translate_checkpoint
from zoo.support.tensors import read_tensors

SOURCES = ("pretrained", "weights")
RUNS = Path("runs")
NAMES = ("last", "best")
CHECKPOINTS, LAST, BEST = "checkpoints", "last.ckpt", "best.ckpt"
CHECKPOINT = "a checkpoint of `zoo fit`"
PLAIN_WEIGHTS = "give weights of other projects with --model.backbone.pretrained"

log = logging.getLogger(__name__)


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint to a temporary file and renames it.

    If the run is killed or the disk is full, the previous checkpoint is kept.
    """

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        """Writes a checkpoint.

        Args:
            checkpoint: Its content.
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
            # torch reports only that its archive could not be closed; the context is the cause
            system_error = error if isinstance(error, OSError) else error.__context__
            if not isinstance(system_error, OSError):
                raise
            raise ZooError(
                f"{target} could not be written ({system_error.strerror}); the previous checkpoint "
                "is unchanged: free some disk space and resume"
            ) from error

    def load_checkpoint(self, path: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Reads a checkpoint or a folder of `zoo export`, without running code in it.

        Temporary files of dead processes in the same folder are removed.

        Args:
            path: The file or the folder.
            args: Lightning's, ignored: only tensors and plain data are ever unpickled, regardless
                of `weights_only`.
            kwargs: Like `args`.

        Returns:
            Its content.

        Raises:
            ZooError: The file cannot be read, or has other objects.
        """
        if Path(path).is_dir():
            return read_export(Path(path))
        remove_leftovers(Path(path).parent)
        return translate_checkpoint(read_tensors(Path(path), CHECKPOINT, PLAIN_WEIGHTS))


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Reads a checkpoint of `zoo fit` or `zoo merge`, or a folder of `zoo export`.

    Args:
        path: The file or the folder.

    Returns:
        Its content.

    Raises:
        ZooError: The path is neither.
    """
    if path.is_dir():
        return read_export(path)
    if not path.is_file():
        if "," in str(path):
            raise ZooError(
                f"{path} does not exist, and only one checkpoint can be given: run the command "
                "once for each (`zoo compare` compares the results)"
            )
        raise ZooError(
            f"{path} does not exist: give the path of a checkpoint that `zoo fit` wrote, or of a "
            "folder that `zoo export` wrote"
        )
    checkpoint = read_tensors(path, CHECKPOINT, PLAIN_WEIGHTS, mapped=True)
    if not _is_checkpoint(checkpoint):
        raise ZooError(
            f"{path} is not a checkpoint of `zoo fit`: plain weights need an architecture, as in "
            f"--model.backbone.name ViT-B-32 --model.backbone.pretrained {path}, or "
            f"zoo.load('ViT-B-32', '{path}') in Python"
        )
    return translate_checkpoint(checkpoint)


def refuse_plain_weights(path: Path, advice: str) -> None:
    """Rejects a file of weights that is not a checkpoint of `zoo fit`.

    Args:
        path: The file, or any other path, which is ignored.
        advice: What the user can do, the end of the message.

    Raises:
        ZooError: The file holds something else.
    """
    if path.is_file() and not _is_checkpoint(
        read_tensors(path, CHECKPOINT, PLAIN_WEIGHTS, mapped=True)
    ):
        raise ZooError(f"{path} is not a checkpoint of `zoo fit`: {advice}")


def _is_checkpoint(content: dict[str, Any]) -> bool:
    return (
        is_recipe(content.get("hyper_parameters"))
        and isinstance(content.get("zoo", {}), dict)
        and isinstance(content.get("state_dict"), dict)
        and all(
            isinstance(value, Tensor)
            for name, value in content["state_dict"].items()
            if name.startswith(("backbone.", "head."))
        )
    )


def recipe_of(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Returns the recipe in a checkpoint, without the paths of its initial weights.

    They are not needed, since the checkpoint has the trained weights.
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
    """Finds a checkpoint by its name or path.

    Args:
        name: `last` or `best` of the newest run; the folder of a run, for its last checkpoint; or
            any other path, which is returned unchanged.
        runs: The folder of runs.

    Returns:
        The path of the checkpoint.

    Raises:
        ZooError: There is no such checkpoint.
    """
    if str(name) in NAMES:
        newest = newest_last_checkpoint(runs)
        result = newest if str(name) == "last" else best_of(newest)
        log.info("--ckpt_path %s: %s", name, result)
        return result
    path = Path(name)
    for folder in (path / CHECKPOINTS, path):
        if (folder / LAST).is_file():
            return folder / LAST
    if (path / CHECKPOINTS).is_dir():
        raise ZooError(f"{path} has no {CHECKPOINTS}/{LAST}: give the path of another checkpoint")
    return path


def newest_last_checkpoint(folder: Path) -> Path:
    """Returns the newest `last.ckpt` under a folder of runs.

    Args:
        folder: The folder of runs.

    Raises:
        ZooError: There is none.
    """
    checkpoints = sorted(folder.glob(f"**/{LAST}"), key=lambda p: p.stat().st_mtime)
    if not checkpoints:
        raise ZooError(
            f"--ckpt_path last: the folder {folder} has no last.ckpt: give the path of a "
            "checkpoint, or run the command in the folder in which `zoo fit` ran"
        )
    return checkpoints[-1]


def best_of(last: Path) -> Path:
    """Returns the best checkpoint of a run, which may be in the folder of the run it resumed.

    Args:
        last: The run's `last.ckpt`.

    Raises:
        ZooError: There is none.
    """
    states = read_checkpoint(last).get("callbacks", {}).values()
    recorded = [Path(state.get("best_model_path") or "") for state in states]
    for best in (last.with_name(BEST), *(path for path in recorded if path.name == BEST)):
        if best.is_file():
            return best
    raise ZooError(f"the run of {last} has no {BEST}: use {last} or another checkpoint")
