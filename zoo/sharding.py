"""Sharded: training with parameters, gradients and optimiser state split over devices, where they do not fit on one."""

from lightning import Trainer
from lightning.pytorch.strategies import ModelParallelStrategy

from zoo.errors import ZooError


class Sharded(ModelParallelStrategy):
    """FSDP 2 over all devices of all nodes, as `--trainer.strategy sharded`.

    Checkpoints are whole files, as those of one device, and go on under any number of devices. Raises ZooError where gradients are to be
    clipped, which cannot be done over split and whole ones together.
    """

    def __init__(self) -> None:
        super().__init__(tensor_parallel_size=1, save_distributed_checkpoint=False)

    def setup_environment(self) -> None:
        self._data_parallel_size = self.num_nodes * self.num_processes
        super().setup_environment()

    def setup(self, trainer: Trainer) -> None:
        if trainer.gradient_clip_val:
            raise ZooError(
                f"trainer.gradient_clip_val is {trainer.gradient_clip_val} and parameters are sharded: set it to null, or use ddp"
            )
        super().setup(trainer)
