"""Weights under Hugging Face's names, such as READ-CLIP's (Kwon et al., 2025)."""

from torch import Tensor

from zoo.backbones.hugging_face_names import open_clip_state
from zoo.backbones.published.base import PublishedWeights
from zoo.support.tensors import read_tensors


class HuggingFaceCLIP(PublishedWeights):
    """The weights of a CLIPModel of Hugging Face, such as READ-CLIP's (Kwon et al., 2025)."""

    def state(self, architecture: str) -> dict[str, Tensor]:
        """Returns both towers under open_clip's names; other tensors are rejected when loading.

        Args:
            architecture: Not used.

        Raises:
            ZooError: The file cannot be read, or tensors are missing.
        """
        tensors = {
            key: value
            for key, value in read_tensors(self.path).items()
            if isinstance(value, Tensor) and not key.endswith("position_ids")
        }
        return open_clip_state(self.path, tensors)
