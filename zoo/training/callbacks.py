"""The checkpoints of a run: the last one for resuming, the best one by validation loss."""

import shlex
import time
from pathlib import Path
from typing import Any, Literal

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

from zoo.errors import ZooError
from zoo.support.ranges import PositiveInt, PositiveNumber, Ranged
from zoo.training.stopping import StepEnd, StepLoop


class LastCheckpoint(Ranged, StepEnd, ModelCheckpoint):
    """last.ckpt: what a resumed run goes on from, and what papers report.

    It is written at the end of a step: every so many steps, every so many minutes, where a signal
    stops the run, and at the end of training.

    Args:
        every_n_steps: Steps between two writes.
        every_n_minutes: Minutes between two writes, whatever the number of steps.
        dirpath: The folder; None takes `checkpoints` in the run's own.
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
        self.every_n_minutes = every_n_minutes
        self._written = time.monotonic()

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Refuses a trainer that does not tell when a step ends.

        Args:
            trainer: The trainer.
            pl_module: The module.
            stage: Lightning's; only `fit` is looked at.

        Raises:
            ZooError: The trainer is Lightning's own.
        """
        if stage == "fit" and not isinstance(trainer.fit_loop.epoch_loop, StepLoop):
            raise ZooError(
                "LastCheckpoint is written at the end of a step, which Lightning's own Trainer "
                "does not tell: use zoo.training.ZooTrainer"
            )
        super().setup(trainer, pl_module, stage)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts the clock."""
        super().on_train_start(trainer, pl_module)
        self._written = time.monotonic()

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Writes nothing: what the step logs is on no disk yet."""

    def wants(self, trainer: Trainer) -> int:
        """Returns 1 where the minutes between two writes are over."""
        return int(time.monotonic() - self._written >= 60 * self.every_n_minutes)

    def at_step_end(self, trainer: Trainer, wanted: bool, stopping: bool) -> None:
        """Writes the checkpoint where one is due.

        A run that stops within an epoch is kept here: afterwards Lightning counts the epoch as
        done, and its rest would be skipped.

        Args:
            trainer: The trainer.
            wanted: Whether the minutes are over on any rank.
            stopping: Whether the run ends here.
        """
        due = trainer.global_step % self._every_n_train_steps == 0
        last = trainer.should_stop or trainer.global_step == trainer.max_steps
        if wanted or stopping or due or (last and not trainer.is_last_batch):
            self._keep(trainer)

    def after_last_validation(self, trainer: Trainer) -> None:
        """Writes the checkpoint again, with what the best one of the run is now."""
        self._keep(trainer)

    def describe_checkpoint(self, trainer: Trainer) -> str:
        """Returns which step is kept where, and the command that goes on from it."""
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return ""
        last = Path(self.last_model_path)
        config = last.parent.parent / "config.yaml"
        how = f"zoo fit --config {shlex.quote(str(config))} --ckpt_path {shlex.quote(str(last))}"
        return f"step {trainer.global_step:,} is kept in {last}; `{how}` goes on from there"

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Writes the checkpoint of the end, where it is not written yet."""
        if trainer.is_last_batch or self._last_global_step_saved != trainer.global_step:
            self._keep(trainer)

    def _keep(self, trainer: Trainer) -> None:
        if trainer.fast_dev_run:  # type: ignore[attr-defined]
            return
        for logger in trainer.loggers:
            logger.save()  # a resumed run logs nothing again that comes before its checkpoint
        self._save_last_checkpoint(trainer, self._monitor_candidates(trainer))
        self._written = time.monotonic()


class BestCheckpoint(ModelCheckpoint):
    """best.ckpt: the checkpoint of the lowest validation loss, or of another metric's best value.

    Args:
        monitor: The metric, by the name under which it is logged.
        mode: Whether its best value is the lowest (`min`) or the highest (`max`).
        dirpath: The folder; None takes `checkpoints` in the run's own.
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

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes the best so far as the one to beat, and keeps this run's own folder."""
        super().load_state_dict({**state_dict, "dirpath": self.dirpath})
