"""Texts in one sequence without padding have the vectors, tokens and gradients of texts apart."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tests.backbones.test_towers import CAPTIONS, TWISTS, bank, equals_whole_texts, small
from zoo.backbones import packed
from zoo.backbones.backbone import Backbone
from zoo.backbones.lora import LoRA
from zoo.backbones.packed import Packing
from zoo.backbones.settings import Compute, Tuning
from zoo.batch import TextBank, TokenKey
from zoo.errors import ZooError

KEYS = frozenset({TokenKey(-2, norm=False, project=False), TokenKey(-1)})
PLAIN = [twist for twist in TWISTS if twist != "normed queries and keys"]


def tiny(**compute: Any) -> Backbone:
    torch.manual_seed(0)
    return Backbone("zoo-tiny", compute=Compute(**compute))


def given(backbone: Backbone, texts: TextBank) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Vectors, masks and real tokens, and the gradients of a loss of all of them."""
    encoded = backbone.double().encode_texts(texts, KEYS)
    found = {"pooled": encoded.pooled}
    loss = encoded.pooled.softmax(-1).square().sum()
    for key in KEYS:
        found[f"tokens {key}"] = encoded.tokens[key][encoded.masks[key]]
        found[f"mask {key}"] = encoded.masks[key].double()
        loss = loss + found[f"tokens {key}"].sin().sum()
    loss.backward()
    gradients = {n: p.grad for n, p in backbone.named_parameters() if p.grad is not None}
    return found, gradients


@pytest.fixture(scope="module")
def texts_apart() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    backbone = tiny()
    return given(backbone, bank(backbone))


@pytest.mark.parametrize("chunk", [None, 2])
def test_packing_changes_neither_vectors_nor_tokens_nor_gradients(
    chunk: int | None, texts_apart: tuple[dict[str, Tensor], dict[str, Tensor]]
) -> None:
    backbone = tiny(packed=True, chunk=chunk)
    for apart, in_one in zip(texts_apart, given(backbone, bank(backbone)), strict=True):
        assert apart.keys() == in_one.keys()
        for name, expected in apart.items():
            torch.testing.assert_close(in_one[name], expected, rtol=1e-9, atol=1e-9, msg=name)


@pytest.mark.parametrize("twist", PLAIN)
def test_every_kind_of_plain_causal_tower_is_packed_without_a_change(
    tmp_path: Path, twist: str
) -> None:
    backbone = Backbone(small(tmp_path, twist, *TWISTS[twist]), compute=Compute(packed=True))
    equals_whole_texts(backbone, bank(backbone))


def test_blocks_see_real_tokens_alone() -> None:
    backbone, seen = tiny(packed=True), []
    texts = bank(backbone)
    mlp = backbone.model.transformer.resblocks[0].mlp
    mlp.register_forward_hook(lambda _m, args, _o: seen.append(args[0].shape[:-1]))
    backbone.encode_texts(texts)
    assert seen == [(int(texts.lengths.sum()),)]


def test_no_text_at_all_gives_no_vector() -> None:
    backbone = tiny(packed=True)
    texts = bank(backbone, CAPTIONS[:1])
    none = TextBank(texts.ids[:0], texts.lengths[:0], texts.hashes[:0])
    assert backbone.encode_texts(none).pooled.shape == (0, backbone.shapes.width)


def test_what_a_gpu_is_asked_is_attention_within_each_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nested tensors have no attention on a CPU: the product of each text is written out here."""

    def each(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> Tensor:
        assert is_causal
        made = []
        rows = (part.transpose(1, 2).unbind() for part in (query, key, value))
        for q, k, v in zip(*rows, strict=True):
            one = [part.transpose(0, 1) for part in (q, k, v)]
            made.append(attention(*one, is_causal=True).transpose(0, 1))
        offsets = query.transpose(1, 2).offsets()
        return torch.nested.nested_tensor_from_jagged(torch.cat(made), offsets).transpose(1, 2)

    attention = F.scaled_dot_product_attention
    lengths = torch.tensor([3, 1, 5])
    packing = Packing(lengths, lengths, 8)
    torch.manual_seed(0)
    parts = [torch.randn(9, 2, 4, dtype=torch.float64) for _ in range(3)]
    padded = packing.attend(*parts)
    monkeypatch.setattr(packed.F, "scaled_dot_product_attention", each)
    torch.testing.assert_close(packing._attend_nested(*parts), padded)


def test_adapters_outside_of_attention_are_packed_as_well() -> None:
    tuning = Tuning(lora=LoRA(rank=2, targets=("c_fc", "c_proj")))
    torch.manual_seed(0)
    backbone = Backbone("zoo-tiny", tuning=tuning, compute=Compute(packed=True))
    for name, parameter in backbone.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.1)
    equals_whole_texts(backbone, bank(backbone))


REFUSED = {
    "it reads its padding": {"no_causal_mask": True, "pool_type": "last"},
    "it is not open_clip's own": {"embed_cls": True},
    "its attention is not open_clip's plain one": {"qk_norm": True},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_tower_that_cannot_take_packed_texts_says_why(tmp_path: Path, reason: str) -> None:
    kind = {} if "attention" in reason else {"custom_text": True}
    name = small(tmp_path, f"refused{len(reason)}", {}, REFUSED[reason], kind)
    with pytest.raises(ZooError, match=rf"compute.packed: .*since {reason}.*set it to false"):
        Backbone(name, compute=Compute(packed=True))


def test_adapters_on_attention_and_compiled_blocks_are_refused() -> None:
    with pytest.raises(ZooError, match=r"compute.packed: .*has adapters: set it to false"):
        Backbone("zoo-tiny", tuning=Tuning(lora=LoRA()), compute=Compute(packed=True))
    with pytest.raises(ZooError, match=r"compute.compile=eager\): set packed to false"):
        Backbone("zoo-tiny", compute=Compute(packed=True, compile="eager"))
