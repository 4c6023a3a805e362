"""Checkpoints that are whole or absent: written beside and renamed; the last one for resuming, the best one by validation loss."""

import os
import tempfile
from pathlib import Path
from typing import Any, Literal

import torch
from lightning import LightningModule, Trainer
from lightning.fabric.plugins import TorchCheckpointIO
from lightning.pytorch.callbacks import ModelCheckpoint

from zoo.errors import ZooError


class WholeCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint beside its place and renames it, so that a killed run or a full disk leaves the one before."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any | None = None) -> None:
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                torch.save(checkpoint, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        except OSError as error:
            raise ZooError(
                f"{target} could not be written ({error}): the checkpoint before it is untouched, make room and resume"
            ) from error
        finally:
            Path(beside).unlink(missing_ok=True)


class LastCheckpoint(ModelCheckpoint):
    """last.ckpt every so many steps and at the end of training: what a resumed run goes on from, and what papers report.

    every_n_steps: steps between two writes.
    """

    def __init__(self, every_n_steps: int = 500, dirpath: str | None = None) -> None:
        super().__init__(dirpath=dirpath, save_top_k=0, save_last=True, every_n_train_steps=every_n_steps, enable_version_counter=False)

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_train_end(trainer, pl_module)
        if not getattr(trainer, "fast_dev_run", False):
            self._save_last_checkpoint(trainer, self._monitor_candidates(trainer))


class BestCheckpoint(ModelCheckpoint):
    """best.ckpt: the one with the lowest validation loss, or the lowest or highest (mode) of another figure that is logged."""

    def __init__(self, monitor: str = "val/loss", mode: Literal["min", "max"] = "min", dirpath: str | None = None) -> None:
        super().__init__(
            dirpath=dirpath, filename="best", monitor=monitor, mode=mode, save_on_train_epoch_end=False, enable_version_counter=False
        )


def newest_last(folder: Path) -> Path:
    """Returns the newest last.ckpt under a folder of runs; raises ZooError where there is none."""
    found = sorted(folder.glob("**/last.ckpt"), key=lambda p: p.stat().st_mtime)
    if not found:
        raise ZooError(f"--ckpt_path last: there is no last.ckpt under {folder}: give the path of one, or leave the flag out to start anew")
    return found[-1]
