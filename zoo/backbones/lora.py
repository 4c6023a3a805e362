"""LoRA (Hu et al., 2021): W x becomes W x + alpha / rank B A x. W [out, in] is frozen, A [rank, in] and B [out, rank] are trained, B = 0 at
the start. Free of peft, which zoo/adapters.py asks for."""

from dataclasses import dataclass

from torch import Tensor

from zoo.support.ranges import PositiveInt, PositiveNumber, RangedType

BASE, FIRST, SECOND = (
    ".base_layer",
    ".lora_A.default.weight",
    ".lora_B.default.weight",
)  # peft's names


@dataclass(frozen=True)
class LoRA(metaclass=RangedType):
    """What is trained in place of a tower's own weights; which towers, `tune` of the backbone says.

    rank, alpha: as above; the defaults are those of FSC-CLIP's public code. targets: the last names of the layers that are adapted: linear
    layers, convolutions and attention whole (its fused in_proj and its out_proj); the defaults are every one in open_clip's own towers.
    """

    rank: PositiveInt = 4
    alpha: PositiveNumber = 1.0
    targets: tuple[str, ...] = ("attn", "c_fc", "c_proj", "conv1")

    @property
    def scaling(self) -> float:
        """What B A is multiplied with."""
        return self.alpha / self.rank


def merged(state: dict[str, Tensor], scaling: float) -> dict[str, Tensor]:
    """state: of a model with adapters, under peft's names. Returns that of the plain model, W + scaling * B A in place of the three."""
    plain = {
        name.replace(BASE, ""): tensor for name, tensor in state.items() if ".lora_" not in name
    }
    for name in (n for n in state if n.endswith(FIRST)):
        layer = name.removesuffix(FIRST)
        weight = layer.replace(BASE, "") + (
            ".in_proj_weight" if f"{layer}{BASE}.in_proj_weight" in state else ".weight"
        )
        first, second = state[name].flatten(1).double(), state[layer + SECOND].flatten(1).double()
        whole = plain[weight]
        plain[weight] = (whole.double() + scaling * (second @ first).view_as(whole)).to(whole.dtype)
    return plain


def adapted(state: dict[str, Tensor]) -> bool:
    """Returns whether a state has adapters in it."""
    return any(name.endswith(FIRST) for name in state)
