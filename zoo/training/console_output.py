"""Console output of a run: a summary of the model, and progress as a bar or as log lines."""

import logging
import math
import sys
from collections.abc import Iterator
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import (
    ModelSummary,
    ProgressBar,
    RichModelSummary,
    RichProgressBar,
)
from rich.console import Console
from torch import Tensor, nn

from zoo.batch import Batch
from zoo.optim import learning_rates
from zoo.support.lightning_internals import EpochBar, summary_depth
from zoo.support.progress import ProgressLines

LOSS = "train/loss"

log = logging.getLogger(__name__)


def replace_lightning_callbacks(callbacks: list[Callback]) -> None:
    """Replaces Lightning's default model summary and progress bar by `ParameterSummary` and `Bar`.

    Without a terminal, `ProgressLog` replaces the bar. A summary of another depth is kept.

    Args:
        callbacks: The trainer's callbacks.
    """
    for i, callback in enumerate(callbacks):
        if type(callback) is RichProgressBar:
            if sys.stdout.isatty() or Console().is_jupyter:
                callback.__class__ = Bar  # keeps its arguments
            else:
                callbacks[i] = ProgressLog()
        elif type(callback) in (ModelSummary, RichModelSummary) and summary_depth(callback) == 1:
            callbacks[i] = ParameterSummary()


class Bar(EpochBar):
    """Lightning's bar, with epochs counted from 1 and without `v_num`, the version of the run.

    The number of epochs is shown only if it is limited.
    """

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """Returns the metrics shown after the bar."""
        metrics: dict[str, Any] = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)
        return metrics

    def describe_epoch(self, epoch: int) -> str:
        """Returns the text for an epoch, counted from 0."""
        described = f"Epoch {epoch + 1}{_epoch_limit(self.trainer, '/')}"
        return described.ljust(len(self.validation_description))  # so that bars line up


class ProgressLog(ProgressBar):
    """Logs a line of progress every half minute, for output without a terminal.

    A line of training has the step, epoch, loss, learning rate, images per second and the time
    left; a line of validation has the number of batches.
    """

    def __init__(self) -> None:
        super().__init__()
        self._training: ProgressLines | None = None
        self._validation: ProgressLines | None = None
        self._n_images: Tensor | None = None

    def disable(self) -> None:
        """Does nothing: only the first rank logs lines."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts to count steps."""
        if trainer.is_global_zero:
            total = trainer.estimated_stepping_batches
            n_steps = None if math.isinf(total) else int(total)
            self._training, self._n_images = (
                ProgressLines("step", n_steps, trainer.global_step),
                None,
            )

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *args: Any
    ) -> None:
        """Counts a step and its images, and logs a line if one is due."""
        if self._training is None:
            return
        if isinstance(batch, Batch):
            n_images = batch.count_captioned_rows()
            self._n_images = n_images if self._n_images is None else self._n_images + n_images
        self._training(trainer.global_step - self._training.done, self._details)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts to count the batches of a validation."""
        if trainer.is_global_zero and not trainer.sanity_checking:
            n_batches = trainer.num_val_batches
            total = sum(n_batches) if isinstance(n_batches, list) else n_batches
            limit = None if math.isinf(total) else int(total)
            self._validation = ProgressLines("batch of validation", limit)

    def on_validation_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Counts a batch, and logs a line if one is due."""
        if self._validation is not None and not self.trainer.sanity_checking:
            self._validation(1)

    def _details(self, seconds: float) -> Iterator[str]:
        """Yields epoch, loss, learning rate and images per second, for the end of a line."""
        trainer = self.trainer
        yield f"epoch {trainer.current_epoch + 1}{_epoch_limit(trainer, ' of ')}"
        if LOSS in trainer.callback_metrics:
            yield f"loss {float(trainer.callback_metrics[LOSS]):.4g}"
        rates = dict.fromkeys(learning_rates(trainer.optimizers[0]).values())
        yield f"learning rate {' and '.join(f'{rate:.3g}' for rate in rates)}"
        if self._n_images is not None:
            images = int(self._n_images) * trainer.world_size
            yield f"{images / seconds:,.0f} images per second"
            self._n_images = None


def _epoch_limit(trainer: Trainer, word: str) -> str:
    """Returns a word and the number of epochs, empty if the number of steps ends training."""
    limit = trainer.max_epochs
    if limit is None or limit < 0:
        return ""
    steps = limit * trainer.num_training_batches / trainer.accumulate_grad_batches
    return "" if 0 <= trainer.max_steps < steps else f"{word}{limit}"


class ParameterSummary(ModelSummary):
    """Logs the numbers of parameters of backbone, head and objective, trained and frozen."""

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Logs a line for each part."""
        if trainer.is_global_zero:
            for line in parameter_count_lines(pl_module):
                log.info(line)


def parameter_count_lines(module: nn.Module) -> Iterator[str]:
    """Yields a line for each part of a module: its name, parameters and saved buffers."""
    for role, part in module.named_children():
        parameters = dict(part.named_parameters())
        trained = sum(p.numel() for p in parameters.values() if p.requires_grad)
        frozen = sum(p.numel() for p in parameters.values()) - trained
        state = part.state_dict(keep_vars=True)
        buffers = [state[name] for name in state if name not in parameters]
        counts = [f"trained parameters {trained:,}", f"frozen {frozen:,}"] * bool(parameters)
        if buffers:
            counts.append(f"numbers in buffers {sum(buffer.numel() for buffer in buffers):,}")
        name = getattr(part, "name", type(part).__name__)
        yield f"{role} {name}: {', '.join(counts) or 'no parameters'}"
