"""NaFlex image towers, of releases of open_clip after 3.3, at the one image size of their name."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import open_clip
import pytest
import torch

from zoo.backbones import construction
from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, TextBank
from zoo.errors import ZooError
from zoo.heads import Cosine
from zoo.module import ZooModule
from zoo.objectives import CLIP, CSCLIP, FSCCLIP, NegCLIP
from zoo.objectives.base import Objective

NAMES = [name for name in open_clip.list_models() if "naflex" in name.lower()]
TWO_TOWERS = [name for name in NAMES if "ViT" in name]
pytestmark = pytest.mark.skipif(
    not NAMES, reason=f"open_clip {open_clip.__version__} has no NaFlex towers"
)
SMALL = {
    "depth": 2,
    "embed_dim": 64,
    "num_heads": 2,
    "patch_size": 16,
    "pos_embed_grid_size": [4, 4],
}


def write_small(file: Path, timm_name: str, text: dict[str, Any], pool: str = "") -> str:
    """Writes the configuration of a NaFlex tower of two blocks, and returns its path."""
    vision = {"image_size": 64, "timm_model_name": timm_name, "timm_model_kwargs": SMALL}
    text = {"context_length": 16, "vocab_size": 100, "width": 32, "heads": 2, "layers": 2, **text}
    vision |= {"timm_pool": pool} if pool else {}
    config = {"embed_dim": 32, "custom_text": True, "vision_cfg": vision, "text_cfg": text}
    file.write_text(json.dumps(config))
    return str(file)


MODERN = {"text_arch": "modern", "variable_text": True, "pad_id": 0, "pool_type": "map",
          "pos_embed": "rope", "attention_mode": "bidirectional"}  # fmt: skip
KINDS = {
    "naflex_ViT": ("naflexvit_base_patch16_gap", {}, ""),
    "moderntext-naflex_ViT": ("naflexvit_base_patch16_map", MODERN, "map"),
}


def batch() -> Batch:
    """Two rows with negatives, units and foils."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, 99, (8, 16), generator=generator)
    ids[:, 7], ids[:, 8:] = 99, 0
    images = torch.randint(0, 256, (2, 3, 64, 64), dtype=torch.uint8, generator=generator)
    return Batch(
        images=images,
        texts=TextBank(ids, torch.full((8,), 8), torch.arange(8), 8),
        captions=torch.tensor([0, 1]),
        negatives=torch.tensor([[2], [3]]),
        positives=torch.full((2, 1), -1),
        negative_images=torch.tensor([-1, -1]),
        units=torch.tensor([[6], [7]]),
        foils=torch.tensor([[4], [5]]),
        image_ids=torch.arange(2),
        hashes=torch.arange(8),
        samples=torch.arange(2),
        primary=2,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_model_of_two_towers_is_built_by_its_name_and_others_are_refused(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(construction, "build", partial(construction.build, device="meta"))
    if name in TWO_TOWERS:
        backbone = Backbone(name)
        assert backbone.tower_of_parameter("model.visual.trunk.embeds.proj.weight") == "image"
        return
    reason = r"is not a model of images and texts with two towers|settings could not be read"
    with pytest.raises(ZooError, match=reason):
        Backbone(name)


@pytest.mark.parametrize("objective", [CLIP(), NegCLIP(), CSCLIP(), FSCCLIP(lambda_l=0)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_training_step_moves_both_towers(kind: str, objective: Objective, tmp_path: Path) -> None:
    torch.manual_seed(0)
    backbone = Backbone(write_small(tmp_path / f"{kind}-small.json", *KINDS[kind]))
    module = ZooModule(backbone, objective, Cosine())
    encoded, scores = module.score(batch())
    loss = module.objective(encoded, scores).total
    loss.backward()  # type: ignore[no-untyped-call]
    assert loss.isfinite()
    moved = {
        backbone.tower_of_parameter(name)
        for name, parameter in backbone.named_parameters()
        if parameter.grad is not None and parameter.grad.isfinite().all() and parameter.grad.any()
    }
    assert moved == {"image", "text"}


@pytest.mark.parametrize("kind", KINDS)
def test_vectors_are_those_of_open_clip_and_padding_can_be_cut(kind: str, tmp_path: Path) -> None:
    backbone = Backbone(write_small(tmp_path / f"{kind}-small.json", *KINDS[kind])).eval()
    texts, images = batch().texts, torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        expected = backbone.model.encode_text(texts.ids)
        torch.testing.assert_close(backbone.encode_texts(texts).pooled, expected)
        cut = TextBank(texts.ids[:, :8], texts.lengths, texts.hashes, 8)
        torch.testing.assert_close(backbone.encode_texts(cut).pooled, expected)
        torch.testing.assert_close(
            backbone.encode_images(images).pooled, backbone.model.encode_image(images)
        )
