"""Optimizer: parameter groups, and the learning-rate schedule per optimizer step.

s: the step from 0; w: steps of warm-up; S: all steps; f: final_share; a: initial_share; lr: the
peak.

    lr(s) = lr * warm((s + 1) / w)                                      s < w, without a
    lr(s) = lr * (a + (1 - a) warm(s / (w - 1)))                        s < w, with a
    lr(s) = lr * (f + (1 - f) (1 + cos(pi (s - w) / (S - w))) / 2)      s >= w

    warm(x) = x, or (1 - cos(pi x)) / 2 if warmup is cosine
"""

import inspect
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from zoo.errors import ZooError, suggest_names
from zoo.support.class_names import import_path
from zoo.support.ranges import (
    ClassPath,
    ClosedUnitInterval,
    HalfOpenUnitInterval,
    NonNegativeInt,
    NonNegativeNumber,
    PositiveNumber,
    RangedType,
)

TORCH = "torch.optim"
# arguments of optimizers that `Optimization` has as separate settings
SEPARATE_SETTINGS = ("lr", "weight_decay", "fused")


@dataclass(frozen=True)
class Optimization(metaclass=RangedType):
    """AdamW or another optimizer, with one learning rate per tower, warm-up and cosine decay.

    At most one of warmup_steps, warmup_epochs and warmup_share can be given. Classes that take
    betas, as Adam and Lion do, get `betas` and `eps`; for other classes leave both unchanged.

    Args:
        lr: Peak learning rate.
        lr_image: Peak learning rate of the image tower; `lr` if None.
        lr_text: Peak learning rate of the text tower; `lr` if None.
        lr_head: Peak learning rate of the head; `lr` if None.
        weight_decay: Weight decay of the parameters that `weight_decay_on` selects.
        weight_decay_on: Which parameters decay: `all`, or `matrices`, which excludes gains, biases
            and the scale (1 / temperature).
        betas: The optimizer's two betas, from 0 to below 1. The default is that of CS-CLIP's public
            code; the paper does not report it.
        eps: The optimizer's epsilon, above 0. The default is that of CS-CLIP's public code; the
            paper does not report it.
        warmup_steps: Number of warm-up steps. Set at most one of `warmup_steps`, `warmup_epochs`
            and `warmup_share`. If none of them is set, there is no warm-up.
        warmup_epochs: Number of warm-up epochs.
        warmup_share: Share of all steps that are warm-up, from 0 to 1.
        warmup: The shape of the warm-up: `linear` or `cosine`.
        initial_share: Learning rate of the first warm-up step, as a share of the peak, from 0 to 1.
            If None, it is 1/n of the peak for a linear warm-up of n steps.
        final_share: Learning rate at the end, as a share of the peak, from 0 to 1.
        decay: The shape of the decay: `cosine`, or `none` for a constant learning rate.
        fused: Whether to use the optimizer's fused kernel. This changes the last digits of results.
            The kernel is always used for parameters that are sharded over GPUs. A resumed run keeps
            the setting with which it started.
        algorithm: The optimizer's class: a name in `torch.optim`, such as SGD, or a dotted path. A
            resumed run must use the same class.
        arguments: Further arguments of the optimizer's class, such as `{momentum: 0.9}` for SGD.

    Raises:
        ZooError: Warm-up is given in more than one unit.

    Example:
        >>> from zoo.optim import Optimization
        >>> sgd = Optimization(lr=0.01, algorithm="SGD", arguments={"momentum": 0.9})
        >>> sgd.check_algorithm()
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
    algorithm: ClassPath = "AdamW"
    arguments: dict[str, Any] | None = None

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
        """Builds optimizer and schedule.

        Args:
            parameters: Names and parameters of the model.
            part: Returns the part of a parameter by its name: 'image', 'text' or 'head'.
            total_steps: Steps of the whole run.
            epochs: Epochs of the whole run.

        Returns:
            The optimizer and its per-step schedule, in Lightning's format.

        Raises:
            ZooError: Every parameter is frozen, or the optimizer's class does not exist or does not
                take these settings.
        """
        optimizer = self._build_optimizer(self.groups(parameters, part))
        schedule = LambdaLR(optimizer, self.build_schedule(total_steps, epochs))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step", "name": "lr"},
        }

    def check_algorithm(self) -> None:
        """Checks that the optimizer's class exists and takes these settings.

        Raises:
            ZooError: It does not.
        """
        shapes = {"matrix": (1, 1), "vector": (1,), "scalar": ()}
        parameters = [(name, nn.Parameter(torch.zeros(shape))) for name, shape in shapes.items()]
        self._build_optimizer(self.groups(parameters, lambda name: "head"))

    def _build_optimizer(self, groups: list[dict[str, Any]]) -> Optimizer:
        """Builds the optimizer of parameter groups.

        Raises:
            ZooError: Its class does not exist or does not take these settings.
        """
        cls = self._optimizer_class()
        names = list(inspect.signature(cls).parameters)
        arguments = self._betas_and_eps(names) | (self.arguments or {})
        self._refuse_settings(names)
        # torch updates split parameters one by one unless the kernel is fused
        splits = any(hasattr(p, "to_local") and p.is_cuda for g in groups for p in g["params"])
        if "fused" in names:
            arguments["fused"] = self.fused or splits or None  # None leaves the choice to torch
        try:
            return cls(groups, **arguments)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ZooError(
                f"model.optimizer.algorithm: {self.algorithm} rejects these settings: {error}"
            ) from error

    def _optimizer_class(self) -> type[Optimizer]:
        """Imports the optimizer's class.

        Raises:
            ZooError: There is no such class, or it is not an optimizer.
        """
        path = self.algorithm if "." in self.algorithm else f"{TORCH}.{self.algorithm}"
        try:
            cls = import_path(path)
        except (ImportError, AttributeError, ValueError) as error:
            class_names = [n for n, value in vars(torch.optim).items() if inspect.isclass(value)]
            suggestion = suggest_names(path.removeprefix(f"{TORCH}."), class_names)
            raise ZooError(
                f"model.optimizer.algorithm: class {path} does not exist"
                f"{suggestion or f' ({error})'}"
            ) from error
        if not (inspect.isclass(cls) and issubclass(cls, Optimizer)):
            raise ZooError(
                f"model.optimizer.algorithm: {path} is not a subclass of torch.optim.Optimizer"
            )
        return cls

    def _betas_and_eps(self, names: Iterable[str]) -> dict[str, Any]:
        """Returns betas and eps, without those that the optimizer does not take.

        Args:
            names: Names of the optimizer's arguments or options. The `eps` of a class without betas
                means something else, as in Adafactor.
        """
        adam = {"betas": self.betas, "eps": self.eps} if "betas" in names else {}
        return {name: value for name, value in adam.items() if name in names}

    def _refuse_settings(self, names: list[str]) -> None:
        """Raises ZooError if the optimizer does not take a setting that was changed.

        Args:
            names: Names of the arguments of the optimizer's class.
        """
        numbers = self._betas_and_eps(names)
        for name in self.arguments or {}:
            if name in (*SEPARATE_SETTINGS, *numbers):
                raise ZooError(
                    f"model.optimizer.arguments has {name}: set model.optimizer.{name} instead"
                )
            if name not in names and "kwargs" not in names:
                raise ZooError(
                    f"model.optimizer.arguments: {self.algorithm} takes no {name!r}"
                    f"{suggest_names(name, names)}"
                )
        defaults = Optimization()
        changed = {
            "betas": self.betas != defaults.betas and "betas" not in numbers,
            "eps": self.eps != defaults.eps and "eps" not in numbers,
            "fused": self.fused and "fused" not in names,
            "weight_decay": self.weight_decay and "weight_decay" not in names,
        }
        for name, is_unused in changed.items():
            if is_unused:
                value = 0 if name == "weight_decay" else getattr(defaults, name)
                instead = f", and set {name} in model.optimizer.arguments" if name in names else ""
                raise ZooError(
                    f"model.optimizer.{name} does not apply to {self.algorithm}: set it to "
                    f"{json.dumps(value)}{instead}"
                )

    def override_loaded_settings(self, optimizer: Optimizer, schedule: LambdaLR) -> None:
        """Replaces the settings that a checkpoint loaded with these, at the schedule's step.

        Args:
            optimizer: The optimizer, whose learning rates, decay, betas and eps are set; the
                further arguments of its class stay as the run started.
            schedule: The schedule, whose peak learning rates are set.
        """
        schedule.base_lrs = [self.peak(group["part"]) for group in optimizer.param_groups]
        for group, peak, share in zip(
            optimizer.param_groups, schedule.base_lrs, schedule.lr_lambdas, strict=True
        ):
            group["initial_lr"], group["lr"] = peak, peak * share(schedule.last_epoch)
            group["weight_decay"] = self._weight_decay(group["params"][0].ndim)
            group.update(self._betas_and_eps(group))

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
            Parameter groups, with `name` and `part`.

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
