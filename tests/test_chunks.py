"""Chunked towers give every objective, through every head, the gradients of the whole batch."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

import zoo.heads
from tests.support.parallel import ALWAYS, SMALL, VARIANTS, shipped, with_heads
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Compute, Tuning
from zoo.batch import Batch, build_text_bank
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.module import ZooModule
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP

TEXTS = [
    f"a {color} {shape}"
    for color in ("red", "green", "blue")
    for shape in ("square above a circle", "dot")
]
HEADS = [
    (cls, SMALL.get(cls.__name__, {}) | variant)
    for cls in shipped(zoo.heads, Head)
    for variant in VARIANTS.get(cls.__name__, [{}])
]


def batch(backbone: Backbone, texts: Sequence[str] = TEXTS) -> Batch:
    """Three rows with a caption, two negatives and two units each.

    Some are missing, some texts have two roles.
    """
    bank, _ = build_text_bank(*backbone.tokenizer(texts))
    return Batch(
        images=torch.randn(
            5, 3, 64, 64, dtype=torch.float64, generator=torch.Generator().manual_seed(0)
        ),
        texts=bank,
        captions=torch.tensor([0, 2, 4]),
        negatives=torch.tensor([[1, 3], [-1, 5], [0, -1]]),
        positives=torch.tensor([[1], [3], [-1]]),
        negative_images=torch.tensor([3, 4, -1]),
        units=torch.tensor([[1, 3], [3, -1], [5, 1]]),
        foils=torch.tensor([[3, 5], [1, -1], [-1, 3]]),
        image_ids=torch.arange(3),
        hashes=bank.hashes,
        samples=torch.arange(3),
        primary=3,
    )


def gradients(
    chunk: int | None, objective: type[Objective], head: partial[Head], **backbone: Any
) -> dict[str, Tensor]:
    torch.manual_seed(0)
    module = (
        ZooModule(Backbone("zoo-tiny", compute=Compute(chunk), **backbone), objective(), head())
        .double()
        .eval()
    )  # without dropout
    encoded, scores = module.score(batch(module.backbone))
    module.objective(encoded, scores).total.backward()
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize(
    ("objective", "head", "settings"),
    with_heads(HEADS, once=ALWAYS | {"DeGLA", "TripletCLIP"}, always={"CSCLIP"}),
)
def test_chunks_change_no_gradient(
    objective: type[Objective], head: type[Head], settings: dict[str, Any]
) -> None:
    whole, chunked = (
        gradients(chunk, objective, partial(head, bias=-1.0, **settings)) for chunk in (None, 2)
    )
    assert chunked.keys() == whole.keys()
    assert len(whole) > 40
    for name, gradient in whole.items():
        torch.testing.assert_close(chunked[name], gradient, rtol=1e-7, atol=1e-10)


def test_nor_those_of_adapters() -> None:
    whole, chunked = (
        gradients(chunk, CLIP, partial(Cosine), tuning=Tuning(lora=LoRA(rank=2)))
        for chunk in (None, 2)
    )
    assert whole.keys() == chunked.keys()
    assert all(
        torch.allclose(chunked[name], gradient, rtol=1e-7, atol=1e-10)
        for name, gradient in whole.items()
    )
