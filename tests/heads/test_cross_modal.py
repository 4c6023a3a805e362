import inspect
import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.helpers import (
    CONTEXT,
    PATCHES,
    PREFIX,
    SHAPES,
    WIDTH,
    attached,
    kept,
    random_tokens,
)
from zoo.batch import Encoded, TokenKey, TowerShapes
from zoo.errors import ZooError
from zoo.heads.cross_modal import CrossModal

VIT_B_32 = TowerShapes(
    width=512, image_width=768, text_width=512, patches=49, prefix=1, context=77, scale=100.0
)
SMALL: dict[str, Any] = {"width": 8, "ffn": 16, "layers": 2, "attention_heads": 2}


def small(**arguments: Any) -> CrossModal:
    head = attached(CrossModal(**{**SMALL, "scale": 3.0, **arguments}))
    for parameter in (
        head.encoder.parameters()
    ):  # norms and biases start as ones and zeros, which would hide their place
        parameter.data += 0.1 * torch.randn_like(parameter)
    return head.eval()


def raw(head: CrossModal, n: int = 3, m: int = 4) -> tuple[Encoded, Encoded]:
    patches, patch_mask = random_tokens(0, n, head.image_key, image=True)
    words, word_mask = random_tokens(1, m, head.text_key, image=False)
    images, texts = (
        torch.randn(k, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(k))
        for k in (n, m)
    )
    return Encoded(images, {head.image_key: patches}, {head.image_key: patch_mask}), Encoded(
        texts, {head.text_key: words}, {head.text_key: word_mask}
    )


def prepared(head: CrossModal) -> tuple[Encoded, Encoded]:
    images, texts = raw(head)
    return head.prepare_images(images), head.prepare_texts(texts)


def norm(x: Tensor, layer: torch.nn.LayerNorm) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return (
        centred / (centred.square().mean(-1, keepdim=True) + layer.eps).sqrt() * layer.weight
        + layer.bias
    )


def encoder_layer(x: Tensor, layer: torch.nn.TransformerEncoderLayer) -> Tensor:
    """x: [L, d]. One block, position by position and head by head."""
    attention, size = layer.self_attn, x.shape[1] // layer.self_attn.num_heads

    def attend(x: Tensor) -> Tensor:
        q, k, v = (x @ attention.in_proj_weight.T + attention.in_proj_bias).split(x.shape[1], dim=1)
        rows = []
        for a in range(len(x)):
            parts = []
            for h in range(attention.num_heads):
                of_head = slice(h * size, (h + 1) * size)
                weights = torch.stack(
                    [(q[a, of_head] @ k[b, of_head] / math.sqrt(size)).exp() for b in range(len(x))]
                )
                parts.append(sum(w * v[b, of_head] for b, w in enumerate(weights / weights.sum())))
            rows.append(torch.cat(parts))
        return attention.out_proj(torch.stack(rows))

    def feed(x: Tensor) -> Tensor:
        return layer.linear2(layer.activation(layer.linear1(x)))

    if layer.norm_first:
        x = x + attend(norm(x, layer.norm1))
        return x + feed(norm(x, layer.norm2))
    x = norm(x + attend(x), layer.norm1)
    return norm(x + feed(x), layer.norm2)


def looks(x: Tensor, layer: torch.nn.TransformerEncoderLayer) -> Tensor:
    """How much each position looks at each, the mean over heads, `[L, L]`."""
    attention, n = layer.self_attn, layer.self_attn.num_heads
    inside = norm(x, layer.norm1) if layer.norm_first else x
    q, k, _ = (inside @ attention.in_proj_weight.T + attention.in_proj_bias).split(x.shape[1], 1)
    mean = torch.zeros(len(x), len(x), dtype=x.dtype)
    for q_h, k_h in zip(q.chunk(n, 1), k.chunk(n, 1), strict=True):
        for a in range(len(x)):
            weights = [
                float((q_h[a] @ k_h[b] / math.sqrt(q_h.shape[1])).exp()) for b in range(len(x))
            ]
            for b, weight in enumerate(weights):
                mean[a, b] += weight / sum(weights) / n
    return mean


def sequence(head: CrossModal, images: Encoded, texts: Encoded, i: int, j: int) -> Tensor:
    """What the transformer reads of one pair alone, its real tokens only."""
    if head.granularity == "local":
        patches, words = (
            images.tokens[head.image_key][i],
            texts.tokens[head.text_key][j][texts.masks[head.text_key][j]],
        )
    else:
        patches, words = images.pooled[i : i + 1], texts.pooled[j : j + 1]
    patches = head.image_projection(patches) + head.image_positions
    words = head.text_projection(words) + head.text_positions[: len(words)]
    special = head.special + head.special_positions
    if head.separator == "type":
        patches, words = patches + head.types[0], words + head.types[1]
    return torch.cat([special[:1], patches, special[1:], words])


def formula(head: CrossModal, images: Encoded, texts: Encoded, i: int, j: int) -> Tensor:
    """The score of one pair alone."""
    x = sequence(head, images, texts, i, j)
    for layer in head.encoder:
        x = encoder_layer(x, layer)
    cls = norm(x[0], head.final_norm) if isinstance(head.final_norm, torch.nn.LayerNorm) else x[0]
    return 3.0 * (head.score.weight[0] @ cls + head.score.bias[0])


@pytest.mark.parametrize(
    ("arguments", "training"),
    [
        ({}, True),
        ({"granularity": "global"}, True),
        ({"pre_norm": True, "activation": "gelu"}, False),
        ({"separator": "type"}, False),
        ({"cls_patch": False, "layer": -1, "norm": True}, True),
        ({"layers": 1}, False),
    ],
    ids=str,
)
def test_a_score_is_that_of_the_pair_alone_and_so_are_gradients(
    arguments: dict[str, Any], training: bool
) -> None:
    head = small(dropout=0.0, **arguments).train(training)
    images, texts = raw(head)
    block = head.block(head.prepare_images(images), head.prepare_texts(texts))
    expected = torch.stack(
        [formula(head, images, texts, i, j) for i in range(3) for j in range(4)]
    ).reshape(3, 4)
    torch.testing.assert_close(block, expected, rtol=1e-9, atol=1e-12)
    leaves = [p for p in head.parameters() if p.requires_grad]
    weights = torch.arange(12.0, dtype=torch.float64).cos().reshape(3, 4)
    ours, theirs = (
        torch.autograd.grad((x * weights).sum(), leaves, retain_graph=True)
        for x in (block, expected)
    )
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "arguments",
    [{}, {"pre_norm": True}, {"separator": "type"}, {"cls_patch": False, "layers": 1}],
    ids=str,
)
@torch.no_grad()
def test_what_a_word_looks_at_is_rolled_through_all_blocks(arguments: dict[str, Any]) -> None:
    head = small(**arguments)
    images, texts = raw(head)
    i, j = torch.tensor([2, 0]), torch.tensor([1, 3])
    found = head.word_patch_scores(head.prepare_images(images), head.prepare_texts(texts), i, j)
    assert found is not None
    assert found.shape == (2, CONTEXT, PATCHES)
    for pair, (image, text) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        x = sequence(head, images, texts, image, text)
        rolled = torch.eye(len(x), dtype=x.dtype)
        for layer in head.encoder:
            rolled = (looks(x, layer) + torch.eye(len(x))) / 2 @ rolled
            x = encoder_layer(x, layer)
        words = int(texts.masks[head.text_key][text].sum())
        first = 1 + (PREFIX if head.image_key.prefix else 0)
        wanted = rolled[len(x) - words :, first : first + PATCHES]
        torch.testing.assert_close(found[pair, :words].double(), wanted, rtol=1e-5, atol=1e-6)


def test_pooled_vectors_have_no_words_to_look_with() -> None:
    head = small(granularity="global")
    images, texts = prepared(head)
    assert (
        head.word_patch_scores(images, texts, torch.zeros(1).long(), torch.zeros(1).long()) is None
    )


@pytest.mark.parametrize(
    ("granularity", "expected"), [("local", 13_333_505), ("global", 13_138_433)]
)
def test_the_papers_parameters_are_counted(granularity: str, expected: int) -> None:
    head = CrossModal(granularity=granularity)  # type: ignore[arg-type]
    head.attach(VIT_B_32)
    assert sum(p.numel() for p in head.parameters() if p.requires_grad) == expected


@pytest.mark.parametrize(
    ("arguments", "deviation"),
    [({}, 0.02), ({"init_std": 0.3}, 0.3), ({"init_std": 0.3, "separator": "type"}, 0.3)],
)
def test_what_is_learned_beside_maps_starts_from_its_deviation(
    arguments: dict[str, Any], deviation: float
) -> None:
    torch.manual_seed(0)
    head = CrossModal(layers=1, **arguments)
    head.attach(VIT_B_32)
    learned = [head.special, head.special_positions, head.image_positions, head.text_positions]
    for vectors in [*learned, *([] if head.types is None else [head.types])]:
        assert vectors.std().item() == pytest.approx(deviation, rel=0.15)
        assert abs(vectors.mean().item()) < deviation / 6


def test_defaults_read_what_the_paper_reads() -> None:
    local, pooled = CrossModal(**SMALL), CrossModal(granularity="global", **SMALL)
    assert local.needs.image_keys == {TokenKey(layer=-2, norm=False, project=False, prefix=True)}
    assert local.needs.text_keys == {TokenKey(layer=-2, norm=False, project=False)}
    assert not local.needs.pooled
    assert pooled.needs.pooled
    assert pooled.needs.image_keys == pooled.needs.text_keys == frozenset()


def test_what_the_paper_leaves_open_is_as_torch_has_it_and_no_temperature_is_there() -> None:
    head = attached(CrossModal(layers=1))
    block, theirs = head.encoder[0], inspect.signature(torch.nn.TransformerEncoderLayer).parameters
    assert block.dropout.p == theirs["dropout"].default
    assert block.activation is theirs["activation"].default
    assert block.norm_first == theirs["norm_first"].default
    assert head.scale.item() == 1.0
    assert not head.log_scale.requires_grad


def test_pairs_are_entries_of_the_block_in_any_order() -> None:
    head = small(chunk=3)
    images, texts = prepared(head)
    i, j = torch.tensor([2, 0, 1, 1, 2]), torch.tensor([3, 3, 0, 1, 0])
    torch.testing.assert_close(head.pairs(images, texts, i, j), head.block(images, texts)[i, j])
    assert head.pairs(images, texts, i[:0], j[:0]).shape == (0,)


def test_without_gradients_scores_are_the_same() -> None:
    head = small()
    with torch.no_grad():
        plain = head.block(*prepared(head))
    torch.testing.assert_close(plain, head.block(*prepared(head)).detach())


def test_chunks_change_neither_scores_nor_gradients() -> None:
    results = []
    for chunk in (100, 5, 1):
        head = small(chunk=chunk)
        block = head.block(*prepared(head))
        leaves = [p for p in head.parameters() if p.requires_grad]
        results.append(
            [block, *torch.autograd.grad((block * torch.arange(12.0).reshape(3, 4)).sum(), leaves)]
        )
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            torch.testing.assert_close(a, b)


def test_dropout_is_the_same_when_a_chunk_is_made_again() -> None:
    head = small(dropout=0.5, chunk=5).train()
    images, texts = prepared(head)
    weights = torch.arange(12.0, dtype=torch.float64)

    def loss() -> Tensor:
        torch.manual_seed(3)
        return (head.block(images, texts).flatten() * weights).sum()

    (gradient,) = torch.autograd.grad(loss(), head.score.bias, retain_graph=True)
    (special,) = torch.autograd.grad(loss(), head.special, retain_graph=True)
    assert gradient.item() == pytest.approx(3.0 * weights.sum().item())
    step = 1e-6 * torch.randn_like(head.special)
    before = loss().item()
    head.special.data += step
    assert loss().item() - before == pytest.approx((special * step).sum().item(), rel=1e-3)


def test_activations_of_pairs_are_not_kept() -> None:
    head = small(chunk=4)
    images, texts = prepared(head)
    i, j = torch.arange(3).repeat_interleave(4), torch.arange(4).repeat(3)
    naive = kept(lambda: head._chunk_similarities(images, texts, i, j, CONTEXT))
    assert kept(lambda: head.block(images, texts)) < naive / 20


@pytest.mark.parametrize("granularity", ["local", "global"])
def test_pads_change_nothing(granularity: str) -> None:
    head = small(granularity=granularity)
    images, texts = raw(head)
    words, mask = texts.tokens[head.text_key].detach().clone(), texts.masks[head.text_key]
    words[~mask] = 1e3
    noisy = Encoded(texts.pooled, {head.text_key: words}, texts.masks)
    ready = head.prepare_images(images)
    torch.testing.assert_close(
        head.block(ready, head.prepare_texts(noisy)), head.block(ready, head.prepare_texts(texts))
    )


def test_attended_pads_are_tokens_like_others_and_want_whole_texts() -> None:
    head = small(attend_pads=True)
    images, texts = raw(head)
    mask = texts.masks[head.text_key]
    assert not mask.all()
    whole = Encoded(texts.pooled, texts.tokens, {head.text_key: torch.ones_like(mask)})
    block = head.block(head.prepare_images(images), head.prepare_texts(texts))
    for i, j in itertools.product(range(3), range(4)):
        torch.testing.assert_close(block[i, j], formula(head, images, whole, i, j))
    cut = texts.map(lambda t: t[:, :-1])
    mend = (
        r"set model\.backbone\.text\.lengths to \[\] and data\.features to null.*, or set "
        r"attend_pads to false"
    )
    with pytest.raises(
        ZooError,
        match=f"reads {CONTEXT} text tokens with padding and got {CONTEXT - 1}: {mend}",
    ):
        head.prepare_texts(cut)
    with pytest.raises(ZooError, match=f"this backbone shortens texts: {mend}"):
        CrossModal(attend_pads=True, **SMALL).attach(replace(SHAPES, cuts=True))
    CrossModal(attend_pads=True, granularity="global", **SMALL).attach(replace(SHAPES, cuts=True))
    CrossModal(**SMALL).attach(replace(SHAPES, cuts=True))


def test_other_shapes_than_it_was_made_for_are_refused() -> None:
    head = small()
    images, texts = raw(head)
    with pytest.raises(
        ZooError, match=f"positions for {PATCHES + PREFIX} image tokens and got {PATCHES}"
    ):
        head.prepare_images(images.map(lambda t: t[:, 1:]))
    with pytest.raises(
        ZooError,
        match=f"positions for {CONTEXT} text tokens and got {2 * CONTEXT}: use the context",
    ):
        head.prepare_texts(texts.map(lambda t: torch.cat([t, t], dim=1)))
    with pytest.raises(ZooError, match="returns none"):
        CrossModal(**SMALL).attach(TowerShapes(**{**vars(SHAPES), "patches": None}))
    with pytest.raises(ZooError, match="not a multiple of attention_heads"):
        CrossModal(width=10, attention_heads=4)


OUT_OF_RANGE: list[tuple[str, float]] = [
    *(
        (name, least)
        for name in ("layers", "width", "ffn", "attention_heads", "chunk")
        for least in (0, -1)
    ),
    *(("dropout", share) for share in (-0.1, 1.0, math.nan)),
    *(("init_std", deviation) for deviation in (-0.1, math.inf)),
]


@pytest.mark.parametrize(("name", "value"), OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ZooError, match=rf"CrossModal\({name}={value}\): .*"):
        CrossModal(**{**SMALL, name: value})


def test_half_tokens_are_scored_in_fp32() -> None:
    head = small(scale=1.0).float()
    images, texts = (
        x.map(lambda t: t.detach().bfloat16() if t.is_floating_point() else t) for x in raw(head)
    )
    with torch.autocast("cpu", torch.bfloat16):
        block = head.block(head.prepare_images(images), head.prepare_texts(texts))
    assert block.dtype is torch.float32
    assert not torch.equal(block, block.bfloat16().float())
    whole = head.block(
        *(
            p(x.map(lambda t: t.float() if t.is_floating_point() else t))
            for p, x in ((head.prepare_images, images), (head.prepare_texts, texts))
        )
    )
    torch.testing.assert_close(block, whole, rtol=0.1, atol=0.1)
