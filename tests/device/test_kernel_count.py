"""How many kernels a training step of CS-CLIP launches with towers as deep as ViT-B/32's.

Small batches of short texts are bound by launches, which take about 5 microseconds each.
"""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.pretend_cuda import OperationCount
from zoo.backbones.backbone import GROUPS_ON_GPU, Backbone
from zoo.backbones.settings import TextInput
from zoo.batch import Batch, TextBank
from zoo.module import ZooModule
from zoo.objectives.base import loss_of
from zoo.objectives.cs_clip import CSCLIP

LAYERS = 12  # the number of kernels depends on the depth and not on the width


def deep_and_narrow(folder: Path, **settings: Any) -> Backbone:
    """Returns a backbone with the blocks of ViT-B/32, small ones."""
    small = {"layers": LAYERS, "width": 64}
    architecture = {
        "embed_dim": 32,
        "vision_cfg": {"image_size": 64, "patch_size": 32, "head_width": 32, **small},
        "text_cfg": {"context_length": 77, "vocab_size": 512, "heads": 2, **small},
        "quick_gelu": True,
    }
    path = folder / "deep_and_narrow.json"
    path.write_text(json.dumps(architecture))
    return Backbone(str(path), activation="quickgelu", **settings)


def batch_of(backbone: Backbone, lengths: Sequence[int]) -> Batch:
    """Returns two rows with a negative and two units each; their texts have these lengths."""
    texts = torch.tensor(lengths)
    ids = torch.ones(len(texts), backbone.context, dtype=torch.long)
    ids[torch.arange(backbone.context) >= texts[:, None]] = 0
    ids[torch.arange(len(texts)), texts - 1] = 511
    bank = TextBank(ids, texts, torch.arange(len(texts)), len(texts))
    rows = torch.arange(12).view(6, 2)
    return Batch(
        images=torch.zeros(2, 3, *backbone.image_size, dtype=torch.uint8),
        texts=bank,
        captions=rows[0],
        negatives=rows[1][:, None],
        positives=torch.zeros(2, 0, dtype=torch.long),
        negative_images=torch.full((2,), -1),
        units=rows[2:4].T,
        foils=rows[4:].T,
        image_ids=torch.arange(2),
        hashes=bank.hashes,
        samples=torch.arange(2),
        primary=2,
    )


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        pytest.param(TextInput(lengths=()), 2200, id="one_group"),
        pytest.param(TextInput(max_groups=GROUPS_ON_GPU), 3400, id="default on a GPU"),
        pytest.param(TextInput(), 7500, id="default on a CPU"),
    ],
)
def test_a_step_launches_no_more_kernels_than_its_groups_of_texts_need(
    tmp_path: Path, text: TextInput, budget: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a GPU has flash attention in bfloat16, in one kernel
    monkeypatch.setattr("zoo.backbones.backbone.without_flash_attention_on_cpu", nullcontext)
    torch.manual_seed(0)
    module = ZooModule(deep_and_narrow(tmp_path, text=text), CSCLIP())
    batch = batch_of(module.backbone, [6, 14, 22, 30, 44, 60] * 2)
    with OperationCount() as count:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            encoded, scores = module.score(batch)
            loss = loss_of(module.objective, encoded, scores).total
        loss.backward()
    assert count.kernels.total() <= budget
