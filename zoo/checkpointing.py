"""Checkpoints that are whole or absent: written beside and renamed; the last one for resuming, the best one by validation loss."""

import os
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal

import torch
from lightning import LightningModule, Trainer
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import Tensor

from zoo.errors import ZooError
from zoo.exported import read_export
from zoo.files import beside, sweep
from zoo.recorded import is_recipe

SOURCES = ("pretrained", "rule", "weights")


class WholeCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint beside its place and renames it, so that a killed run or a full disk leaves the one before."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None
    ) -> None:
        target = Path(path)
        try:
            with beside(target) as part, part.open("wb") as file:
                torch.save(checkpoint, file)
                file.flush()
                os.fsync(file.fileno())
        except (OSError, RuntimeError) as error:
            # after a failed write torch's archive fails to end, and says only that
            failed = error if isinstance(error, OSError) else error.__context__
            if not isinstance(failed, OSError):
                raise
            raise ZooError(
                f"{target} could not be written ({failed.strerror}): the checkpoint before it is untouched, make room and resume"
            ) from error

    def load_checkpoint(self, path: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """A folder that `zoo export` wrote is read like a checkpoint; what a killed run left beside one is swept."""
        if Path(path).is_dir():
            return read_export(Path(path))
        sweep(Path(path).parent)
        return super().load_checkpoint(path, *args, **kwargs)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Returns what a checkpoint of `zoo fit` or `zoo merge`, or a folder of `zoo export`, holds; raises ZooError on anything else."""
    if path.is_dir():
        return read_export(path)
    if not path.is_file():
        raise ZooError(
            f"{path} is no file: give the path of a checkpoint that `zoo fit` wrote, or of a folder that `zoo export` wrote"
        )
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except OSError as error:
        raise ZooError(
            f"{path} cannot be read ({error.strerror or error}): give a checkpoint that can be"
        ) from error
    except Exception as error:
        raise ZooError(
            f"{path} cannot be read as a checkpoint of `zoo fit` ({type(error).__name__}): weights of other projects are given by "
            "model.backbone.init_args.pretrained"
        ) from error
    if not (
        isinstance(checkpoint, dict)
        and is_recipe(checkpoint.get("hyper_parameters"))
        and isinstance(checkpoint.get("zoo", {}), dict)
        and isinstance(checkpoint.get("state_dict"), dict)
        and all(
            isinstance(value, Tensor)
            for name, value in checkpoint["state_dict"].items()
            if name.startswith(("backbone.", "head."))
        )
    ):
        raise ZooError(
            f"{path} is no checkpoint of `zoo fit`: plain weights are given by model.backbone.init_args.pretrained"
        )
    return checkpoint


def recipe_of(checkpoint: dict[str, Any]) -> dict[str, Any]:
    """Returns the model's parts as a YAML would have them, without the files that weights came from: a checkpoint brings its own."""
    recipe = {
        name: part
        for name, part in deepcopy(checkpoint["hyper_parameters"]).items()
        if not name.startswith("_")
    }
    for part in ("backbone", "head"):
        settings = recipe.get(part, {}).get("init_args", {})
        settings |= {name: None for name in SOURCES if isinstance(settings.get(name), str)}
    return recipe


class LastCheckpoint(ModelCheckpoint):
    """last.ckpt every so many steps and at the end of training: what a resumed run goes on from, and what papers report.

    every_n_steps: steps between two writes.
    """

    def __init__(self, every_n_steps: int = 500, dirpath: str | None = None) -> None:
        super().__init__(
            dirpath=dirpath,
            save_top_k=0,
            save_last=True,
            every_n_train_steps=every_n_steps,
            enable_version_counter=False,
        )

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A run that stops within an epoch is kept here: afterwards Lightning counts the epoch as done, and its rest would be skipped."""
        super().on_train_batch_end(trainer, pl_module, outputs, batch, batch_idx)
        if (
            trainer.should_stop or trainer.global_step == trainer.max_steps
        ) and not trainer.is_last_batch:
            self._keep(trainer)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_train_end(trainer, pl_module)
        if trainer.is_last_batch or self._last_global_step_saved != trainer.global_step:
            self._keep(trainer)

    def _keep(self, trainer: Trainer) -> None:
        if not getattr(trainer, "fast_dev_run", False):
            self._save_last_checkpoint(trainer, self._monitor_candidates(trainer))


class BestCheckpoint(ModelCheckpoint):
    """best.ckpt: the one with the lowest validation loss, or the lowest or highest (mode) of another figure that is logged."""

    def __init__(
        self,
        monitor: str = "val/loss",
        mode: Literal["min", "max"] = "min",
        dirpath: str | None = None,
    ) -> None:
        super().__init__(
            dirpath=dirpath,
            filename="best",
            monitor=monitor,
            mode=mode,
            save_on_train_epoch_end=False,
            enable_version_counter=False,
        )

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """A resumed run writes to a folder of its own, and the best so far stays the one to beat."""
        super().load_state_dict({**state_dict, "dirpath": self.dirpath})


def newest_last(folder: Path) -> Path:
    """Returns the newest last.ckpt under a folder of runs; raises ZooError where there is none."""
    found = sorted(folder.glob("**/last.ckpt"), key=lambda p: p.stat().st_mtime)
    if not found:
        raise ZooError(
            f"--ckpt_path last: there is no last.ckpt under {folder}: give the path of one, or leave the flag out to start anew"
        )
    return found[-1]
