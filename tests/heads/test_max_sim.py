from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.support.helpers import attached, kept, random_tokens
from zoo.batch import Encoded, TokenKey
from zoo.errors import ZooError
from zoo.heads.max_sim import MaxSim


def items(seed: int, n: int, key: TokenKey, image: bool) -> Encoded:
    tokens, mask = random_tokens(seed, n, key, image)
    return Encoded(torch.zeros(n, 0), {key: tokens}, {key: mask})


def prepared(head: MaxSim) -> tuple[Encoded, Encoded, Encoded, Encoded]:
    """Returns raw and prepared images and texts.

    Image 1 has one patch fewer, in whose place stands the best of all for a word.
    """
    images, texts = items(0, 3, head.image_key, image=True), items(1, 4, head.text_key, image=False)
    images.masks[head.image_key][1, -1] = False
    images.tokens[head.image_key].data[1, -1] = texts.tokens[head.text_key].data[0, 1]
    return images, texts, head.prepare_images(images), head.prepare_texts(texts)


@pytest.mark.parametrize("start_token", [False, True])
@pytest.mark.parametrize("cls_patch", [False, True])
def test_each_word_finds_its_best_patch(start_token: bool, cls_patch: bool) -> None:
    head = attached(MaxSim(start_token=start_token, cls_patch=cls_patch, scale=3.0))
    images, texts, *both = prepared(head)
    block = head.block(*both)
    for i in range(3):
        for j in range(4):
            patches = images.tokens[head.image_key][i][images.masks[head.image_key][i]]
            words = texts.tokens[head.text_key][j][texts.masks[head.text_key][j]][
                0 if start_token else 1 :
            ]
            best = [max((w @ p / w.norm() / p.norm()).item() for p in patches) for w in words]
            assert block[i, j].item() == pytest.approx(3 * sum(best) / len(best), rel=1e-9)


@pytest.mark.parametrize("cls_patch", [False, True])
def test_words_and_patches_are_the_cosines_without_the_cls_patch(cls_patch: bool) -> None:
    head = attached(MaxSim(cls_patch=cls_patch))
    images, texts, *both = prepared(head)
    i, j = torch.tensor([2, 0]), torch.tensor([3, 1])
    found = head.word_patch_scores(*both, i, j)
    assert found is not None
    for pair in range(2):
        patches = images.tokens[head.image_key][i[pair]][head.prefix if cls_patch else 0 :]
        words = texts.tokens[head.text_key][j[pair]]
        assert found.shape[1:] == (len(words), len(patches))
        for w, word in enumerate(words):
            for p, patch in enumerate(patches):
                cosine = (word @ patch / word.norm() / patch.norm()).item()
                assert found[pair, w, p].item() == pytest.approx(cosine, rel=1e-9)


def test_pairs_are_entries_of_the_block() -> None:
    head = attached(MaxSim())
    *_, images, texts = prepared(head)
    i, j = torch.tensor([2, 0, 1, 1]), torch.tensor([3, 3, 0, 1])
    torch.testing.assert_close(head.pairs(images, texts, i, j), head.block(images, texts)[i, j])


def test_chunks_change_neither_scores_nor_gradients() -> None:
    results = []
    for chunk in (32, 0):
        head = attached(MaxSim())
        head.chunk = chunk  # 0: as if one column, one pair filled it
        raw, raw_texts, images, texts = prepared(head)
        scores = torch.cat(
            [
                head.block(images, texts).flatten(),
                head.pairs(images, texts, torch.tensor([0, 1]), torch.tensor([2, 3])),
            ]
        )
        leaves = [raw.tokens[head.image_key], raw_texts.tokens[head.text_key]]
        results.append([scores, *torch.autograd.grad((scores * torch.arange(14)).sum(), leaves)])
    for whole, chunked in zip(*results, strict=True):
        torch.testing.assert_close(whole, chunked)


def test_padding_changes_nothing() -> None:
    head = attached(MaxSim())
    _, texts, images, ready = prepared(head)
    longer = texts.tokens[head.text_key].detach().clone()
    longer[~texts.masks[head.text_key]] = 1e6
    other = head.prepare_texts(Encoded(texts.pooled, {head.text_key: longer}, texts.masks))
    torch.testing.assert_close(head.block(images, ready), head.block(images, other))


def test_a_text_of_no_word_scores_zero_and_breaks_no_gradient() -> None:
    head = attached(MaxSim())
    images, texts = items(0, 3, head.image_key, image=True), items(1, 4, head.text_key, image=False)
    texts.masks[head.text_key][2, 1:] = False
    block = head.block(head.prepare_images(images), head.prepare_texts(texts))
    assert block[:, 2].tolist() == [0.0] * 3
    (gradient,) = torch.autograd.grad(block.sum(), texts.tokens[head.text_key])
    assert gradient.isfinite().all()


def test_half_tokens_are_scored_in_fp32_also_under_autocast() -> None:
    head = attached(MaxSim())
    raw, raw_texts, *_ = prepared(head)
    i, j = torch.tensor([2, 0, 1, 1]), torch.tensor([3, 3, 0, 1])

    def scores(dtype: torch.dtype) -> list[Tensor]:
        images, texts = (
            side.map(lambda t: t.bfloat16().to(dtype) if t.is_floating_point() else t)
            for side in (raw, raw_texts)
        )
        both = head.prepare_images(images), head.prepare_texts(texts)
        return [head.block(*both), head.pairs(*both, i, j)]

    with torch.autocast("cpu", torch.bfloat16):
        found = scores(torch.bfloat16)
    for half, whole in zip(found, scores(torch.float64), strict=True):
        assert half.dtype is torch.float32
        torch.testing.assert_close(half.double(), whole, rtol=1e-5, atol=1e-5)


class Largest(TorchDispatchMode):
    """Knows how many numbers the largest tensor had that was made."""

    n = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        if isinstance(made, Tensor):
            self.n = max(self.n, made.numel())
        return made


def test_no_more_similarities_are_held_at_once_than_asked_for() -> None:
    """Each of 40 images and 60 texts makes 1,000 similarities.

    One million are 25 texts with all images, or 1,000 pairs.
    """
    head = attached(MaxSim(chunk=1))
    sides = [
        Encoded(
            torch.zeros(n, 0),
            {key: torch.randn(n, length, 6, dtype=torch.float64)},
            {key: torch.ones(n, length, dtype=torch.bool)},
        )
        for n, length, key in ((40, 50, head.image_key), (60, 20, head.text_key))
    ]
    images, texts = head.prepare_images(sides[0]), head.prepare_texts(sides[1])
    i, j = torch.arange(40).repeat_interleave(60), torch.arange(60).repeat(40)
    with Largest() as of_block:
        block = head.block(images, texts)
    with Largest() as of_pairs:
        pairs = head.pairs(images, texts, i, j)
    torch.testing.assert_close(pairs, block.flatten())
    assert of_block.n == of_pairs.n == 1_000_000


def test_similarities_are_not_kept() -> None:
    head = attached(MaxSim())
    *_, images, texts = prepared(head)
    i, j = torch.arange(3).repeat_interleave(4), torch.arange(4).repeat(3)
    similarities = (
        12 * images.tokens[head.image_key].shape[1] * texts.tokens[head.text_key].shape[1]
    )
    assert kept(lambda: head.block(images, texts)) < similarities
    assert kept(lambda: head.pairs(images, texts, i, j)) < similarities


def test_it_reads_tokens_alone() -> None:
    head = MaxSim(layer=-2, cls_patch=True)
    assert head.needs.image_keys == {TokenKey(layer=-2, prefix=True)}
    assert head.needs.text_keys == {TokenKey(layer=-2)}
    assert not head.needs.pooled


def test_a_chunk_of_nothing_is_refused() -> None:
    with pytest.raises(ZooError, match=r"MaxSim\(chunk=0\): give a whole number from 1 up"):
        MaxSim(chunk=0)
