"""Stopping between two steps, when all that was trained can be kept.

Lightning answers SIGTERM, and a scheduler's SIGUSR1, in the middle of a step and on the one rank
that hears it. Here its connector only remembers the signal. Its loops ask after every step and
every batch of a validation, all ranks together.
"""

import logging
import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from types import FrameType
from typing import Any

from lightning import Callback, Trainer
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.pytorch.callbacks import WeightAveraging
from lightning.pytorch.loops.evaluation_loop import _EvaluationLoop
from lightning.pytorch.loops.fetchers import _DataFetcher
from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
from lightning.pytorch.trainer.connectors.signal_connector import _SignalConnector
from lightning.pytorch.trainer.states import RunningStage, TrainerFn

from zoo.batch import Batch
from zoo.errors import Stopped
from zoo.support.distributed import largest_over_ranks
from zoo.support.signals import AtOnce
from zoo.support.worker import heard
from zoo.training.averaging import EMA

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)

log = logging.getLogger(__name__)


class Signals(_SignalConnector):
    """Lightning's connector, which remembers signals of `fit` until they can be answered.

    A second Ctrl-C ends the run at once.

    Args:
        trainer: The trainer.

    Attributes:
        received: The last signal that came, 0 before any.
    """

    def __init__(self, trainer: Trainer) -> None:
        super().__init__(trainer)
        self.received = 0
        self._process = os.getpid()

    def register_signal_handlers(self) -> None:
        """Remembers the signals of `fit`, and leaves those of other commands alone."""
        self._original_handlers = self._get_current_signal_handlers()
        self.received, self._process = 0, os.getpid()
        heard[0] = 0
        if self.trainer.state.fn != TrainerFn.FITTING:
            return
        for signum in {*SIGNALS, self.requeue_signal or signal.SIGUSR1}:
            others = signal.getsignal(signum)
            if isinstance(others, AtOnce):
                others.kept = ""  # from here on, the end of a step says what is kept
                others = None
            if others in (signal.SIG_DFL, signal.default_int_handler):
                others = None
            if others is None or signum == signal.SIGTERM:
                self._register_signal(signum, self._remember(others))

    @property
    def requeue_signal(self) -> int | None:
        """The signal by which SLURM asks to queue the job again; None where it does not."""
        environment = self.trainer._accelerator_connector.cluster_environment
        asked = isinstance(environment, SLURMEnvironment) and environment.auto_requeue
        return environment.requeue_signal if asked else None  # type: ignore[attr-defined]

    def _remember(self, others: Any) -> Callable[[int, FrameType | None], None]:
        def remember(signum: int, frame: FrameType | None) -> None:
            if os.getpid() != self._process:
                return
            if signum == signal.SIGINT and self.received:
                raise KeyboardInterrupt
            self.received, heard[0] = signum, 1
            if self.trainer.is_global_zero:
                again = "; once more stops at once" if signum == signal.SIGINT else ""
                name = signal.Signals(signum).name
                os.write(2, f"zoo: {name}: stopping at the end of this step{again}\n".encode())
            if callable(others):
                others(signum, frame)

        return remember

    def requeue(self) -> None:
        """Puts the SLURM job in the queue again, as Lightning does after its own checkpoint."""
        array = os.environ.get("SLURM_ARRAY_JOB_ID")
        task = f"{array}_{os.environ.get('SLURM_ARRAY_TASK_ID')}"
        job = task if array is not None else os.environ["SLURM_JOB_ID"]
        command = ["scontrol", "requeue", job]
        try:
            failed = subprocess.run(command, check=False).returncode
        except OSError as error:
            failed = error.errno or 1
        if failed:
            log.warning(
                "`%s` failed (%d): start the job again by hand", shlex.join(command), failed
            )
        else:
            log.info("SLURM job %s is in the queue again and goes on from there", job)


class StepEnd(Callback):
    """A callback that is asked at the end of every optimiser step.

    The step's numbers are logged by then, and a validation that is due is still to come.
    """

    def wants(self, trainer: Trainer) -> int:
        """Returns 1 where the end of this step matters to this rank, else 0.

        The largest of all ranks holds.
        """
        return 0

    def at_step_end(self, trainer: Trainer, wanted: bool, stopping: bool) -> None:
        """Called on every rank alike.

        Args:
            trainer: The trainer.
            wanted: Whether any rank's `wants` said so.
            stopping: Whether the run ends here.
        """

    def after_last_validation(self, trainer: Trainer) -> None:
        """Called on every rank where a run that ends within an epoch was validated."""

    def describe_checkpoint(self, trainer: Trainer) -> str:
        """Returns what is kept of a run that is stopping and how to go on from it, or ''."""
        return ""


class StepLoop(_TrainingEpochLoop):
    """Lightning's loop over the batches of an epoch, which knows the end of a step.

    Checkpoints that are written there, or within the validation that follows, say that the
    validation is owed: a run that goes on from one begins with it.

    The weights of the last step are always validated, also where Lightning would not: within an
    epoch, and after an epoch that `check_val_every_n_epoch` leaves out.

    Args:
        trainer: The trainer.
        min_steps: Steps that are taken at least, as Lightning has it.
        max_steps: Steps that are taken at most, -1 for any number.

    Attributes:
        owes_validation: Whether Lightning validates after the step that just ended.
        validates_end: Whether the run is validated now because it ends here.
    """

    def __init__(self, trainer: Trainer, min_steps: int | None = None, max_steps: int = -1) -> None:
        super().__init__(trainer, min_steps, max_steps)
        self.val_loop = ValidationLoop(
            trainer,
            TrainerFn.FITTING,
            RunningStage.VALIDATING,
            verbose=False,
            inference_mode=False,
        )
        self._at_step_end = self._stepped = False
        self.owes_validation = self.validates_end = False

    def advance(self, data_fetcher: _DataFetcher) -> None:
        """Takes one batch, and notes whether there was any."""
        before = self.batch_progress.total.ready
        super().advance(data_fetcher)
        self._stepped = self.batch_progress.total.ready > before

    def on_advance_end(self, data_fetcher: _DataFetcher) -> None:
        """Ends the step where the batch ended one, before the validation that is due."""
        self.owes_validation = bool(super()._should_check_val_fx(data_fetcher))
        if self._stepped and not self._should_accumulate():
            self._at_step_end = True
            try:
                self.end_step()
            finally:
                self._at_step_end = False
        self.validates_end = not self.owes_validation and self._is_at_end()
        super().on_advance_end(data_fetcher)
        self.owes_validation = self.validates_end = False

    def _should_check_val_fx(self, data_fetcher: _DataFetcher) -> bool:
        """Returns whether to validate after this batch."""
        return self.validates_end or bool(super()._should_check_val_fx(data_fetcher))

    def _is_at_end(self) -> bool:
        """Returns whether this batch ended the last step of a run that has a validation."""
        trainer = self.trainer
        if not trainer.enable_validation or self._should_accumulate():
            return False
        last_of_epoch = self._num_ready_batches_reached()
        return (
            self.global_step == self.max_steps
            or (last_of_epoch and trainer.current_epoch + 1 == trainer.max_epochs)
            or (trainer.should_stop and trainer.fit_loop._can_stop_early)
        )

    def end_step(self) -> None:
        """Asks the callbacks, and ends the run where a signal came to any rank.

        Raises:
            Stopped: A signal came.
        """
        trainer: Trainer = self.trainer
        asked = [c for c in trainer.callbacks if isinstance(c, StepEnd)]  # type: ignore[attr-defined]
        signals = trainer._signal_connector
        assert isinstance(signals, Signals)
        device = trainer.strategy.root_device
        own = [signals.received, *(callback.wants(trainer) for callback in asked)]
        stop, *wanted = largest_over_ranks(own, device)
        for callback, wants in zip(asked, wanted, strict=True):
            callback.at_step_end(trainer, bool(wants), bool(stop))
        if stop:
            if stop == signals.requeue_signal and trainer.is_global_zero:
                signals.requeue()
            kept = next(filter(None, (c.describe_checkpoint(trainer) for c in asked)), "")
            raise Stopped(stop, kept, tells=trainer.is_global_zero)

    def state_dict(
        self, destination: dict[str, Any] | None = None, prefix: str = ""
    ) -> dict[str, Any]:
        """Returns the loop's progress, which tells Lightning's restart where it is.

        At the end of a step this is before the validation that is owed, or after the batch.

        Args:
            destination: As Lightning has it.
            prefix: As Lightning has it.

        Returns:
            The progress.
        """
        state: dict[str, Any] = super().state_dict(destination, prefix)
        if self.owes_validation:
            begun = state[f"{prefix}val_loop.batch_progress"]
            for counts in (begun["total"], begun["current"]):
                counts |= {"started": 1, "ready": 1, "processed": 0, "completed": 0}
            begun["is_last_batch"] = False
        elif self._at_step_end or self.validates_end:
            done = state[f"{prefix}batch_progress"]
            for counts in (done["total"], done["current"]):
                counts["completed"] -= 1
        return state

    def _broadcast_sigterm_tensor(self) -> None:
        """Does nothing: ranks agree at the end of a step, whichever of them heard the signal."""


class ValidationLoop(_EvaluationLoop):
    """Lightning's loop over the batches of validation, which can be stopped between two of them."""

    def _evaluation_step(self, batch: Any, *args: Any) -> None:
        super()._evaluation_step(batch, *args)
        trainer = self.trainer
        if trainer.sanity_checking or not self._stoppable(batch):
            return
        signals = trainer._signal_connector
        assert isinstance(signals, Signals)
        if any(largest_over_ranks([signals.received], trainer.strategy.root_device)):
            trainer.fit_loop.epoch_loop.end_step()

    def _stoppable(self, batch: Any) -> bool:
        """Returns whether all ranks come here alike and the trained weights can be kept now.

        Ranks come here alike with batches of captions alone.
        """
        swapped = any(
            isinstance(c, WeightAveraging) and not isinstance(c, EMA)
            for c in self.trainer.callbacks  # type: ignore[attr-defined]
        )
        return not swapped and (self.trainer.world_size == 1 or isinstance(batch, Batch))

    def _on_evaluation_end(self, *args: Any, **kwargs: Any) -> None:
        trainer = self.trainer
        loop = trainer.fit_loop.epoch_loop
        loop.owes_validation = False
        super()._on_evaluation_end(*args, **kwargs)
        if loop.validates_end and not trainer.is_last_batch:  # else the end of training writes it
            for callback in trainer.callbacks:  # type: ignore[attr-defined]
                if isinstance(callback, StepEnd):
                    callback.after_last_validation(trainer)
