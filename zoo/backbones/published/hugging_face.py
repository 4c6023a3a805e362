"""Weights under Hugging Face's names, as READ-CLIP's (Kwon et al., 2025) are published."""

from torch import Tensor

from zoo.backbones.hugging_face_names import open_clip_state
from zoo.backbones.published.base import PublishedWeights
from zoo.support.tensors import read_tensors


class HuggingFaceCLIP(PublishedWeights):
    """The weights of a CLIPModel of Hugging Face, such as READ-CLIP's (Kwon et al., 2025)."""

    def state(self, architecture: str) -> dict[str, Tensor]:
        """Returns both towers under open_clip's names; what is of neither stays, and is refused.

        Args:
            architecture: Not used.

        Raises:
            ZooError: The file cannot be read, or lacks tensors.
        """
        held = {
            key: value
            for key, value in read_tensors(self.path).items()
            if isinstance(value, Tensor) and not key.endswith("position_ids")
        }
        return open_clip_state(self.path, held)
