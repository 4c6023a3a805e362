"""Adds peft's adapters to a model. No other file imports peft."""

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


class LoRAAttention(MultiheadAttention):  # type: ignore[misc]  # peft has no types
    """peft's adapter of attention, with weights that are merged again in every forward.

    peft's own layer adds B A to the frozen weights before each forward and subtracts it after.
    Rounding then changes the frozen weights, in validation too, so that they differ from those at
    the start of training.
    """

    def forward(self, query: Tensor, *args: Any, **kwargs: Any) -> Any:
        """Runs attention with B A added to the weights of both its projections."""
        base = self.get_base_layer()
        weights = {
            "in_proj_weight": base.in_proj_weight + self.get_delta_weight(NAME),
            "out_proj.base_layer.weight": base.out_proj.weight
            + base.out_proj.get_delta_weight(NAME),
        }
        return functional_call(base, weights, (query, *args), kwargs)

    def _restore_weights(self) -> None:
        """Does nothing, since nothing was added to the weights."""


def add_adapters(
    model: nn.Module, lora: LoRA, tower_of: Callable[[str], str], tuned: Sequence[str]
) -> None:
    """Adds adapters to layers of the tuned towers and freezes all other weights.

    Args:
        model: The open_clip model. It is changed in place.
        lora: Rank and alpha of the adapters, and the last names of the layers that get one.
        tower_of: Maps a module's name to its tower, `image` or `text`.
        tuned: The towers that get adapters.

    Raises:
        ZooError: A target names no layer, a tuned tower has no layer that is named, or a layer
            cannot be adapted.
    """
    layers = {
        name: module for name, module in model.named_modules() if isinstance(module, ADAPTABLE)
    }
    unknown = set(lora.targets) - {last_part(name) for name in layers}
    if unknown:
        raise ZooError(
            f"backbone.tuning.lora.targets has {', '.join(sorted(unknown))}, which is not the name "
            f"of a layer: choose among {list_layers(layers)}"
        )
    for side in tuned:
        tower_layers = [name for name in layers if tower_of(name) == side]
        if not any(last_part(name) in lora.targets for name in tower_layers):
            raise ZooError(
                f"backbone.tuning.lora.targets names no layer of the {side} tower: add some of "
                f"{list_layers(tower_layers)}, or change backbone.tuning.towers"
            )
    adapted = [
        name for name in layers if tower_of(name) in tuned and last_part(name) in lora.targets
    ]
    attention_part = next(
        (
            name
            for name in adapted
            if isinstance(layers.get(name.rpartition(".")[0]), nn.MultiheadAttention)
        ),
        None,
    )
    if attention_part is not None:
        raise ZooError(
            f"backbone.tuning.lora.targets has {last_part(attention_part)}, a part of attention "
            "that is never run separately: name the attention itself"
        )
    config = LoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules="|".join(map(re.escape, adapted))
    )
    config._register_custom_module({nn.MultiheadAttention: LoRAAttention})
    try:
        inject_adapter_in_model(config, model, NAME)
    except (TypeError, ValueError) as error:
        raise ZooError(
            f"backbone.tuning.lora.targets names a layer that peft cannot adapt ({error}): remove "
            "it"
        ) from error


def last_part(name: str) -> str:
    """Returns the last part of a layer's name."""
    return name.rpartition(".")[2]


def list_layers(layers: Iterable[str]) -> str:
    """Lists the distinct last names of layers for messages."""
    return ", ".join(sorted({last_part(name) for name in layers}))
