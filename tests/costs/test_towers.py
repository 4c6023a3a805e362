"""A tower on the meta device has the operations and the stored tensors of one that runs."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from zoo.backbones import Backbone
from zoo.backbones.settings import Tuning
from zoo.batch import TextBank
from zoo.costs.towers import towers_of
from zoo.errors import ZooError

count_towers = cache(towers_of)
ITEMS = 8
VIT = {"image_size": 64, "layers": 2, "width": 192, "patch_size": 16}
TEXT = {"context_length": 32, "vocab_size": 512, "width": 128, "heads": 4, "layers": 2}
RESNET = {"image_size": 64, "layers": [1, 1, 1, 1], "width": 8, "head_width": 64}
TIMM = {"timm_model_name": "test_vit", "timm_pool": "token", "image_size": 160}


def write_architecture(folder: Path, image: dict[str, Any], text: dict[str, Any]) -> str:
    file = folder / f"{folder.name}.json"
    config = {"embed_dim": 128, "vision_cfg": image, "text_cfg": text, "quick_gelu": False}
    file.write_text(json.dumps(config))
    return str(file)


@pytest.fixture(scope="module", params=["plain", "resnet", "timm", "reads padding", "hugging face"])
def name(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of an architecture of each kind."""
    tmp_path = tmp_path_factory.mktemp("architecture")
    if request.param == "hugging face":
        text = {**bert(tmp_path), "context_length": 32}
    elif request.param == "reads padding":
        text = {**TEXT, "no_causal_mask": True, "pool_type": "last"}
    else:
        text = TEXT
    image = {"resnet": RESNET, "timm": TIMM}.get(request.param, VIT)
    return write_architecture(tmp_path, image, text)


def bert(folder: Path) -> dict[str, Any]:
    """Writes the settings of a small tower of Hugging Face."""
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    # CPUs have no fused attention with dropout
    sizes["attention_probs_dropout_prob"] = 0
    settings = transformers.BertConfig(
        vocab_size=512, intermediate_size=256, max_position_embeddings=64, **sizes
    )
    settings.save_pretrained(folder / "bert")
    return {
        "hf_model_name": str(folder / "bert"),
        "hf_tokenizer_name": str(folder / "bert"),
        "hf_pooler_type": "mean_pooler",
        "hf_proj_type": "linear",
    }


def texts(length: int) -> TextBank:
    ids = torch.randint(2, 500, (ITEMS, 32))
    ids[:, length:] = 0
    ids[:, length - 1] = 511
    return TextBank(ids, torch.full((ITEMS,), length), torch.arange(ITEMS), ITEMS)


def encode(backbone: Backbone, tower: str, length: int) -> None:
    if tower == "image":
        backbone.encode_images(torch.randn(ITEMS, 3, *backbone.image_size))
    else:
        backbone.encode_texts(texts(length))


def test_operations_are_those_of_a_tower_that_runs(name: str) -> None:
    backbone = Backbone(name)
    image, text = count_towers(name)
    wanted = {
        ("image", 32): image.flops(),
        ("text", 32): text.flops(),
        ("text", 16): text.flops(16),
    }
    for (tower, length), flops in wanted.items():
        # torch's counter does not know the fused attention of CPUs
        with FlopCounterMode(display=False) as counted, sdpa_kernel(SDPBackend.MATH):
            encode(backbone, tower, length)
        assert counted.get_total_flops() == ITEMS * flops, (tower, length)


def test_stored_tensors_are_those_of_a_tower_that_runs(name: str) -> None:
    backbone = Backbone(name, tuning=Tuning(batch_norm="updated")).train()
    weights = {
        t.untyped_storage().data_ptr() for t in [*backbone.parameters(), *backbone.buffers()]
    }
    for tower, cost in zip(("image", "text"), count_towers(name), strict=True):
        stored: dict[int, Tensor] = {}

        def store(tensor: Tensor, stored: dict[int, Tensor] = stored) -> Tensor:
            stored.setdefault(tensor.untyped_storage().data_ptr(), tensor)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(store, lambda tensor: tensor):
            encode(backbone, tower, 32)
        sizes = {key: t.untyped_storage().nbytes() for key, t in stored.items()}
        n_bytes = sum(size for key, size in sizes.items() if key not in weights)
        expected = ITEMS * (cost.activation_bytes() + 4 * cost.pixels)
        assert expected == pytest.approx(n_bytes, rel=0.02), tower


def test_published_architectures_are_counted() -> None:
    """Operations of an image and of a whole text, in 10^9, and parameters."""
    for name, image, text, parameters in (
        ("ViT-B-32-quickgelu", 8.818, 5.960, 151_277_313),
        ("ViT-B-16-SigLIP", 35.417, 11.024, 203_155_970),
    ):
        towers = towers_of(name)
        assert [round(tower.flops() / 1e9, 3) for tower in towers] == [image, text]
        assert sum(tower.parameters for tower in towers) == parameters


def test_half_precision_halves_all_but_the_inputs_of_layer_norm(tmp_path: Path) -> None:
    image, text = towers_of(write_architecture(tmp_path, RESNET, TEXT))
    assert image.activation_bytes(half=True) == image.activation_bytes() // 2
    norm_inputs = 4 * 32 * TEXT["width"] * (2 * TEXT["layers"] + 1)
    assert text.activation_bytes(half=True) == (text.activation_bytes() + norm_inputs) // 2


def test_unreadable_settings_of_a_text_tower_are_refused(tmp_path: Path) -> None:
    text = {"hf_model_name": str(tmp_path / "nowhere"), "hf_tokenizer_name": "x"}
    with pytest.raises(ZooError, match=r"is built as .*nowhere, whose settings could not be read"):
        towers_of(write_architecture(tmp_path, VIT, text))
