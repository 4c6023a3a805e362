"""Sharded: training with parameters, gradients and optimizer state split over devices.

It is for models that do not fit on one device.
"""

from pathlib import Path
from typing import Any

from lightning.pytorch.strategies import ModelParallelStrategy

from zoo.checkpoints.files import read_checkpoint
from zoo.module import ZooModule
from zoo.support.lightning_internals import set_data_parallel_size
from zoo.support.renames import translate_checkpoint
from zoo.support.tensors import allow_plain_objects


class Sharded(ModelParallelStrategy):
    """Splits the model over all devices of all nodes by FSDP 2 (`--trainer.strategy sharded`).

    Checkpoints are single files, as with one device, and can be resumed on any number of devices.
    """

    def __init__(self) -> None:
        super().__init__(tensor_parallel_size=1, save_distributed_checkpoint=False)

    def setup_environment(self) -> None:
        """Counts the devices of all nodes before the process group is created."""
        set_data_parallel_size(self, self.num_nodes * self.num_processes)
        super().setup_environment()

    def load_checkpoint(
        self, checkpoint_path: str | Path, weights_only: bool | None = None
    ) -> dict[str, Any]:
        """Loads a checkpoint, after checking that it fits the model.

        Lightning's strategy loads tensors before the module can check them. This method therefore
        checks them first.

        Args:
            checkpoint_path: The file of the checkpoint.
            weights_only: Not used. Only tensors and plain data are unpickled in any case.

        Returns:
            The checkpoint.

        Raises:
            ZooError: The adapters or tensors of the checkpoint belong to another model.
        """
        path = Path(self.broadcast(checkpoint_path))
        assert isinstance(self.lightning_module, ZooModule)
        self.lightning_module.refuse_mismatched_tensors(read_checkpoint(path))
        with allow_plain_objects():
            return translate_checkpoint(super().load_checkpoint(path, weights_only=True))
