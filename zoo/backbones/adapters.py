"""Adapters put into a model by peft. The only file that imports it."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from peft import LoraConfig, inject_adapter_in_model
from peft.tuners.lora.layer import MultiheadAttention
from torch import Tensor, nn
from torch.func import functional_call

from zoo.backbones.lora import LoRA
from zoo.errors import ZooError

NAME = "default"
ADAPTABLE = (nn.Linear, nn.Conv2d, nn.MultiheadAttention)


class Attention(MultiheadAttention):  # type: ignore[misc]  # peft has no types
    """peft's adapter of attention, run on merged weights that it does not keep.

    peft's own adds B A to the weights before every forward and subtracts it after, so that the frozen weights drift by rounding,
    validation included, and are no longer those that training started from.
    """

    def forward(self, query: Tensor, *args: Any, **kwargs: Any) -> Any:
        base = self.get_base_layer()
        weights = {
            "in_proj_weight": base.in_proj_weight + self.get_delta_weight(NAME),
            "out_proj.base_layer.weight": base.out_proj.weight
            + base.out_proj.get_delta_weight(NAME),
        }
        return functional_call(base, weights, (query, *args), kwargs)

    def _restore_weights(self) -> None:
        """Nothing was taken away."""


def add_adapters(
    model: nn.Module, lora: LoRA, tower: Callable[[str], str], tuned: Sequence[str]
) -> None:
    """Puts adapters into the layers of the tuned towers that `lora` names, and freezes all else.

    tower: from a module's name to its tower. Raises ZooError where a target names no layer, where a tuned tower has none that is named, and
    on a layer that cannot be adapted.
    """
    layers = {
        name: module for name, module in model.named_modules() if isinstance(module, ADAPTABLE)
    }
    unknown = set(lora.targets) - {last(name) for name in layers}
    if unknown:
        raise ZooError(
            f"backbone.lora.targets has {', '.join(sorted(unknown))}, which no layer is called: choose among {named(layers)}"
        )
    for side in tuned:
        inside = [name for name in layers if tower(name) == side]
        if not any(last(name) in lora.targets for name in inside):
            raise ZooError(
                f"backbone.lora.targets names no layer of the {side} tower: add some of {named(inside)}, or change tune"
            )
    chosen = [name for name in layers if tower(name) in tuned and last(name) in lora.targets]
    inner = next(
        (
            name
            for name in chosen
            if isinstance(layers.get(name.rpartition(".")[0]), nn.MultiheadAttention)
        ),
        None,
    )
    if inner is not None:
        raise ZooError(
            f"backbone.lora.targets has {last(inner)}, a part of attention that is never run alone: name the attention itself"
        )
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules="|".join(map(re.escape, chosen))
    )
    config._register_custom_module({nn.MultiheadAttention: Attention})
    try:
        inject_adapter_in_model(config, model, NAME)
    except (TypeError, ValueError) as error:
        raise ZooError(
            f"backbone.lora.targets names a layer that peft cannot adapt ({error}): take it out"
        ) from error


def last(name: str) -> str:
    """Returns what a layer is called where it stands."""
    return name.rpartition(".")[2]


def named(layers: Iterable[str]) -> str:
    """Returns the last names of layers, each once."""
    return ", ".join(sorted({last(name) for name in layers}))
