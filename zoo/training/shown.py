"""What a run shows of itself: the model in a few lines, and a bar with the run's own numbers."""

import logging
from collections.abc import Iterator
from typing import Any

from lightning import Callback, LightningModule, Trainer
from lightning.pytorch.callbacks import ModelSummary, RichModelSummary, RichProgressBar
from torch import nn

log = logging.getLogger(__name__)


def plain(callbacks: list[Callback]) -> None:
    """Puts `Summary` and `Bar` in the place of Lightning's, as Lightning chooses them itself.

    A summary of another depth stays.

    Args:
        callbacks: The trainer's callbacks.
    """
    for i, callback in enumerate(callbacks):
        if type(callback) is RichProgressBar:
            callbacks[i] = Bar(
                callback._refresh_rate, callback._leave, callback.theme, callback._console_kwargs
            )
        elif type(callback) in (ModelSummary, RichModelSummary) and callback._max_depth == 1:  # type: ignore[attr-defined]
            callbacks[i] = Summary()


class Bar(RichProgressBar):
    """Lightning's bar without the last letters of the run's folder, `v_num`."""

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """Returns what stands behind the bar."""
        metrics: dict[str, Any] = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)
        return metrics


class Summary(ModelSummary):
    """Logs backbone, head and objective, and how many of their parameters are trained."""

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Logs a line for each part."""
        if trainer.is_global_zero:
            for line in lines(pl_module):
                log.info(line)


def lines(module: nn.Module) -> Iterator[str]:
    """Yields a line for each part of a module: what it is called, and its parameters."""
    for role, part in module.named_children():
        numbers = list(part.parameters())
        trained = sum(p.numel() for p in numbers if p.requires_grad)
        frozen = sum(p.numel() for p in numbers) - trained
        name = getattr(part, "name", type(part).__name__)
        counted = f"trained parameters {trained:,}, frozen {frozen:,}"
        yield f"{role} {name}: {counted if numbers else 'no parameters'}"
