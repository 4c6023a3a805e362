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
    """Lightning's bar without the last letters of the run's folder, `v_num`.

    Where the number of epochs is not limited, none is named.
    """

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """Returns what stands behind the bar."""
        metrics: dict[str, Any] = super().get_metrics(trainer, pl_module)
        metrics.pop("v_num", None)
        return metrics

    def _get_train_description(self, current_epoch: int) -> str:
        described: str = super()._get_train_description(current_epoch)
        return described.replace("/-2", "") if self.trainer.max_epochs == -1 else described


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
