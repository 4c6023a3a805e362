"""Published architectures with random weights.

Heads are told what they have and lack, and their vectors equal open_clip's own.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from zoo.backbones.backbone import Backbone
from zoo.batch import TextBank, TokenKey
from zoo.errors import ZooError
from zoo.heads.cross_modal import CrossModal
from zoo.heads.max_sim import MaxSim
from zoo.module import ZooModule
from zoo.objectives.fsc_clip import FSCCLIP
from zoo.objectives.siglip import SigLIP

PATCHES = frozenset({TokenKey(-1)})  # what FSC-CLIP reads: projected patches of the last block
RAW = frozenset({TokenKey(-2, norm=False, project=False)})  # what TF-Local reads


@dataclass
class Known:
    """What is known of an architecture.

    `tokens` are (patches, prefix tokens, width), None where it has none. `lacks` is why it cannot
    give projected patches. `cut` says whether texts may be cut.
    """

    width: int
    tokens: tuple[int, int, int] | None
    text_width: int
    context: int = 77
    lacks: str | None = None
    cut: bool = True
    bias: bool = False
    activation: str = "gelu"


ARCHITECTURES = {
    "ViT-B-32": Known(512, (49, 1, 768), 512),
    "ViT-B-32-quickgelu": Known(512, (49, 1, 768), 512, activation="quickgelu"),
    "ViT-B-16": Known(512, (196, 1, 768), 512),
    "ViT-B-16-quickgelu": Known(512, (196, 1, 768), 512, activation="quickgelu"),
    "ViT-L-14": Known(768, (256, 1, 1024), 768),
    "ViT-L-14-quickgelu": Known(768, (256, 1, 1024), 768, activation="quickgelu"),
    "RN50-quickgelu": Known(1024, None, 512, lacks="no tokens to give", activation="quickgelu"),
    "convnext_base": Known(512, None, 512, lacks="no tokens to give"),
    "ViT-B-16-SigLIP": Known(
        768, (196, 0, 768), 768, 64, "pools by attention before it projects", cut=False, bias=True
    ),
    "ViT-B-16-SigLIP2": Known(
        768, (196, 0, 768), 768, 64, "pools by attention before it projects", cut=False, bias=True
    ),
    "PE-Core-B-16": Known(1024, (196, 1, 768), 1024, 32, "pools by attention before it projects"),
}


def token_ids(backbone: Backbone) -> TextBank:
    """Texts of 3, 9 and all tokens, as ids, since some tokenizers are to be had online alone."""
    end = backbone._texts.end
    last = (
        end.token
        if end.token is not None
        else getattr(backbone.model, "text", backbone.model).vocab_size - 1
    )
    ids = torch.randint(2, 1000, (3, backbone.context))
    for row, length in enumerate((3, 9, backbone.context)):
        ids[row, length - 1 :] = last if end.token is not None else 0
        ids[row, length - 1] = last
    return TextBank(ids, end.lengths(ids), torch.arange(3))


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHITECTURES)
@torch.no_grad()
def test_an_architecture_is_what_heads_are_told_and_encodes_as_open_clip_does(name: str) -> None:
    known = ARCHITECTURES[name]
    torch.manual_seed(0)
    backbone = Backbone(name).eval()
    shapes = backbone.shapes
    assert (shapes.width, shapes.text_width, shapes.context) == (
        known.width,
        known.text_width,
        known.context,
    )
    assert (backbone.trims_padding, shapes.bias is not None, backbone.activation) == (
        known.cut,
        known.bias,
        known.activation,
    )
    names = {type(module).__name__ for module in backbone.modules()}
    assert ("QuickGELU" in names) == (known.activation == "quickgelu")

    texts, images = token_ids(backbone), torch.randn(2, 3, *backbone._images.size)
    assert texts.lengths.tolist() == [3, 9, known.context]
    expected = backbone.model.encode_text(texts.ids, normalize=False)
    torch.testing.assert_close(backbone.encode_texts(texts).pooled, expected, rtol=1e-4, atol=1e-5)
    assert torch.equal(backbone.encode_images(images).pooled, backbone.model.encode_image(images))

    if known.tokens is None:
        assert shapes.patches is None
    else:
        assert (shapes.patches, shapes.prefix, shapes.image_width) == known.tokens
        tokens = backbone.encode_images(images, RAW).tokens[next(iter(RAW))]
        assert tokens.shape == (2, known.tokens[0], known.tokens[2])
    if known.lacks is None:
        assert backbone.encode_images(images, PATCHES).tokens[next(iter(PATCHES))].shape == (
            2,
            shapes.patches,
            known.width,
        )
    else:
        for parts in ({"objective": FSCCLIP()}, {"head": MaxSim()}):
            with pytest.raises(ZooError, match=known.lacks):
                ZooModule(backbone, **parts)
    if known.tokens is None:
        with pytest.raises(ZooError, match="CrossModal reads patches"):
            ZooModule(backbone, head=CrossModal())
    if not known.bias:
        with pytest.raises(ZooError, match="SigLIP needs a head with a bias"):
            ZooModule(backbone, SigLIP())


def test_a_small_convnext_says_that_it_has_no_tokens(tmp_path: Path) -> None:
    vision = {
        "timm_model_name": "convnext_atto",
        "timm_pool": "",
        "timm_proj": "linear",
        "image_size": 64,
    }
    text = {"context_length": 16, "vocab_size": 1000, "width": 32, "heads": 2, "layers": 2}
    file = tmp_path / "small-convnext.json"
    file.write_text(json.dumps({"embed_dim": 32, "vision_cfg": vision, "text_cfg": text}))
    backbone = Backbone(str(file)).eval()
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        assert torch.equal(
            backbone.encode_images(images).pooled, backbone.model.encode_image(images)
        )
    assert backbone.shapes.patches is None
    for parts in ({"objective": FSCCLIP()}, {"head": MaxSim()}):
        with pytest.raises(
            ZooError, match=r"image tower of .*small-convnext\.json cannot give .*no tokens to give"
        ):
            ZooModule(backbone, **parts)
    with pytest.raises(ZooError, match="CrossModal reads patches"):
        ZooModule(backbone, head=CrossModal())
