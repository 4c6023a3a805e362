"""The towers of FLAIR's weights (Xiao et al., CVPR 2025)."""

from torch import Tensor

from zoo.backbones.published.base import PublishedWeights

State = dict[str, Tensor]

RENAMED = {"image_post.proj": "visual.proj", "text_post.proj": "text_projection"}
HEAD = ("visual_proj.", "logit_bias")  # read by the head TextConditionedPooling


class FLAIR(PublishedWeights):
    """FLAIR (Xiao et al., 2025): two towers; the head TextConditionedPooling reads the pooling."""

    activation = "gelu"

    def state(self, architecture: str) -> State:
        """Returns the towers under open_clip's names.

        Args:
            architecture: The name that open_clip knows the model by.

        Raises:
            ZooError: The file does not have the publication's format.
        """
        return {
            RENAMED.get(key, key): value
            for key, value in super().state(architecture).items()
            if not key.startswith(HEAD)
        }
