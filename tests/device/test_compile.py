"""Compiled towers run compiled: no graph breaks, and no new graphs after the first epoch."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest
import torch
import torch._dynamo
from torch import Tensor

import zoo.heads.base
from tests.backbones.test_backbone import PENULTIMATE
from tests.device.test_pretend_cuda import uint8_batch
from zoo.backbones.backbone import Backbone
from zoo.backbones.construction import GRAPH_LIMIT
from zoo.backbones.lora import LoRA
from zoo.backbones.settings import Compute, Tuning
from zoo.batch import Encoded, TextBank, TokenKey
from zoo.heads.base import Head
from zoo.heads.com_clip import ComCLIP
from zoo.heads.cosine import Cosine
from zoo.heads.linear import Linear
from zoo.heads.max_sim import MaxSim
from zoo.heads.structure_guided import StructureGuided

NONE: frozenset[TokenKey] = frozenset()


@pytest.fixture(autouse=True)
def clean_dynamo() -> Iterator[None]:
    """Forgets compiled graphs and their numbers."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield
    torch._dynamo.reset()


def graphs() -> int:
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def assert_all_compiled() -> None:
    """Checks that no frame was left to run uncompiled, and that no graph is broken."""
    frames = torch._dynamo.utils.counters["frames"]
    assert frames["ok"] == frames["total"] > 0
    assert not torch._dynamo.utils.counters["graph_break"]


def texts_of(backbone: Backbone, lengths: Tensor) -> TextBank:
    ids = torch.ones(len(lengths), backbone.context, dtype=torch.long)
    ids[torch.arange(backbone.context) >= lengths[:, None]] = 0
    ids[torch.arange(len(lengths)), lengths - 1] = 49407
    return TextBank(ids, lengths, torch.arange(len(lengths)), len(lengths))


def encode(backbone: Backbone, images: int, lengths: Tensor) -> Tensor:
    """Encodes under bf16-mixed, and returns a number with the gradient of both towers."""
    pixels = torch.zeros(images, 3, *backbone.image_size, dtype=torch.uint8)
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        pooled = backbone.encode_images(pixels).pooled
        texts = backbone.encode_texts(texts_of(backbone, lengths)).pooled
    return pooled.float().sum() + texts.float().sum()


def train_and_validate(backbone: Backbone, epoch: int) -> int:
    """Takes steps and validates, with other lengths and numbers of texts in every batch.

    Returns:
        The number of graphs so far.
    """
    generator = torch.Generator().manual_seed(epoch)
    every_group = torch.tensor([5, 12, 20, 30, 40, 77])

    def draw(texts: int) -> Tensor:
        return torch.randint(4, 78, (texts,), generator=generator)

    backbone.train()
    # the first batch has one text of each length, and the second several
    batches = [every_group, every_group.repeat(2), *(draw(40 + step) for step in range(3))]
    for images, lengths in zip((8, 8, 5, 1, 8), batches, strict=True):
        encode(backbone, images, lengths).backward()
    backbone.eval()
    with torch.no_grad():
        for images, lengths in ((8, every_group), (5, every_group.repeat(2)), (1, draw(17))):
            encode(backbone, images, lengths)
    return graphs()


@pytest.mark.slow
def test_no_graph_is_added_after_the_first_epoch() -> None:
    backbone = Backbone("zoo-tiny", compute=Compute(compile="eager"))
    first, *others = (train_and_validate(backbone, epoch) for epoch in range(3))
    assert_all_compiled()
    assert 8 < first <= 12  # torch keeps 8 unless it is told
    assert others == [first, first]


@pytest.mark.parametrize(
    ("tuning", "chunk", "keys"),
    [
        pytest.param(Tuning(), None, PENULTIMATE, id="plain", marks=pytest.mark.slow),
        pytest.param(Tuning(lora=LoRA(rank=2)), None, NONE, id="lora", marks=pytest.mark.slow),
        pytest.param(Tuning(), 2, NONE, id="chunk"),
    ],
)
def test_towers_have_no_graph_break_and_the_limit_of_graphs_is_that_of_torch_elsewhere(
    tuning: Tuning, chunk: int | None, keys: frozenset[TokenKey]
) -> None:
    limit = torch._dynamo.config.recompile_limit
    backbone = Backbone("zoo-tiny", tuning=tuning, compute=Compute(chunk, compile="eager"))
    batch = uint8_batch()
    assert isinstance(batch.images, Tensor)
    assert isinstance(batch.texts, TextBank)
    images = backbone.encode_images(batch.images, keys)
    texts = backbone.encode_texts(batch.texts, keys)
    (images.pooled.sum() + texts.pooled.sum()).backward()
    assert_all_compiled()
    assert torch._dynamo.config.recompile_limit == limit != GRAPH_LIMIT


@pytest.mark.parametrize("head", [ComCLIP, Cosine, Linear, MaxSim, StructureGuided])
def test_heads_have_no_graph_break_but_for_their_precision(
    head: type[Head], monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone, head_ = Backbone("zoo-tiny"), head()
    head_.attach(backbone.shapes)
    batch, needs = uint8_batch(), head_.needs
    assert isinstance(batch.images, Tensor)
    assert isinstance(batch.texts, TextBank)
    images = backbone.encode_images(batch.images, needs.image_keys)
    texts = backbone.encode_texts(batch.texts, needs.text_keys)

    def scores() -> tuple[Tensor, Tensor]:
        ready: tuple[Encoded, Encoded] = head_.prepare_images(images), head_.prepare_texts(texts)
        rows = torch.arange(3)
        return head_.block(*ready), head_.pairs(*ready, rows, rows + 1)

    # TF32 is a setting of the process, which no graph can hold
    monkeypatch.setattr(zoo.heads.base, "exact_fp32_products", nullcontext)
    expected = scores()
    compiled = torch.compile(scores, backend="eager")()
    torch.testing.assert_close(compiled, expected)
    assert_all_compiled()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune-no-cudagraphs"])
def test_a_mode_of_inductor_changes_no_vector(mode: str) -> None:
    torch.manual_seed(0)
    compiled = Backbone("zoo-tiny", compute=Compute(compile=mode)).eval()
    plain = Backbone("zoo-tiny").eval()
    plain.load_state_dict(compiled.state_dict())
    batch = uint8_batch()
    assert isinstance(batch.images, Tensor)
    with torch.no_grad():
        torch.testing.assert_close(
            compiled.encode_images(batch.images).pooled,
            plain.encode_images(batch.images).pooled,
            rtol=1e-4,
            atol=1e-4,
        )
    assert_all_compiled()
