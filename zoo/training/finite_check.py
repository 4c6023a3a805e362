"""Finite: stops a run whose loss or weights are NaN or infinite, before it saves them."""

from collections import deque
from typing import Any

import torch
from lightning import LightningModule, Trainer
from torch import Tensor

from zoo.errors import ZooError
from zoo.support.distributed import elementwise_max_over_ranks
from zoo.training.stopping import StepEnd

ADVICE = (
    "lower model.optimizer.lr, lengthen its warm-up, set trainer.gradient_clip_val to 1, or train "
    "in trainer.precision 32-true"
)


class Finite(StepEnd):
    """Stops `fit` when the loss is NaN or infinite.

    Checkpoints with NaN or infinite weights are neither written nor resumed.
    """

    def __init__(self) -> None:
        self._loss: Tensor | None = None
        self._parts: dict[str, Tensor] = {}
        # the last two, since on a GPU a loss is read at the end of the next step
        self._steps: deque[tuple[int, Tensor, dict[str, Tensor]]] = deque(maxlen=2)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Stores the loss and its parts until the step ends."""
        of_step = outputs if isinstance(outputs, dict) else {}
        self._loss, self._parts = of_step.get("loss"), of_step.get("loss_parts", {})

    def requests_action(self, trainer: Trainer) -> int | Tensor:
        """Returns 1 if this rank's loss is not finite, as a tensor that may not be computed yet."""
        if self._loss is None:
            return 0
        self._steps.append((trainer.global_step - 1, self._loss, self._parts))
        return (~torch.isfinite(self._loss)).any()

    def at_step_end(self, trainer: Trainer, action_requested: bool, stopping: bool) -> None:
        """Ends the run if a loss is not finite.

        Args:
            trainer: The trainer.
            action_requested: Whether the loss of any rank is not finite.
            stopping: Whether the run ends here anyway.

        Raises:
            ZooError: The loss of any rank is not finite.
        """
        if not action_requested:
            return
        for logger in trainer.loggers:
            logger.save()
        problem = f"the loss of another device is not finite by step {trainer.global_step - 1:,}"
        for step, loss, parts in self._steps:
            if not torch.isfinite(loss).all():
                values = [
                    f"{name} {float(value):.4g}" for name, value in {"loss": loss, **parts}.items()
                ]
                problem = f"the loss of step {step:,} is not finite ({', '.join(values)})"
                break
        raise ZooError(f"{problem}: {ADVICE}; {_describe_checkpoint(trainer)}")

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Refuses to overwrite a good checkpoint with weights that are not finite.

        Args:
            trainer: The trainer.
            pl_module: The module.
            checkpoint: The checkpoint to write.

        Raises:
            ZooError: The weights of any rank are not finite; the error is raised on every rank.
        """
        bad = nonfinite_tensor_names(checkpoint)
        if any(elementwise_max_over_ranks([len(bad)], trainer.strategy.root_device)):
            example = f" ({bad[0]})" if bad else ""
            raise ZooError(
                f"the weights after step {trainer.global_step - 1:,} are not finite{example}: "
                f"{ADVICE}; {_describe_checkpoint(trainer)}"
            )

    def on_load_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Refuses to resume from weights that are not finite.

        Args:
            trainer: The trainer.
            pl_module: The module.
            checkpoint: The checkpoint that was read.

        Raises:
            ZooError: `fit` would resume from weights that are not finite.
        """
        if trainer.state.fn == "fit" and (bad := nonfinite_tensor_names(checkpoint)):
            raise ZooError(
                f"the checkpoint {trainer.ckpt_path} has weights that are not finite (tensors: "
                f"{len(bad)}, such as {bad[0]}): resume from an earlier one, and {ADVICE}"
            )


def nonfinite_tensor_names(checkpoint: dict[str, Any]) -> list[str]:
    """Finds weights with NaN or infinite values.

    Args:
        checkpoint: A checkpoint of Lightning.

    Returns:
        Their names, in the trained weights and in their average if the checkpoint has both.
    """
    return [
        name
        for part in ("state_dict", "current_model_state")
        for name, value in (checkpoint.get(part) or {}).items()
        if isinstance(value, Tensor) and value.is_floating_point() and not value.isfinite().all()
    ]


def _describe_checkpoint(trainer: Trainer) -> str:
    checkpoint = next(
        filter(None, (getattr(c, "last_model_path", "") for c in trainer.checkpoint_callbacks)), ""
    )
    return (
        f"the last good checkpoint is {checkpoint}"
        if checkpoint
        else "there is no checkpoint before it"
    )
