"""Sharded: training with parameters, gradients and optimiser state split over devices.

It is for models that do not fit on one device.
"""

from pathlib import Path
from typing import Any

from lightning import Trainer
from lightning.pytorch.strategies import ModelParallelStrategy

from zoo.checkpoints.files import read_checkpoint
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.support.tensors import plain_objects


class Sharded(ModelParallelStrategy):
    """FSDP 2 over all devices of all nodes, as `--trainer.strategy sharded`.

    Checkpoints are whole files, as those of one device, and go on under any number of devices.
    Gradients cannot be clipped, since split and whole ones are together.
    """

    def __init__(self) -> None:
        super().__init__(tensor_parallel_size=1, save_distributed_checkpoint=False)

    def setup_environment(self) -> None:
        """Counts the devices of all nodes before the process group is made."""
        self._data_parallel_size = self.num_nodes * self.num_processes
        super().setup_environment()

    def setup(self, trainer: Trainer) -> None:
        """Refuses what cannot be done with split parameters.

        Args:
            trainer: The trainer.

        Raises:
            ZooError: Gradients are to be clipped.
        """
        if trainer.gradient_clip_val:
            raise ZooError(
                f"trainer.gradient_clip_val is {trainer.gradient_clip_val} and parameters are "
                "sharded: set it to null, or use ddp"
            )
        super().setup(trainer)

    def load_checkpoint(
        self, checkpoint_path: str | Path, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Loads a checkpoint that fits.

        Lightning's strategy loads before the module sees anything, so that what does not fit is
        refused here.

        Args:
            checkpoint_path: The file.
            weights_only: Not used: objects other than tensors and plain data are never unpickled.

        Returns:
            The checkpoint.

        Raises:
            ZooError: Its adapters or tensors are of another model.
        """
        path = Path(self.broadcast(checkpoint_path))
        assert isinstance(self.lightning_module, ZooModule)
        self.lightning_module.refuse_other_shapes(read_checkpoint(path))
        with plain_objects():
            return super().load_checkpoint(path, weights_only=True)
