"""What a run shows of itself: the model in a few lines, and its progress as a bar or as lines."""

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
from zoo.support.progress import ProgressLines

LOSS = "train/loss"

log = logging.getLogger(__name__)


def replace_lightning_callbacks(callbacks: list[Callback]) -> None:
    """Puts `Summary` and `Bar` in the place of Lightning's, as Lightning chooses them itself.

    `ProgressLog` takes the place of the bar where there is no terminal. A summary of another depth
    stays.

    Args:
        callbacks: The trainer's callbacks.
    """
    for i, callback in enumerate(callbacks):
        if type(callback) is RichProgressBar:
            callbacks[i] = (
                Bar(
                    callback._refresh_rate,
                    callback._leave,
                    callback.theme,
                    callback._console_kwargs,
                )
                if sys.stdout.isatty() or Console().is_jupyter
                else ProgressLog()
            )
        elif type(callback) in (ModelSummary, RichModelSummary) and callback._max_depth == 1:  # type: ignore[attr-defined]
            callbacks[i] = Summary()


class Bar(RichProgressBar):
    """Lightning's bar, with epochs counted from 1 and without `v_num`, part of the run's folder.

    Where the number of epochs is not limited, none is named.
    """

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """Returns what stands behind the bar."""
        metrics: dict[str, Any] = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)
        return metrics

    def _get_train_description(self, current_epoch: int) -> str:
        described = f"Epoch {current_epoch + 1}{_epoch_limit(self.trainer, '/')}"
        return described.ljust(len(self.validation_description))  # so that bars line up


class ProgressLog(ProgressBar):
    """Logs a line every half minute, where there is no terminal to draw a bar on.

    A line of training has step, epoch, loss, learning rate, images per second and the time left; a
    line of validation has the batches.
    """

    def __init__(self) -> None:
        super().__init__()
        self._training: ProgressLines | None = None
        self._validation: ProgressLines | None = None
        self._seen: Tensor | None = None

    def disable(self) -> None:
        """Does nothing: only the first rank logs lines."""

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts to count steps."""
        if trainer.is_global_zero:
            total = trainer.estimated_stepping_batches
            of = None if math.isinf(total) else int(total)
            self._training, self._seen = ProgressLines("step", of, trainer.global_step), None

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, *args: Any
    ) -> None:
        """Counts a step and its images, and logs a line where one is due."""
        if self._training is None:
            return
        if isinstance(batch, Batch):
            seen = batch.filled_rows()
            self._seen = seen if self._seen is None else self._seen + seen
        self._training(trainer.global_step - self._training.done, self._details)

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts to count the batches of a validation."""
        if trainer.is_global_zero and not trainer.sanity_checking:
            given = trainer.num_val_batches
            total = sum(given) if isinstance(given, list) else given
            of = None if math.isinf(total) else int(total)
            self._validation = ProgressLines("batch of validation", of)

    def on_validation_batch_end(self, *args: Any, **kwargs: Any) -> None:
        """Counts a batch, and logs a line where one is due."""
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
        if self._seen is not None:
            images = int(self._seen) * trainer.world_size
            yield f"{images / seconds:,.0f} images per second"
            self._seen = None


def _epoch_limit(trainer: Trainer, word: str) -> str:
    """Returns the number of epochs behind a word, nothing where it is not limited."""
    limit = trainer.max_epochs
    return "" if limit is None or limit < 0 else f"{word}{limit}"


class Summary(ModelSummary):
    """Logs what backbone, head and objective hold, and how much of it is trained."""

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Logs a line for each part."""
        if trainer.is_global_zero:
            for line in lines(pl_module):
                log.info(line)


def lines(module: nn.Module) -> Iterator[str]:
    """Yields a line for each part of a module: what it is called, and what it holds.

    That is its parameters, and the buffers that it keeps in checkpoints.
    """
    for role, part in module.named_children():
        parameters = dict(part.named_parameters())
        trained = sum(p.numel() for p in parameters.values() if p.requires_grad)
        frozen = sum(p.numel() for p in parameters.values()) - trained
        state = part.state_dict(keep_vars=True)
        kept = [state[name] for name in state if name not in parameters]
        held = [f"trained parameters {trained:,}", f"frozen {frozen:,}"] * bool(parameters)
        if kept:
            held.append(f"numbers in buffers {sum(buffer.numel() for buffer in kept):,}")
        name = getattr(part, "name", type(part).__name__)
        yield f"{role} {name}: {', '.join(held) or 'no parameters'}"
