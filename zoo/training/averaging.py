"""EMA: an exponential moving average of the weights beside those that are trained.

average <- decay average + (1 - decay) weights, after every step
"""

from typing import Any

from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import WeightAveraging
from torch.optim.swa_utils import get_ema_multi_avg_fn

from zoo.support.ranges import HalfOpenUnitInterval, Ranged


class EMA(Ranged, WeightAveraging):
    """Lightning's callback of weight averaging. Validation, checkpoints and export have the average; a resumed run goes on from both.

    decay: the share of the average that a step keeps; the first step copies the weights.
    """

    def __init__(self, decay: HalfOpenUnitInterval = 0.999) -> None:
        # Interpolating leaves frozen weights as they are to the last bit, which a weighted sum does not; buffers are copied.
        super().__init__(use_buffers=False, multi_avg_fn=get_ema_multi_avg_fn(decay))  # type: ignore[no-untyped-call]
        self._swapped = (
            False  # whether the module holds the average, and the average model the trained weights
        )

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_validation_epoch_start(trainer, pl_module)
        self._swapped = self._average_model is not None

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """The average stays until the module has scored: Lightning asks callbacks first."""

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._average_model is not None:
            self._swap_models(pl_module)
        self._swapped = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._swapped = False

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Leaves the average in the module and keeps the trained weights, which the last checkpoint is still to have."""
        self._swap_models(pl_module)
        self._swapped = True

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        super().on_save_checkpoint(trainer, pl_module, checkpoint)
        if self._swapped:
            swapped = {
                "state_dict": checkpoint["current_model_state"],
                "current_model_state": checkpoint["state_dict"],
            }
            checkpoint |= swapped
