"""LoRA (Hu et al., 2021): W x becomes W x + alpha / rank B A x.

W `[out, in]` is frozen. A `[rank, in]` and B `[out, rank]` are trained. B is 0 at the start.
"""

from dataclasses import dataclass

from torch import Tensor

from zoo.support.ranges import PositiveInt, PositiveNumber, RangedType

# peft's names
BASE, FIRST, SECOND = ".base_layer", ".lora_A.default.weight", ".lora_B.default.weight"


@dataclass(frozen=True)
class LoRA(metaclass=RangedType):
    """Low-rank adapters (LoRA) that are trained instead of a tower's own weights.

    A layer with the frozen weights W computes W x + (alpha / rank) B A x, and only A and B are
    trained. `tuning.towers` selects the towers. The defaults of rank and alpha are those of
    FSC-CLIP's public code. The default targets are the attention, linear and convolution layers of
    open_clip's own towers.

    Args:
        rank: The rank of the adapters: A has `rank` rows, and B has `rank` columns.
        alpha: The scale of the adapters, which is divided by the rank.
        targets: Names of the layers that get an adapter (the last part of their path). They can be
            linear layers, convolutions, or attention modules (`in_proj` and `out_proj` together).

    Examples:
        Adapters of rank 8 for the text tower:

        >>> from zoo.backbones import LoRA, Tuning
        >>> tuning = Tuning(towers="text", lora=LoRA(rank=8, alpha=16))
        >>> tuning.lora.scaling
        2.0
    """

    rank: PositiveInt = 4
    alpha: PositiveNumber = 1.0
    targets: tuple[str, ...] = ("attn", "c_fc", "c_proj", "conv1")

    @property
    def scaling(self) -> float:
        """The factor by which B A is multiplied, alpha / rank."""
        return self.alpha / self.rank


def merge_adapters(state: dict[str, Tensor], scaling: float) -> dict[str, Tensor]:
    """Returns the state of the plain model, with W + scaling B A instead of W, A and B.

    Args:
        state: The state of a model with adapters, under peft's names.
        scaling: The factor of B A.
    """
    merged = {
        name.replace(BASE, ""): tensor for name, tensor in state.items() if ".lora_" not in name
    }
    for name in (n for n in state if n.endswith(FIRST)):
        layer = name.removesuffix(FIRST)
        weight = layer.replace(BASE, "") + (
            ".in_proj_weight" if f"{layer}{BASE}.in_proj_weight" in state else ".weight"
        )
        a, b = state[name].flatten(1).double(), state[layer + SECOND].flatten(1).double()
        base = merged[weight]
        merged[weight] = (base.double() + scaling * (b @ a).view_as(base)).to(base.dtype)
    return merged


def has_adapters(state: dict[str, Tensor]) -> bool:
    """Returns whether a state holds adapters."""
    return any(name.endswith(FIRST) for name in state)
