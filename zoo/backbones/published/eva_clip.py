"""Weights under the names of EVA-02-CLIP's code, such as FineCLIP's."""

from torch import Tensor

from zoo.backbones.published.base import PublishedWeights

State = dict[str, Tensor]

TOWER, TRUNK = "visual.", "visual.trunk."
FIXED = ".rope."  # constant tables of rotary positions
# parts of names in EVA-02-CLIP's code, and in timm's, which open_clip builds the tower with
RENAMED = {
    ".attn.inner_attn_ln.": ".attn.norm.",
    ".attn.q_bias": ".attn.q_proj.bias",
    ".attn.v_bias": ".attn.v_proj.bias",
    ".mlp.w1.": ".mlp.fc1_g.",
    ".mlp.w2.": ".mlp.fc1_x.",
    ".mlp.w3.": ".mlp.fc2.",
    ".mlp.ffn_ln.": ".mlp.norm.",
}


class FineCLIP(PublishedWeights):
    """FineCLIP (Jing et al., 2024): an EVA-02-CLIP in a checkpoint of open_clip's training."""

    activation = "gelu"

    def state(self, architecture: str) -> State:
        """Returns the weights under open_clip's names.

        Args:
            architecture: The name that open_clip knows the model by.

        Raises:
            ZooError: The file does not have open_clip's or EVA-02-CLIP's names.
        """
        return {
            _rename(key): value
            for key, value in super().state(architecture).items()
            if not (key.startswith(TOWER) and FIXED in f".{key}")
        }


def _rename(key: str) -> str:
    if not key.startswith(TOWER):
        return key
    for name, new_name in RENAMED.items():
        key = key.replace(name, new_name)
    return TRUNK + key.removeprefix(TOWER)
