"""ZooTrainer: Lightning's trainer with safe signals and checkpoints, and checked settings."""

import subprocess
import sys
from datetime import timedelta
from typing import Any

import torch
from lightning import Trainer
from lightning.fabric.plugins import ClusterEnvironment
from lightning.pytorch.plugins import CheckpointIO, LayerSync, Precision
from lightning.pytorch.strategies import FSDPStrategy, Strategy

from zoo.checkpoints.files import AtomicCheckpointIO
from zoo.errors import ZooError
from zoo.support.lightning_internals import set_signal_connector, steps_for_logging
from zoo.support.ranges import NonNegativeInt, NonNegativeNumber, PositiveInt, Ranged
from zoo.training.console_output import replace_lightning_callbacks
from zoo.training.finite_check import Finite
from zoo.training.loader_check import LoaderCheck
from zoo.training.sharding import Sharded
from zoo.training.stopping import DeferredSignalConnector, StepLoop

Plugin = Precision | ClusterEnvironment | CheckpointIO | LayerSync


class ZooTrainer(Ranged, Trainer):
    """Lightning's trainer with atomic checkpoints and a precision that can follow the hardware.

    Args:
        strategy: A strategy of Lightning, or `sharded` (`zoo.training.Sharded`). Lightning's `fsdp`
            is not supported.
        precision: A precision of Lightning, or `auto`: bf16-mixed if the GPU supports it, else
            32-true. null (None in Python) is Lightning's default.
        tf32: Whether fp32 matrix products use TF32 if the device supports it, except for scores.
        plugins: Plugins of Lightning. A plugin that writes checkpoints atomically is added to them.
        val_check_interval: When to validate: after a number of batches, a share of an epoch (above
            0, at most 1.0), or a duration. null validates at the end of an epoch.
        check_val_every_n_epoch: Epochs between two validations. null counts the batches of
            `val_check_interval` across epochs.
        log_every_n_steps: Steps between two rows of metrics. 0 logs no metrics, and null is
            Lightning's default, 50. The first steps are logged more often.
        num_sanity_val_steps: Number of validation batches to run before training: 0 for none, -1
            for all, null for Lightning's default, 2.
        min_epochs: The minimum number of epochs; null for none.
        min_steps: The minimum number of steps; null for none.
        accumulate_grad_batches: Number of batches whose gradients are accumulated in one step.
        gradient_clip_val: Gradients are clipped to this norm, or to this value if
            `gradient_clip_algorithm` is `value`. null for no clipping.
        overfit_batches: Must be 0, since with other values Lightning would change the order of
            samples.

    Raises:
        ZooError: A value is not valid, the strategy is `fsdp`, or the device does not support the
            precision. In the last case, Lightning would silently use another precision.
    """

    def __init__(
        self,
        *args: Any,
        strategy: str | Strategy = "auto",
        precision: str | int | None = None,
        tf32: bool = False,
        plugins: Plugin | list[Plugin] | None = None,
        val_check_interval: int | float | str | timedelta | dict[str, int] | None = None,
        check_val_every_n_epoch: PositiveInt | None = 1,
        log_every_n_steps: NonNegativeInt | None = None,
        num_sanity_val_steps: int | None = None,
        min_epochs: NonNegativeInt | None = None,
        min_steps: NonNegativeInt | None = None,
        accumulate_grad_batches: PositiveInt = 1,
        gradient_clip_val: NonNegativeNumber | None = None,
        overfit_batches: int | float = 0.0,
        **kwargs: Any,
    ) -> None:
        if str(val_check_interval) in ("0", "0.0"):
            raise ZooError(
                "trainer.val_check_interval is 0: give the number of batches between two "
                "validations, a share of an epoch, or null to validate after each epoch"
            )
        if num_sanity_val_steps is not None and num_sanity_val_steps < -1:
            raise ZooError(
                f"trainer.num_sanity_val_steps is {num_sanity_val_steps}: give the number of "
                "validation batches to run before training, 0 for none, or -1 for all"
            )
        if overfit_batches:
            raise ZooError(
                f"trainer.overfit_batches is {overfit_batches}, which would change the order of "
                f"samples: set trainer.limit_train_batches to {overfit_batches}, "
                "data.resample to false and model.backbone.augmentation to null"
            )
        if isinstance(strategy, FSDPStrategy) or str(strategy).startswith("fsdp"):
            raise ZooError(
                "trainer.strategy fsdp cannot split scalars such as the temperature, and flattens "
                "matrices, which weight decay selects by shape: use sharded"
            )
        given_plugins = (
            [] if plugins is None else plugins if isinstance(plugins, list) else [plugins]
        )
        if str(precision) in ("64", "64-true", "16-true", "bf16-true"):
            raise ZooError(
                f"trainer.precision {precision} is not supported, because a step's inputs are not "
                "converted: use 32-true, bf16-mixed, 16-mixed or auto"
            )
        if precision == "auto":
            forks = "fork" in str(strategy) or "notebook" in str(strategy)
            precision = "bf16-mixed" if _supports_bf16(forks) else "32-true"
        if tf32:
            torch.set_float32_matmul_precision("high")
        plugins = [*given_plugins, AtomicCheckpointIO()]
        strategy = Sharded() if strategy == "sharded" else strategy
        super().__init__(
            *args,
            strategy=strategy,
            precision=precision,  # type: ignore[arg-type]
            plugins=plugins,
            val_check_interval=val_check_interval,
            check_val_every_n_epoch=check_val_every_n_epoch,
            log_every_n_steps=log_every_n_steps,
            num_sanity_val_steps=num_sanity_val_steps,
            min_epochs=min_epochs,
            min_steps=min_steps,
            accumulate_grad_batches=accumulate_grad_batches,
            gradient_clip_val=gradient_clip_val,
            **kwargs,
        )
        steps = self.fit_loop.epoch_loop
        self.fit_loop.epoch_loop = StepLoop(self, steps.min_steps, steps.max_steps)
        set_signal_connector(self, DeferredSignalConnector(self))
        replace_lightning_callbacks(self.callbacks)  # type: ignore[attr-defined]
        self.callbacks[:0] = [Finite(), LoaderCheck()]  # type: ignore[attr-defined]
        if str(precision).startswith("16") and not self.precision.startswith("16"):
            raise ZooError(
                f"trainer.precision {precision} is not supported on this device: use "
                "bf16-mixed, 32-true or auto"
            )

    @property
    def log_every_n_steps(self) -> int:
        """Steps between two rows of metrics: as given, but fewer at the start.

        The first 10 steps are all logged, then every tenth step up to step 100, and so on, until
        the given number is reached.
        """
        step = steps_for_logging(self) + 1
        often: int = 10 ** (len(str(step)) - 1)
        return min(self._log_every_n_steps, often)

    @log_every_n_steps.setter
    def log_every_n_steps(self, steps: int) -> None:
        self._log_every_n_steps = steps


def _supports_bf16(forks: bool) -> bool:
    """Returns whether the GPU supports bf16; False without a GPU.

    Args:
        forks: Whether the strategy forks this process, which then must not use CUDA: another
            process reports it.
    """
    if not forks:
        return torch.cuda.is_available() and torch.cuda.is_bf16_supported(False)
    code = "import torch; print(torch.cuda.is_available() and torch.cuda.is_bf16_supported(False))"
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return answer.stdout.split()[-1:] == ["True"]
