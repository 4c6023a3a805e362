import pytest
import torch

from tests.helpers import attached, random_tokens
from zoo.batch import Encoded, TokenKey
from zoo.errors import ZooError
from zoo.heads.max_sim import MaxSim


def items(seed: int, n: int, key: TokenKey, image: bool) -> Encoded:
    tokens, mask = random_tokens(seed, n, key, image)
    return Encoded(torch.zeros(n, 0), {key: tokens}, {key: mask})


def prepared(head: MaxSim) -> tuple[Encoded, Encoded, Encoded, Encoded]:
    """Returns raw and prepared images and texts; image 1 has one patch fewer than the others."""
    images, texts = items(0, 3, head.image_key, image=True), items(1, 4, head.text_key, image=False)
    images.masks[head.image_key][1, -1] = False
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


def test_it_reads_tokens_alone() -> None:
    head = MaxSim(layer=-2, cls_patch=True)
    assert head.image_keys == {TokenKey(layer=-2, prefix=True)}
    assert head.text_keys == {TokenKey(layer=-2)}
    assert not head.uses_pooled


def test_a_chunk_of_nothing_is_refused() -> None:
    with pytest.raises(ZooError, match=r"MaxSim\(chunk=0\): give a whole number from 1 up"):
        MaxSim(chunk=0)
