"""Stopping on a signal between two steps, so that no training is lost.

Lightning reacts to SIGTERM, and to a scheduler's SIGUSR1, in the middle of a step and only on the
rank that receives it. Here its connector only stores the signal; the loops check for it on all
ranks after every step and every validation batch.
"""

import logging
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from lightning import Callback, Trainer
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.pytorch.callbacks import WeightAveraging
from lightning.pytorch.trainer.states import TrainerFn
from torch import Tensor

from zoo.batch import Batch
from zoo.errors import Stopped
from zoo.support.distributed import (
    begin_elementwise_max_over_ranks,
    elementwise_max_over_ranks,
)
from zoo.support.lightning_internals import (
    EvaluationLoop,
    SignalConnector,
    TrainingEpochLoop,
    cluster_environment,
    signal_connector,
)
from zoo.support.signals import ImmediateStop
from zoo.support.worker import signal_received
from zoo.training.averaging import EMA

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)

log = logging.getLogger(__name__)


class DeferredSignalConnector(SignalConnector):
    """Lightning's signal connector, which stores signals during `fit` until a step ends.

    A second Ctrl-C ends the run at once.

    Args:
        trainer: The trainer.

    Attributes:
        received: The last signal received, 0 before any.
    """

    def __init__(self, trainer: Trainer) -> None:
        super().__init__(trainer)
        self.received = 0
        self._process = os.getpid()

    def register_signal_handlers(self) -> None:
        """Installs handlers that store signals during `fit`; other commands keep theirs."""
        self.store_handlers()
        self.received, self._process = 0, os.getpid()
        signal_received[0] = 0
        if self.trainer.state.fn != TrainerFn.FITTING:
            return
        for signum in {*SIGNALS, self.requeue_signal or signal.SIGUSR1}:
            handler = signal.getsignal(signum)
            if isinstance(handler, ImmediateStop):
                handler.saved_note = ""  # from now on, the end of a step reports the checkpoint
                handler = None
            if handler in (signal.SIG_DFL, signal.default_int_handler):
                handler = None
            if handler is None or signum == signal.SIGTERM:
                self.set_handler(signum, self._build_recording_handler(handler))

    @property
    def requeue_signal(self) -> int | None:
        """The signal by which SLURM asks to requeue the job; None if it does not."""
        environment = cluster_environment(self.trainer)
        requeues = isinstance(environment, SLURMEnvironment) and environment.auto_requeue
        return environment.requeue_signal if requeues else None  # type: ignore[attr-defined]

    def _build_recording_handler(
        self, previous_handler: Any
    ) -> Callable[[int, FrameType | None], None]:
        def remember(signum: int, frame: FrameType | None) -> None:
            if os.getpid() != self._process:
                return
            if signum == signal.SIGINT and self.received:
                raise KeyboardInterrupt
            self.received, signal_received[0] = signum, 1
            if self.trainer.is_global_zero:
                hint = "; press Ctrl-C again to stop at once" if signum == signal.SIGINT else ""
                name = signal.Signals(signum).name
                os.write(2, f"zoo: {name}: stopping at the end of this step{hint}\n".encode())
            if callable(previous_handler):
                previous_handler(signum, frame)

        return remember

    def requeue_slurm_job(self) -> None:
        """Requeues the SLURM job, as Lightning does after its own checkpoint."""
        array = os.environ.get("SLURM_ARRAY_JOB_ID")
        task = f"{array}_{os.environ.get('SLURM_ARRAY_TASK_ID')}"
        job = task if array is not None else os.environ["SLURM_JOB_ID"]
        command = ["scontrol", "requeue", job]
        try:
            failed = subprocess.run(command, check=False).returncode
        except OSError as error:
            failed = error.errno or 1
        if failed:
            log.warning("`%s` failed (%d): restart the job manually", shlex.join(command), failed)
        else:
            log.info("SLURM job %s is requeued and will resume from this checkpoint", job)


class StepEnd(Callback):
    """A callback with hooks at the end of every optimizer step.

    They run after the step's metrics are logged and before a validation that is due.
    """

    def requests_action(self, trainer: Trainer) -> int | Tensor:
        """Returns 1 if this rank requests an action at the end of this step, else 0.

        The maximum over ranks is passed to `at_step_end`: of this step, or on a GPU of the step
        before. A tensor is a scalar on the rank's device.
        """
        return 0

    def at_step_end(self, trainer: Trainer, action_requested: bool, stopping: bool) -> None:
        """Called on every rank at the end of a step.

        Args:
            trainer: The trainer.
            action_requested: Whether `requests_action` returned 1 on any rank, at this step or, on
                a GPU, at the step before.
            stopping: Whether the run stops here.
        """

    def after_validation_within_epoch(self, trainer: Trainer) -> None:
        """Called on every rank after the validation of a run that ends within an epoch."""

    def describe_checkpoint(self, trainer: Trainer) -> str:
        """Describes the checkpoint of a run that is stopping and how to resume it, or ''."""
        return ""


class StepLoop(TrainingEpochLoop):
    """Lightning's loop over the batches of an epoch, with hooks at the end of a step.

    Checkpoints that are written at the end of a step, or during the validation that follows,
    record that this validation is pending: a run resumed from one begins with it.

    The weights of the last step are always validated, even where Lightning would not: within an
    epoch, and after an epoch that `check_val_every_n_epoch` skips.

    On a GPU, the ranks agree on signals and requests one step later, so that no step waits for the
    GPU to finish. Before a validation and after the last step they agree at once.

    Args:
        trainer: The trainer.
        min_steps: Minimum number of steps, as in Lightning.
        max_steps: Maximum number of steps, -1 for no limit.

    Attributes:
        agrees_later: Whether the ranks agree one step later; None if they do on a GPU.
        seconds_waited_for_device: Seconds that ends of steps waited for the ranks to agree.
        owes_validation: Whether Lightning validates after the step that just ended.
        validates_end: Whether the run is being validated because it ends here.
    """

    agrees_later: bool | None = None

    def __init__(self, trainer: Trainer, min_steps: int | None = None, max_steps: int = -1) -> None:
        super().__init__(trainer, min_steps, max_steps)
        self.val_loop = ValidationLoop(trainer)
        self._at_step_end = self._stepped = False
        self.seconds_waited_for_device = 0.0
        # reads what was requested at the step before, if the ranks have not agreed on it yet
        self._read_requests: Callable[[], list[int]] | None = None
        self.owes_validation = self.validates_end = False

    def advance(self, data_fetcher: Any) -> None:
        """Processes one batch, and records whether there was one."""
        n_batches = self.batch_progress.total.ready
        super().advance(data_fetcher)
        self._stepped = self.batch_progress.total.ready > n_batches

    def on_advance_end(self, data_fetcher: Any) -> None:
        """Calls the hooks if the batch ended a step, before a validation that is due."""
        self.owes_validation = super().is_validation_due(data_fetcher)
        if self._stepped and not self.accumulates:
            self._at_step_end = True
            try:
                self.run_step_end_hooks(self.owes_validation or self._ends_run())
            finally:
                self._at_step_end = False
        self.validates_end = not self.owes_validation and self._ends_validated_run()
        super().on_advance_end(data_fetcher)
        self.owes_validation = self.validates_end = False

    def is_validation_due(self, data_fetcher: Any) -> bool:
        """Returns whether to validate after this batch."""
        return self.validates_end or super().is_validation_due(data_fetcher)

    def _ends_validated_run(self) -> bool:
        """Returns whether this batch ended the last step of a run with validation."""
        return self.trainer.enable_validation and not self.accumulates and self._ends_run()

    def _ends_run(self) -> bool:
        """Returns whether the step that just ended is the last."""
        trainer = self.trainer
        return (
            self.global_step == self.max_steps
            or (self.is_last_of_epoch and trainer.current_epoch + 1 == trainer.max_epochs)
            or (trainer.should_stop and self.may_stop_early)
        )

    def run_step_end_hooks(self, at_once: bool = True) -> None:
        """Calls the callbacks' hooks, and ends the run if any rank received a signal.

        Args:
            at_once: Whether the ranks agree on this step's requests now, even if `agrees_later`.

        Raises:
            Stopped: A rank received a signal.
        """
        trainer: Trainer = self.trainer
        step_callbacks = [c for c in trainer.callbacks if isinstance(c, StepEnd)]  # type: ignore[attr-defined]
        signals = signal_connector(trainer)
        assert isinstance(signals, DeferredSignalConnector)
        device = trainer.strategy.root_device
        requests = [
            signals.received,
            *(callback.requests_action(trainer) for callback in step_callbacks),
        ]
        later = device.type == "cuda" if self.agrees_later is None else self.agrees_later
        pending = [self._read_requests, begin_elementwise_max_over_ranks(requests, device)]
        self._read_requests = None if at_once or not later else pending.pop()
        began = time.perf_counter()
        agreed = [read() for read in pending if read is not None]
        self.seconds_waited_for_device += time.perf_counter() - began
        stop, *any_wants = map(max, zip(*agreed, [0] * len(requests), strict=True))
        for callback, wants in zip(step_callbacks, any_wants, strict=True):
            callback.at_step_end(trainer, bool(wants), bool(stop))
        if stop:
            if stop == signals.requeue_signal and trainer.is_global_zero:
                signals.requeue_slurm_job()
            description = next(
                filter(None, (c.describe_checkpoint(trainer) for c in step_callbacks)), ""
            )
            raise Stopped(stop, description, is_reported=trainer.is_global_zero)

    def state_dict(
        self, destination: dict[str, Any] | None = None, prefix: str = ""
    ) -> dict[str, Any]:
        """Returns the loop's progress, from which Lightning resumes.

        At the end of a step this is before the pending validation, or after the batch.

        Args:
            destination: As in Lightning.
            prefix: As in Lightning.

        Returns:
            The progress.
        """
        state: dict[str, Any] = super().state_dict(destination, prefix)
        if self.owes_validation:
            val_progress = state[f"{prefix}val_loop.batch_progress"]
            for counts in (val_progress["total"], val_progress["current"]):
                counts |= {"started": 1, "ready": 1, "processed": 0, "completed": 0}
            val_progress["is_last_batch"] = False
        elif self._at_step_end or self.validates_end:
            batch_progress = state[f"{prefix}batch_progress"]
            for counts in (batch_progress["total"], batch_progress["current"]):
                counts["completed"] -= 1
        return state


class ValidationLoop(EvaluationLoop):
    """Lightning's validation loop, which can be stopped between two batches."""

    def after_batch(self, batch: Any) -> None:
        """Ends the run if any rank received a signal and the weights can be saved.

        Args:
            batch: The batch.

        Raises:
            Stopped: A rank received a signal.
        """
        trainer = self.trainer
        if trainer.sanity_checking or not self._can_stop(batch):
            return
        signals = signal_connector(trainer)
        assert isinstance(signals, DeferredSignalConnector)
        if any(elementwise_max_over_ranks([signals.received], trainer.strategy.root_device)):
            trainer.fit_loop.epoch_loop.run_step_end_hooks()

    def _can_stop(self, batch: Any) -> bool:
        """Returns whether all ranks reach this point and the trained weights can be saved.

        All ranks have the same number of batches only if these are batches of captions.
        """
        swapped = any(
            isinstance(c, WeightAveraging) and not isinstance(c, EMA)
            for c in self.trainer.callbacks  # type: ignore[attr-defined]
        )
        return not swapped and (self.trainer.world_size == 1 or isinstance(batch, Batch))

    def before_end(self) -> None:
        """Records that the validation is done, before checkpoints are written."""
        self.trainer.fit_loop.epoch_loop.owes_validation = False

    def after_end(self) -> None:
        """Calls the callbacks' hooks if a run ends within an epoch."""
        trainer = self.trainer
        ends_run = trainer.fit_loop.epoch_loop.validates_end
        if ends_run and not trainer.is_last_batch:  # otherwise written at the end of training
            for callback in trainer.callbacks:  # type: ignore[attr-defined]
                if isinstance(callback, StepEnd):
                    callback.after_validation_within_epoch(trainer)
