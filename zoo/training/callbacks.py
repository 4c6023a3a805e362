"""Checkpoint callbacks: the last checkpoint for resuming, the best one by validation loss."""

import shlex
import time
from pathlib import Path
from typing import Any, Literal

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from zoo.errors import ZooError
from zoo.support.lightning_internals import write_last_checkpoint
from zoo.support.ranges import PositiveInt, PositiveNumber, Ranged
from zoo.training.stopping import StepEnd, StepLoop


class LastCheckpoint(Ranged, StepEnd, ModelCheckpoint):
    """last.ckpt: the checkpoint from which a run resumes, and which papers report.

    It is written at the end of a step: every `every_n_steps` steps, every `every_n_minutes`
    minutes, when a signal stops the run, and at the end of training.

    Args:
        every_n_steps: Steps between two writes.
        every_n_minutes: Minutes between two writes, regardless of the number of steps.
        dirpath: The folder; None for `checkpoints` in the run folder.
    """

    def __init__(
        self,
        every_n_steps: PositiveInt = 500,
        every_n_minutes: PositiveNumber = 10.0,
        dirpath: str | None = None,
    ) -> None:
        super().__init__(
            dirpath=dirpath,
            save_top_k=0,
            save_last=True,
            every_n_train_steps=every_n_steps,
            enable_version_counter=False,
        )
        self.every_n_steps, self.every_n_minutes = every_n_steps, every_n_minutes
        self._written, self._written_step = time.monotonic(), 0

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuses a trainer that does not report when a step ends.

        Args:
            trainer: The trainer.
            pl_module: The module.
            stage: Lightning's stage; only `fit` is checked.

        Raises:
            ZooError: The trainer is Lightning's own.
        """
        if stage == "fit" and not isinstance(trainer.fit_loop.epoch_loop, StepLoop):
            raise ZooError(
                "LastCheckpoint is written at the end of a step, which Lightning's own Trainer "
                "does not report: use zoo.training.ZooTrainer"
            )
        super().setup(trainer, pl_module, stage)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts the clock."""
        super().on_train_start(trainer, pl_module)
        self._written = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Writes nothing: the step's metrics are not saved yet."""

    def requests_action(self, trainer: Trainer) -> int:
        """Returns 1 if `every_n_minutes` have passed since the last write."""
        return int(time.monotonic() - self._written >= 60 * self.every_n_minutes)

    def at_step_end(self, trainer: Trainer, action_requested: bool, stopping: bool) -> None:
        """Writes the checkpoint if one is due.

        A run that stops within an epoch is saved here: afterwards Lightning counts the epoch as
        completed, and a resumed run would skip the rest of it.

        Args:
            trainer: The trainer.
            action_requested: Whether `every_n_minutes` have passed on any rank.
            stopping: Whether the run stops here.
        """
        due = trainer.global_step % self.every_n_steps == 0
        is_end = trainer.should_stop or trainer.global_step == trainer.max_steps
        if action_requested or stopping or due or (is_end and not trainer.is_last_batch):
            self._save(trainer)

    def after_validation_within_epoch(self, trainer: Trainer) -> None:
        """Writes the checkpoint again, with the current best one of the run."""
        self._save(trainer)

    def describe_checkpoint(self, trainer: Trainer) -> str:
        """Describes where the last step is saved, and the command that resumes from it."""
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return ""
        checkpoint = Path(self.last_model_path)
        config = checkpoint.parent.parent / "config.yaml"
        arguments = ["--config", str(config), "--ckpt_path", str(checkpoint)]
        command = f"zoo fit {shlex.join(arguments)}"
        return f"step {trainer.global_step:,} is saved in {checkpoint}; to resume: `{command}`"

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Writes the checkpoint of the last step, unless it is already written."""
        if trainer.is_last_batch or self._written_step != trainer.global_step:
            self._save(trainer)

    def _save(self, trainer: Trainer) -> None:
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return
        for logger in trainer.loggers:
            logger.save()  # a resumed run does not log steps before its checkpoint again
        write_last_checkpoint(self, trainer)
        self._written, self._written_step = time.monotonic(), trainer.global_step


class BestCheckpoint(ModelCheckpoint):
    """best.ckpt: the checkpoint with the lowest validation loss, or the best value of a metric.

    Args:
        monitor: The metric, by the name under which it is logged.
        mode: Whether its best value is the lowest (`min`) or the highest (`max`).
        dirpath: The folder; None for `checkpoints` in the run folder.
    """

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
        self.best_step: int | None = None  # in this process

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Saves a better checkpoint, and notes its step."""
        score_before = self.best_model_score
        super().on_validation_end(trainer, pl_module)
        if self.best_model_score is not score_before:
            self.best_step = trainer.global_step

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores the best value so far, and keeps this run's folder."""
        super().load_state_dict({**state_dict, "dirpath": self.dirpath})
