"""Private names of Lightning, on which training relies; other modules use its public names only.

Lightning has no public way to react to signals between steps, to validate at the end of a run, to
write last.ckpt on demand, or to read what a user gave to its callbacks and loggers. The names exist
in 2.6.1 and in 2.6.4 to 2.6.6, the range in `pyproject.toml`; a test checks the installed version.
The command line overrides two more, see `zoo.cli.library_internals`.
"""

from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.fabric.plugins import ClusterEnvironment
from lightning.pytorch.callbacks import (
    ModelCheckpoint,
    RichProgressBar,
    WeightAveraging,
)
from lightning.pytorch.loggers import Logger
from lightning.pytorch.loops.evaluation_loop import _EvaluationLoop
from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
from lightning.pytorch.strategies import ModelParallelStrategy
from lightning.pytorch.trainer.connectors.signal_connector import _SignalConnector
from lightning.pytorch.trainer.states import RunningStage, TrainerFn

SignalHandler = Callable[[int, FrameType | None], None]


class SignalConnector(_SignalConnector):
    """Lightning's connector, whose `register_signal_handlers` and `teardown` enclose a run.

    Lightning's own handlers act within a step, and only on the rank that receives a signal.
    """

    def store_handlers(self) -> None:
        """Stores the current handlers, which `teardown` restores."""
        self._original_handlers = self._get_current_signal_handlers()

    def set_handler(self, signum: int, handler: SignalHandler) -> None:
        """Sets the handler of a signal, if this is the main thread."""
        self._register_signal(signum, handler)


def signal_connector(trainer: Trainer) -> SignalConnector:
    """Returns the connector that `set_signal_connector` set."""
    connector = trainer._signal_connector
    assert isinstance(connector, SignalConnector)
    return connector


def set_signal_connector(trainer: Trainer, connector: SignalConnector) -> None:
    """Replaces the connector of a trainer."""
    trainer._signal_connector = connector


def cluster_environment(trainer: Trainer) -> ClusterEnvironment:
    """Returns the environment; only the strategies of several devices have it as an attribute."""
    return trainer._accelerator_connector.cluster_environment


class EvaluationLoop(_EvaluationLoop):
    """Lightning's validation within `fit`, with hooks.

    Callbacks cannot replace them: these run before the metrics of a validation are logged.

    Args:
        trainer: The trainer.
    """

    def __init__(self, trainer: Trainer) -> None:
        fitting, validating = TrainerFn.FITTING, RunningStage.VALIDATING
        super().__init__(trainer, fitting, validating, verbose=False, inference_mode=False)

    def after_batch(self, batch: Any) -> None:
        """Called after each batch."""

    def before_end(self) -> None:
        """Called before the callbacks of the end of a validation."""

    def after_end(self) -> None:
        """Called after the callbacks of the end of a validation."""

    def _evaluation_step(self, batch: Any, *args: Any) -> None:
        super()._evaluation_step(batch, *args)
        self.after_batch(batch)

    def _on_evaluation_end(self, *args: Any, **kwargs: Any) -> None:
        self.before_end()
        super()._on_evaluation_end(*args, **kwargs)
        self.after_end()


class TrainingEpochLoop(_TrainingEpochLoop):
    """Lightning's loop over the batches of an epoch, with its decisions under public names."""

    def is_validation_due(self, data_fetcher: Any) -> bool:
        """Returns whether to validate after this batch."""
        return bool(super()._should_check_val_fx(data_fetcher))

    @property
    def accumulates(self) -> bool:
        """Whether this batch only adds to the gradients of a step."""
        return self._should_accumulate()

    @property
    def is_last_of_epoch(self) -> bool:
        """Whether this batch is the last of its epoch."""
        return self._num_ready_batches_reached()

    @property
    def may_stop_early(self) -> bool:
        """Whether the minimum of epochs and steps is reached."""
        return bool(self.trainer.fit_loop._can_stop_early)

    def _should_check_val_fx(self, data_fetcher: Any) -> bool:
        return self.is_validation_due(data_fetcher)

    def _broadcast_sigterm_tensor(self) -> None:
        """Does nothing: ranks agree at the end of a step on whether any received a signal."""


def steps_for_logging(trainer: Trainer) -> int:
    """Returns the number of steps by which Lightning decides whether to log."""
    return trainer.fit_loop.epoch_loop._batches_that_stepped


def is_logged_step(trainer: Trainer) -> bool:
    """Returns whether Lightning logs the metrics of the training batch that is being processed.

    It also logs those of the batch after which a callback stops the run, which is not known before.
    """
    if trainer.fit_loop._should_accumulate():
        return False
    fast_dev_run: int = trainer.fast_dev_run  # type: ignore[attr-defined]
    return trainer._logger_connector.should_update_logs or bool(fast_dev_run)


def discard_logged_metrics(trainer: Trainer, prefix: str) -> None:
    """Discards values logged for earlier batches, which Lightning would log for this one too."""
    for metric in trainer._results.values() if trainer._results is not None else ():
        if metric.meta.name.startswith(prefix):
            metric.reset()


class EpochBar(RichProgressBar):
    """Lightning's bar, whose text for an epoch can be replaced."""

    def describe_epoch(self, epoch: int) -> str:
        """Returns the text for an epoch, counted from 0."""
        return super()._get_train_description(epoch)

    def _get_train_description(self, current_epoch: int) -> str:
        return self.describe_epoch(current_epoch)


def summary_depth(callback: Callback) -> int:
    """Returns the depth that a ModelSummary was given."""
    return callback._max_depth  # type: ignore[attr-defined, no-any-return]


def write_last_checkpoint(callback: ModelCheckpoint, trainer: Trainer) -> None:
    """Writes last.ckpt now, with the callback's state and for the loggers, as Lightning does."""
    callback._save_last_checkpoint(trainer, callback._monitor_candidates(trainer))


def has_average(callback: WeightAveraging) -> bool:
    """Returns whether the average exists; it begins with `fit`."""
    return callback._average_model is not None


def swap_average(callback: WeightAveraging, module: LightningModule) -> None:
    """Swaps the average and the weights of a module."""
    callback._swap_models(module)


def set_data_parallel_size(strategy: ModelParallelStrategy, n_devices: int) -> None:
    """Sets the number of devices, which is unknown when a strategy is built."""
    strategy._data_parallel_size = n_devices


def has_version(logger: Logger) -> bool:
    """Returns whether a logger has a version; reading the public one would choose the next."""
    return logger._version is not None  # type: ignore[attr-defined]


def set_version(logger: Logger, folder: Path) -> None:
    """Sets the folder `version_N` as the one that a logger writes to."""
    logger._version = int(folder.name.removeprefix("version_"))  # type: ignore[attr-defined]
