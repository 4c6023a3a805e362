import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.helpers import SHAPES, WIDTH, attached, kept, random_pooled, random_tokens
from zoo.batch import Encoded, TokenKey
from zoo.errors import ZooError
from zoo.heads.text_conditioned_pooling import PATCHES, TextConditionedPooling


def small(**arguments: Any) -> TextConditionedPooling:
    head = attached(TextConditionedPooling(**{"attention_heads": 2, "scale": 3.0, **arguments}))
    for parameter in (p for name, p in head.named_parameters() if "." in name):
        parameter.data += 0.3 * torch.randn_like(parameter)  # norms and offsets start trivial
    return head


def raw(n: int = 3, m: int = 4) -> tuple[Encoded, Encoded]:
    """Returns images, the second with one patch fewer, and texts."""
    patches, mask = random_tokens(0, n, PATCHES, image=True)
    mask[1, -1] = False
    return Encoded(random_pooled(2, n), {PATCHES: patches}, {PATCHES: mask}), Encoded(
        random_pooled(1, m)
    )


def prepared(head: TextConditionedPooling) -> tuple[Encoded, Encoded]:
    images, texts = raw()
    return head.prepare_images(images), head.prepare_texts(texts)


def formula(head: TextConditionedPooling, patches: Tensor, text: Tensor) -> Tensor:
    """Returns the score of one text `[D]` and the real patches `[P, D]` of one image, by loops."""
    q_map, k_map, v_map = zip(
        head.attn.in_proj_weight.split(WIDTH), head.attn.in_proj_bias.split(WIDTH), strict=True
    )
    query = q_map[0] @ head.ln_q(text) + q_map[1]
    keys = [k_map[0] @ head.ln_k(patch) + k_map[1] for patch in patches]
    values = [v_map[0] @ head.ln_v(patch) + v_map[1] for patch in patches]
    size, parts = WIDTH // head.attention_heads, []
    for h in range(head.attention_heads):
        own = slice(h * size, (h + 1) * size)
        weights = [(query[own] @ key[own] / math.sqrt(size)).exp() for key in keys]
        seen = sum(w * value[own] for w, value in zip(weights, values, strict=True))
        parts.append(seen / (1 + sum(weights)))  # exp(0) of the empty token, whose value is 0
    pooled = head.attn.out_proj.weight @ torch.cat(parts) + head.attn.out_proj.bias
    return head.scale * (pooled @ text) / pooled.norm() / text.norm()


def test_a_score_is_that_of_the_pair_alone_and_so_are_gradients() -> None:
    head = small()
    images, texts = raw()
    block = head.block(head.prepare_images(images), head.prepare_texts(texts))
    expected = torch.stack(
        [
            formula(head, images.tokens[PATCHES][i][images.masks[PATCHES][i]], texts.pooled[j])
            for i in range(3)
            for j in range(4)
        ]
    ).reshape(3, 4)
    torch.testing.assert_close(block, expected, rtol=1e-9, atol=1e-12)
    leaves = [*head.parameters(), images.tokens[PATCHES], texts.pooled]
    weights = torch.arange(12.0, dtype=torch.float64).cos().reshape(3, 4)
    ours, theirs = (torch.autograd.grad((x * weights).sum(), leaves) for x in (block, expected))
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-9)


@torch.no_grad()
def test_it_is_torchs_attention_with_a_zero_token() -> None:
    """FLAIR's public code calls this layer of torch for all texts of an image."""
    head = small(attention_heads=3)
    images, texts = raw()
    layer = nn.MultiheadAttention(WIDTH, 3, batch_first=True, add_zero_attn=True).double()
    layer.load_state_dict(head.attn.state_dict())
    patches = images.tokens[PATCHES]
    pooled, _ = layer(
        head.ln_q(texts.pooled).expand(3, -1, -1),
        head.ln_k(patches),
        head.ln_v(patches),
        key_padding_mask=~images.masks[PATCHES],
    )
    expected = 3.0 * nn.functional.cosine_similarity(pooled, texts.pooled, dim=-1)
    block = head.block(head.prepare_images(images), head.prepare_texts(texts))
    torch.testing.assert_close(block, expected)


def test_it_reads_projected_patches_without_cls_and_pooled_texts() -> None:
    needs = TextConditionedPooling().needs
    assert needs.image_keys == {TokenKey(layer=-1, norm=True, project=True, prefix=False)}
    assert not needs.text_keys
    assert (needs.pooled, needs.pooled_texts) == (False, True)


def test_pairs_are_entries_of_the_block_in_any_order() -> None:
    head = small()
    images, texts = prepared(head)
    i, j = torch.tensor([2, 0, 1, 1, 2]), torch.tensor([3, 3, 0, 1, 0])
    torch.testing.assert_close(head.pairs(images, texts, i, j), head.block(images, texts)[i, j])
    assert head.pairs(images, texts, i[:0], j[:0]).shape == (0,)


def test_chunks_change_neither_scores_nor_gradients() -> None:
    results = []
    for chunk in (32, 0):
        head = small()
        head.chunk = chunk  # 0: as if one column, one pair filled it
        images, texts = prepared(head)
        i, j = torch.tensor([2, 0, 1]), torch.tensor([3, 3, 0])
        scores = torch.cat([head.block(images, texts).flatten(), head.pairs(images, texts, i, j)])
        weighted = (scores * torch.arange(15)).sum()
        results.append([scores, *torch.autograd.grad(weighted, list(head.parameters()))])
    for whole, chunked in zip(*results, strict=True):
        torch.testing.assert_close(whole, chunked)


def test_what_is_computed_per_pair_is_not_kept() -> None:
    head = small()
    images, texts = prepared(head)
    both, mask = images.tokens[PATCHES], images.masks[PATCHES]
    naive = kept(lambda: head._similarity(both, mask, texts.pooled[None]))
    assert kept(lambda: head.block(images, texts)) < naive / 3


def test_half_tokens_are_compared_in_fp32_also_where_autocast_ends_between() -> None:
    head = small().float()
    images, texts = (
        side.map(lambda t: t.detach().bfloat16() if t.is_floating_point() else t) for side in raw()
    )
    with torch.autocast("cpu", torch.bfloat16):
        both = head.prepare_images(images), head.prepare_texts(texts)
        under = head.block(*both)
    outside = head.block(*both)
    whole = head.block(
        head.prepare_images(images.map(lambda t: t.float() if t.is_floating_point() else t)),
        head.prepare_texts(texts),
    )
    for block in (under, outside):
        assert block.dtype is torch.float32
        assert not torch.equal(block, block.bfloat16().float())
        torch.testing.assert_close(block, whole, rtol=0.05, atol=0.05)


def test_a_backbone_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ZooError, match="this backbone's image tower returns none: use a ViT"):
        TextConditionedPooling().attach(replace(SHAPES, patches=None))
    with pytest.raises(ZooError, match="the width of the backbone's vectors, 6, is not a multiple"):
        TextConditionedPooling(attention_heads=4).attach(SHAPES)


def published(head: TextConditionedPooling, prefix: str = "") -> dict[str, Tensor]:
    pooling = {f"visual_proj.{n}": t for n, t in head.state_dict().items() if "." in n}
    others = {"logit_scale": torch.tensor(2.0), "logit_bias": torch.tensor(-9.0)}
    others["image_post.proj"] = torch.zeros(1)
    return {prefix + name: tensor for name, tensor in (pooling | others).items()}


@pytest.mark.parametrize("prefix", ["", "module."])
def test_published_weights_are_read_with_their_scale_and_bias(tmp_path: Path, prefix: str) -> None:
    trained = small()
    state = published(trained, prefix)
    torch.save({"state_dict": state} if prefix else state, tmp_path / "flair.pt")
    head = attached(TextConditionedPooling(2, weights=str(tmp_path / "flair.pt")), seed=1)
    assert head.scale.item() == pytest.approx(math.exp(2.0))
    assert head.bias is not None
    assert head.bias.item() == -9.0
    for name in ("attn.in_proj_weight", "attn.out_proj.bias", "ln_q.weight", "ln_v.bias"):
        torch.testing.assert_close(head.state_dict()[name], trained.state_dict()[name])


def test_files_that_do_not_hold_the_pooling_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "other.pt"

    def attach() -> None:
        attached(TextConditionedPooling(2, weights=str(file)))

    with pytest.raises(ZooError, match=r"other\.pt\): the file does not exist"):
        attach()
    state = published(small())
    torch.save({n: t for n, t in state.items() if n != "logit_bias"}, file)
    with pytest.raises(ZooError, match="the file has no logit_bias, and is not a file of FLAIR's"):
        attach()
    torch.save({n: t for n, t in state.items() if "visual" not in n}, file)
    with pytest.raises(ZooError, match=r"the file has no visual_proj\., and is not"):
        attach()
    torch.save(state | {"visual_proj.ln_q.weight": torch.zeros(7)}, file)
    with pytest.raises(ZooError, match=r"visual_proj\.ln_q\.weight is missing or of another size"):
        attach()
