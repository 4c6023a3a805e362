"""Names of open_clip and of Hugging Face: one table, read both ways."""

from pathlib import Path

import pytest
import torch

from zoo.backbones.backbone import Backbone
from zoo.backbones.hugging_face_names import hugging_face_state, open_clip_state
from zoo.errors import ZooError

THEIRS = ("vision_model.", "text_model.", "visual_projection.", "text_projection.", "logit_scale")


@pytest.mark.parametrize("separate", [False, True])
def test_a_state_comes_back_as_it_was(separate: bool) -> None:
    ours = Backbone("zoo-tiny").model.state_dict()
    if separate:
        ours = {
            key if key.startswith(("visual.", "logit_scale")) else f"text.{key}": tensor
            for key, tensor in ours.items()
        }
    theirs = hugging_face_state(ours)
    assert all(key.startswith(THEIRS) for key in theirs)
    assert not set(theirs) & set(ours) - {"logit_scale"}
    again = open_clip_state(Path("a.safetensors"), theirs, separate)
    assert again.keys() == ours.keys()
    assert all(torch.equal(again[key], tensor) for key, tensor in ours.items())


def test_a_block_without_its_keys_is_refused_by_name() -> None:
    theirs = hugging_face_state(Backbone("zoo-tiny").model.state_dict())
    del theirs["text_model.encoder.layers.2.self_attn.k_proj.bias"]
    with pytest.raises(
        ZooError, match=r"a\.bin has .*q_proj.* without .*2\.self_attn\.k_proj\.bias"
    ):
        open_clip_state(Path("a.bin"), theirs)
