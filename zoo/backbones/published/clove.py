"""CLoVe's weights (Castro et al., 2024): tuned weights, interpolated with the original ones."""

from pathlib import Path

import torch
from torch import Tensor

from zoo.backbones.factory import build, check_tag
from zoo.backbones.published.base import PublishedWeights
from zoo.backbones.weights import list_keys, read_weights
from zoo.errors import ZooError

State = dict[str, Tensor]
SHARE = 0.6  # of the tuned weights


class CLoVe(PublishedWeights):
    """CLoVe (Castro et al., 2024): 0.4 of the original weights and 0.6 of the file's.

    Args:
        path: The published file, for texts of 64 tokens.
        base: The original weights, a tag or a file.
    """

    activation = "quickgelu"
    context_length = 64

    def __init__(self, path: str, base: str = "openai") -> None:
        super().__init__(path)
        self.base = base

    def state(self, architecture: str) -> State:
        """Returns the interpolated weights.

        Args:
            architecture: The name that open_clip knows the model by.

        Raises:
            ZooError: The file is not CLoVe's, or does not fit the original weights.
        """
        tuned = super().state(architecture)
        return interpolate_files(self.path, self._start(architecture), tuned, SHARE)

    def _start(self, architecture: str) -> State:
        if Path(self.base).is_file():
            return read_weights(Path(self.base)).state
        check_tag(architecture, self.base, "backbone.pretrained.base")
        return build(architecture, self.base, "quickgelu", None).state_dict()


def interpolate_files(file: Path, start: State, end: State, share: float) -> State:
    """Returns (1 - share) start + share end, of all tensors, the temperature included.

    Args:
        file: The file of `end`, as errors name it.
        start: The weights at share 0.
        end: The weights at share 1.
        share: The share of `end`, from 0 to 1.

    Returns:
        The interpolated state. Its table of text positions is cut to the shorter one.

    Raises:
        ZooError: A tensor is only in one state, or has another size in the other.
    """
    faults = [f"{key} only in one" for key in start.keys() ^ end.keys()]
    result = {}
    for key in start.keys() & end.keys():
        a, b = start[key].float(), end[key].float()
        if key == "positional_embedding" and a.shape[1:] == b.shape[1:]:
            a, b = a[: len(b)], b[: len(a)]
        if a.numel() != b.numel():
            faults.append(f"{key} {tuple(a.shape)} and {tuple(b.shape)}")
        else:
            result[key] = torch.lerp(a.reshape(b.shape), b, share)
    if faults:
        raise ZooError(
            f"{file} cannot be interpolated with the weights it was trained from "
            f"({list_keys(sorted(faults))}): change backbone.pretrained.base"
        )
    return result
