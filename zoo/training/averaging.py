"""EMA: an exponential moving average of the trained weights.

After every step:

    average <- decay average + (1 - decay) weights
"""

from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import WeightAveraging
from lightning.pytorch.strategies import ModelParallelStrategy

from zoo.errors import ZooError
from zoo.support.gpu import interpolate_weights
from zoo.support.lightning_internals import (
    begin_update_of_average,
    has_average,
    swap_average,
)
from zoo.support.ranges import HalfOpenUnitInterval, Ranged


class EMA(Ranged, WeightAveraging):
    """An exponential moving average of the weights, based on Lightning's averaging callback.

    Validation and export use the average. A checkpoint holds the average as the weights of the
    model, and also the trained weights, with which a resumed run continues.

    Args:
        decay: The weight of the old average at each step, from 0 to under 1. The first step copies
            the weights.
    """

    def __init__(self, decay: HalfOpenUnitInterval = 0.999) -> None:
        super().__init__(use_buffers=False)
        self._decay = decay
        # whether the module holds the average, and the average model the trained weights
        self._swapped = False

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        """Creates the average on the device that trains.

        Lightning creates the average before it moves the module to its device. The average would
        then be on the CPU, and every step would copy all weights to the CPU.

        Raises:
            ZooError: The parameters are split over devices (`Sharded`), and torch cannot copy them.
        """
        if isinstance(trainer.strategy, ModelParallelStrategy):
            raise ZooError(
                "EMA cannot average parameters that trainer.strategy sharded splits over devices: "
                "use ddp, or leave EMA out of trainer.callbacks"
            )
        if stage == "fit":
            pl_module.to(trainer.strategy.root_device)
        super().setup(trainer, pl_module, stage)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Updates the average after a step.

        Unlike torch's own update, it reads no number from the device. Reading would wait until the
        device has finished its work.
        """
        is_first = self.state_dict()["latest_update_step"] == 0
        average = begin_update_of_average(self, trainer)
        if average is None:
            return
        with torch.no_grad():
            # interpolation keeps frozen weights bitwise identical, a weighted sum does not
            share = 1.0 if is_first else 1 - self._decay
            interpolate_weights(average.module.parameters(), pl_module.parameters(), share)
            for buffer, new_buffer in zip(
                average.module.buffers(), pl_module.buffers(), strict=True
            ):
                buffer.copy_(new_buffer)
            average.n_averaged += 1

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Loads the average into the module."""
        super().on_validation_epoch_start(trainer, pl_module)
        self._swapped = has_average(self)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Does nothing, to keep the average until the module has computed its metrics.

        Lightning's callback would restore the trained weights here, before the module computes its
        metrics.
        """

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Loads the trained weights back into the module."""
        if has_average(self):
            swap_average(self, pl_module)
        self._swapped = False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Records that the module holds the trained weights."""
        self._swapped = False

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Loads the average into the module. The last checkpoint has both sets of weights."""
        swap_average(self, pl_module)
        self._swapped = True

    def on_save_checkpoint(
        self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Saves the average and the trained weights.

        The checkpoint does not depend on which of the two the module currently holds.
        """
        super().on_save_checkpoint(trainer, pl_module, checkpoint)
        if self._swapped:
            swapped = {
                "state_dict": checkpoint["current_model_state"],
                "current_model_state": checkpoint["state_dict"],
            }
            checkpoint |= swapped
