"""ZooTrainer: Lightning's trainer, whose signals, checkpoints and precision are those of a run."""

from datetime import timedelta
from typing import Any

import torch
from lightning import Trainer
from lightning.fabric.plugins import ClusterEnvironment
from lightning.pytorch.plugins import CheckpointIO, LayerSync, Precision
from lightning.pytorch.strategies import FSDPStrategy, Strategy

from zoo.checkpoints.files import WholeCheckpointIO
from zoo.errors import ZooError
from zoo.support.ranges import NonNegativeInt, NonNegativeNumber, PositiveInt, Ranged
from zoo.training.finite import Finite
from zoo.training.sharding import Sharded
from zoo.training.shown import replace_lightning_callbacks
from zoo.training.stopping import Signals, StepLoop

Plugin = Precision | ClusterEnvironment | CheckpointIO | LayerSync


class ZooTrainer(Ranged, Trainer):
    """Lightning's trainer with whole checkpoints and a precision that follows the hardware.

    Args:
        strategy: Lightning's strategies, or `sharded` (zoo.training.Sharded). Lightning's `fsdp`
            is refused.
        precision: Lightning's precisions, or `auto`: bf16-mixed where a GPU has it, else 32-true.
            null is Lightning's default.
        tf32: Whether products of fp32 are in TF32 where the device has it, scores left out.
        plugins: Lightning's plugins. One that writes whole checkpoints is added to them.
        val_check_interval: When to validate: batches between two validations, a share of an epoch
            from above 0 to 1.0, or a duration. null validates at the end of an epoch.
        check_val_every_n_epoch: Epochs between two validations. null counts the batches of
            `val_check_interval` across epochs.
        log_every_n_steps: Steps between two lines of metrics; 0 logs none, null is Lightning's 50.
            The first steps are logged more often.
        num_sanity_val_steps: Batches of validation to try before training. 0 tries none, -1 all,
            and null is Lightning's 2.
        min_epochs: The fewest epochs to train; null sets no bound.
        min_steps: The fewest steps to train; null sets no bound.
        accumulate_grad_batches: Batches whose gradients make one step.
        gradient_clip_val: Where gradients are clipped, by norm unless `gradient_clip_algorithm`
            names another way; null clips none.
        overfit_batches: Refused unless it is 0, since Lightning would change the order of samples.

    Raises:
        ZooError: A value cannot be trained with, the strategy is `fsdp`, or the device lacks the
            precision, where Lightning would take another.
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
                "trainer.val_check_interval is 0: give the batches between two validations, a "
                "share of an epoch, or null for its end"
            )
        if num_sanity_val_steps is not None and num_sanity_val_steps < -1:
            raise ZooError(
                f"trainer.num_sanity_val_steps is {num_sanity_val_steps}: give the batches of "
                "validation to try before training, 0 for none, or -1 for all"
            )
        if overfit_batches:
            raise ZooError(
                f"trainer.overfit_batches is {overfit_batches}, and the order of samples is not "
                f"Lightning's to change: set trainer.limit_train_batches to {overfit_batches}, "
                "data.redraw to false and model.backbone.augmentation to null"
            )
        if isinstance(strategy, FSDPStrategy) or str(strategy).startswith("fsdp"):
            raise ZooError(
                "trainer.strategy fsdp cannot split scalars, such as the temperature, and "
                "flattens what weight decay knows as matrices: set it to sharded"
            )
        given = [] if plugins is None else plugins if isinstance(plugins, list) else [plugins]
        if str(precision) in ("64", "64-true", "16-true", "bf16-true"):
            raise ZooError(
                f"trainer.precision is {precision}, and what a step works on keeps its type: set "
                "it to 32-true, bf16-mixed, 16-mixed or auto"
            )
        if precision == "auto":
            precision = (
                "bf16-mixed"
                if torch.cuda.is_available() and torch.cuda.is_bf16_supported(False)
                else "32-true"
            )
        if tf32:
            torch.set_float32_matmul_precision("high")
        plugins = [*given, WholeCheckpointIO()]
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
        self._signal_connector = Signals(self)
        replace_lightning_callbacks(self.callbacks)  # type: ignore[attr-defined]
        self.callbacks.insert(0, Finite())  # type: ignore[attr-defined]
        if str(precision).startswith("16") and not self.precision.startswith("16"):
            raise ZooError(
                f"trainer.precision {precision} does not exist on this device: set it to "
                "bf16-mixed, 32-true or auto"
            )

    @property
    def log_every_n_steps(self) -> int:
        """Steps between two lines of metrics: as given, and fewer at the start.

        Every step of the first 10 is logged, every tenth of the first 100, and so on.
        """
        step: int = self.fit_loop.epoch_loop._batches_that_stepped + 1
        often: int = 10 ** (len(str(step)) - 1)
        return min(self._log_every_n_steps, often)

    @log_every_n_steps.setter
    def log_every_n_steps(self, steps: int) -> None:
        self._log_every_n_steps = steps
