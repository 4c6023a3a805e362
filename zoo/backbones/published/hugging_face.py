"""Weights under Hugging Face's names, such as those of READ-CLIP and TripletCLIP."""

from pathlib import Path

import torch
from torch import Tensor

from zoo.backbones.hugging_face_names import open_clip_siglip_state, open_clip_state
from zoo.backbones.published.base import PublishedWeights
from zoo.errors import ZooError
from zoo.support.tensors import read_tensors

State = dict[str, Tensor]


class HuggingFaceCLIP(PublishedWeights):
    """The weights of a CLIPModel of Hugging Face, such as READ-CLIP's (Kwon et al., 2025)."""

    def state(self, architecture: str) -> State:
        """Returns both towers under open_clip's names; other tensors are rejected when loading.

        Args:
            architecture: Not used.

        Raises:
            ZooError: The file cannot be read, or tensors are missing.
        """
        return open_clip_state(self.path, _read_tensors(self.path))


class HuggingFaceSigLIP(PublishedWeights):
    """The weights of a SiglipModel of Hugging Face (Zhai et al., 2023; Tschannen et al., 2025).

    open_clip's towers of the first SigLIP use the exact GELU, Hugging Face's its approximation by
    tanh.
    """

    activation = "gelu"

    def state(self, architecture: str) -> State:
        """Returns both towers under open_clip's names; other tensors are rejected when loading.

        Args:
            architecture: Not used.

        Raises:
            ZooError: The file cannot be read, or tensors are missing.
        """
        return open_clip_siglip_state(self.path, _read_tensors(self.path))


class TripletCLIP(PublishedWeights):
    """TripletCLIP (Patel et al., 2024): a folder of two towers under Hugging Face's names.

    It holds `vision-encoder` and `text-encoder`.
    """

    def state(self, architecture: str) -> State:
        """Returns both towers, each of which holds the tensors of a CLIP tower under `model.`.

        Neither has a temperature, so the state has open_clip's at the start of training.

        Args:
            architecture: Not used.

        Raises:
            ZooError: A tower is missing or cannot be read.
        """
        state: State = {}
        for tower in ("vision-encoder", "text-encoder"):
            file = self._file(tower)
            tensors = {key.removeprefix("model."): t for key, t in _read_tensors(file).items()}
            state |= open_clip_state(file, tensors)
        state.setdefault("logit_scale", torch.tensor(1 / 0.07).log())
        return state

    def _file(self, tower: str) -> Path:
        for name in ("model.safetensors", "pytorch_model.bin"):
            if (file := self.path / tower / name).is_file():
                return file
        raise ZooError(
            f"{self.path} has no {tower}/model.safetensors: give backbone.pretrained.path the "
            "folder that holds both towers"
        )


def _read_tensors(file: Path) -> State:
    """Reads the tensors of a file, without the constant table of positions."""
    return {
        key: value
        for key, value in read_tensors(file).items()
        if isinstance(value, Tensor) and not key.endswith("position_ids")
    }
