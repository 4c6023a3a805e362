"""Adapters of loralib in files of weights, as published by TSVLC, DAC and FSC-CLIP."""

import re
from pathlib import Path

from torch import Tensor

from zoo.backbones.weights import list_keys
from zoo.errors import ZooError

State = dict[str, Tensor]
ALPHA = 1  # in the code of all three; no file records it


def merge_loralib_adapters(file: Path, state: State) -> State:
    """Merges the adapters of loralib's layers into their weights: W + alpha / r B A.

    The rank r is that of the tensors. A convolution of k x k pixels has adapters of k r rows, whose
    product is reshaped into the kernel, as published. CS-CLIP's public evaluation leaves out the
    factor 1 / r, so that its metrics of TSVLC and DAC are those of other weights.

    Args:
        file: The file of the state in messages.
        state: Weights with the adapters `lora_A` and `lora_B`.

    Returns:
        The merged weights.

    Raises:
        ZooError: The counterpart or the weight of an adapter is missing, or shapes do not fit; the
            message lists them.
    """
    merged = {key: value for key, value in state.items() if not is_adapter(key)}
    faults = []
    for key in filter(is_adapter, state):
        weight, twin = _adapted_key(key), key[:-1] + ("B" if key.endswith("A") else "A")
        if weight not in merged or twin not in state:
            faults.append(f"{key} without {weight if weight not in merged else twin}")
        elif key.endswith("A"):
            base, a, b = merged[weight].float(), state[key].float(), state[twin].float()
            side = base.shape[-1] if base.ndim == 4 else 1
            rows, columns = (n * side for n in (*base.shape, 0, 0)[:2])
            if (
                base.shape[2:] not in ((), (side, side))
                or a.ndim != 2
                or (a.shape[1:], b.shape) != ((columns,), (rows, len(a)))
                or not len(a)
                or len(a) % side
            ):
                faults.append(
                    f"{key} {tuple(a.shape)} and {tuple(b.shape)} for a weight of "
                    f"{tuple(base.shape)}"
                )
            else:
                merged[weight] = base + ALPHA * side / len(a) * (b @ a).view(base.shape)
    if faults:
        raise ZooError(
            f"{file} has LoRA tensors that cannot be merged ({list_keys(faults)}): download it "
            "again, or set backbone.pretrained to another publication"
        )
    return merged


def is_adapter(key: str) -> bool:
    """Returns whether a tensor is an adapter's."""
    return key.endswith(("lora_A", "lora_B"))


def _adapted_key(key: str) -> str:
    """Returns the weight that an adapter changes.

    `c_fc.lora_A` changes the layer's weight, `in_proj_weight_lora_A` the tensor of that name.
    """
    return re.sub(r"_lora_[AB]$", "", re.sub(r"\.lora_[AB]$", ".weight", key))
