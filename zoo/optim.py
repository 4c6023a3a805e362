"""Parameter groups and the learning-rate schedule, per optimiser step.

s: the step from 0; w: steps of warm-up; S: all steps; f: final_share; a: initial_share; lr: the
peak.

    lr(s) = lr * warm((s + 1) / w)                                      s < w, without a
    lr(s) = lr * (a + (1 - a) warm(s / (w - 1)))                        s < w, with a
    lr(s) = lr * (f + (1 - f) (1 + cos(pi (s - w) / (S - w))) / 2)      s >= w

    warm(x) = x, or (1 - cos(pi x)) / 2 if warmup is cosine
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from zoo.errors import ZooError
from zoo.support.ranges import (
    ClosedUnitInterval,
    HalfOpenUnitInterval,
    NonNegativeInt,
    NonNegativeNumber,
    PositiveNumber,
    RangedType,
)


@dataclass(frozen=True)
class Optimization(metaclass=RangedType):
    """AdamW with one learning rate per tower, warm-up and cosine decay.

    At most one of warmup_steps, warmup_epochs and warmup_share can be given.

    Args:
        lr: Peak learning rate.
        lr_image: Peak learning rate of the image tower; `lr` if None.
        lr_text: Peak learning rate of the text tower; `lr` if None.
        lr_head: Peak learning rate of the head; `lr` if None.
        weight_decay: Weight decay of the parameters that `weight_decay_on` names. 0 gives Adam.
        weight_decay_on: Which parameters decay: `matrices`, so that gains, biases and the scale
            have none, or `all`.
        betas: AdamW's two betas, each from 0 to under 1. CS-CLIP's public code has the default; its
            paper does not say.
        eps: AdamW's epsilon, above 0. CS-CLIP's public code has the default; its paper does not
            say.
        warmup_steps: Steps of warm-up.
        warmup_epochs: Epochs of warm-up.
        warmup_share: Warm-up as a share of all steps, from 0 to 1.
        warmup: The shape of the warm-up.
        initial_share: The share of the peak learning rate at the first step of the warm-up, from 0
            to 1. None starts at 0 one step before the first step.
        final_share: The share of the peak learning rate at the end, from 0 to 1.
        decay: The shape of the decay: `cosine`, or `none` for a constant learning rate.
        fused: Whether to use AdamW's fused kernel, whose last digits differ. It is always used
            for parameters that are split over GPUs. A resumed run keeps the setting that it started
            with.

    Raises:
        ZooError: Warm-up is given in more than one unit.
    """

    lr: NonNegativeNumber = 5e-6
    lr_image: NonNegativeNumber | None = None
    lr_text: NonNegativeNumber | None = None
    lr_head: NonNegativeNumber | None = None
    weight_decay: NonNegativeNumber = 1e-2
    weight_decay_on: Literal["matrices", "all"] = "matrices"
    betas: tuple[HalfOpenUnitInterval, HalfOpenUnitInterval] = (0.9, 0.98)
    eps: PositiveNumber = 1e-6
    warmup_steps: NonNegativeInt | None = None
    warmup_epochs: NonNegativeNumber | None = None
    warmup_share: ClosedUnitInterval | None = None
    warmup: Literal["linear", "cosine"] = "linear"
    initial_share: ClosedUnitInterval | None = None
    final_share: ClosedUnitInterval = 0.0
    decay: Literal["cosine", "none"] = "cosine"
    fused: bool = False

    def __post_init__(self) -> None:
        warmup_arguments = [
            n
            for n in ("warmup_steps", "warmup_epochs", "warmup_share")
            if getattr(self, n) is not None
        ]
        if len(warmup_arguments) > 1:
            raise ZooError(
                f"optimizer has both {warmup_arguments[0]} and {warmup_arguments[1]}: keep one and "
                "set the other to null"
            )

    def peak(self, part: str) -> float:
        """Returns the peak learning rate of a part: 'image', 'text' or 'head'."""
        part_lr: float | None = getattr(self, f"lr_{part}")
        return self.lr if part_lr is None else part_lr

    def warmup_length(self, total_steps: int, epochs: float) -> int:
        """Returns the steps of warm-up out of `total_steps` in `epochs`."""
        if self.warmup_steps is not None:
            return self.warmup_steps
        if self.warmup_epochs is not None:
            return round(total_steps * self.warmup_epochs / max(epochs, 1e-9))
        return round(total_steps * (self.warmup_share or 0.0))

    def build_schedule(self, total_steps: int, epochs: float) -> Callable[[int], float]:
        """Builds the schedule of this module's docstring.

        Args:
            total_steps: Steps of the whole run.
            epochs: Epochs of the whole run.

        Returns:
            A function from step to the share of the peak; step 0 is the first.
        """
        warm = min(self.warmup_length(total_steps, epochs), total_steps)

        def rise(x: float) -> float:
            return x if self.warmup == "linear" else (1 - math.cos(math.pi * x)) / 2

        def share(step: int) -> float:
            if step < warm:
                if self.initial_share is None:
                    return rise((step + 1) / warm)
                return self.initial_share + (1 - self.initial_share) * rise(step / max(warm - 1, 1))
            if self.decay == "none":
                return 1.0
            x = min((step - warm) / max(total_steps - warm, 1), 1.0)
            return self.final_share + (1 - self.final_share) * (1 + math.cos(math.pi * x)) / 2

        return share

    def build(
        self,
        parameters: Iterable[tuple[str, nn.Parameter]],
        part: Callable[[str], str],
        total_steps: int,
        epochs: float,
    ) -> dict[str, Any]:
        """Builds optimiser and schedule.

        Args:
            parameters: Names and parameters of the model.
            part: Returns the part of a parameter by its name: 'image', 'text' or 'head'.
            total_steps: Steps of the whole run.
            epochs: Epochs of the whole run.

        Returns:
            The optimiser and its per-step schedule, in Lightning's format.

        Raises:
            ZooError: Every parameter is frozen.
        """
        groups = self.groups(parameters, part)
        # torch updates split parameters one by one unless the kernel is fused
        splits = any(hasattr(p, "to_local") and p.is_cuda for g in groups for p in g["params"])
        optimizer = AdamW(
            groups,
            betas=self.betas,
            eps=self.eps,
            fused=self.fused or splits or None,  # None leaves the choice to torch
        )
        schedule = LambdaLR(optimizer, self.build_schedule(total_steps, epochs))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step", "name": "lr"},
        }

    def override_loaded_settings(self, optimizer: Optimizer, schedule: LambdaLR) -> None:
        """Replaces the settings that a checkpoint loaded with these, at the schedule's step.

        Args:
            optimizer: The optimiser, whose learning rates, decay, betas and eps are set.
            schedule: The schedule, whose peak learning rates are set.
        """
        schedule.base_lrs = [self.peak(group["part"]) for group in optimizer.param_groups]
        for group, peak, share in zip(
            optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True
        ):
            group["initial_lr"], group["lr"] = peak, peak * share(schedule.last_epoch)
            group["weight_decay"] = self._weight_decay(group["params"][0].ndim)
            group["betas"], group["eps"] = self.betas, self.eps

    def groups(
        self, parameters: Iterable[tuple[str, nn.Parameter]], part: Callable[[str], str]
    ) -> list[dict[str, Any]]:
        """Groups trained parameters by part and by number of dimensions.

        Matrices decay; vectors and scalars only if `weight_decay_on` is `all`. Scalars have
        separate groups, since they are not split when parameters are sharded.

        Args:
            parameters: Names and parameters of the model.
            part: Returns the part of a parameter by its name: 'image', 'text' or 'head'.

        Returns:
            AdamW's parameter groups, with `name` and `part`.

        Raises:
            ZooError: Every parameter is frozen.
        """
        groups: dict[tuple[str, int], list[nn.Parameter]] = {}
        for name, parameter in parameters:
            if parameter.requires_grad:
                groups.setdefault((part(name), min(parameter.ndim, 2)), []).append(parameter)
        if not groups:
            raise ZooError(
                "every parameter is frozen: set model.backbone.tuning.towers to both, image or text"
            )
        return [
            {
                "name": f"{name} {('scalars', 'vectors', 'matrices')[dimensions]}",
                "part": name,
                "params": members,
                "lr": self.peak(name),
                "weight_decay": self._weight_decay(dimensions),
            }
            for (name, dimensions), members in sorted(groups.items(), key=lambda g: g[0])
        ]

    def _weight_decay(self, dimensions: int) -> float:
        """Returns the weight decay of parameters with a number of dimensions."""
        return self.weight_decay if dimensions >= 2 or self.weight_decay_on == "all" else 0.0


def learning_rates(optimizer: Optimizer) -> dict[str, float]:
    """Returns the current learning rate of every part."""
    return {group["part"]: group["lr"] for group in optimizer.param_groups}
