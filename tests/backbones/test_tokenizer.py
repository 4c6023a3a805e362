"""Tokens, where texts end, and hashes that other processes agree with."""

import pickle
import sys
from pathlib import Path

import pytest
import torch

from tests.backbones.test_towers import hugging_face
from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import TextInput
from zoo.backbones.tokenizer import TextEnd, Tokenizer
from zoo.backbones.truncation import find_truncated
from zoo.errors import ZooError


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Backbone("zoo-tiny").tokenizer


def test_lengths_count_both_special_tokens(tokenizer: Tokenizer) -> None:
    ids, lengths, hashes = tokenizer(["a dog", "", "a dog on a mat!"])
    assert ids.dtype == hashes.dtype == torch.long
    assert ids.shape == (3, 77)
    assert lengths.tolist() == [4, 2, 8]
    assert ids[torch.arange(3), lengths - 1].tolist() == [49407] * 3


def test_a_text_is_overlong_from_the_first_token_that_is_lost(tokenizer: Tokenizer) -> None:
    assert find_truncated(["dog " * 75, "dog " * 76, "dog"], tokenizer) == [1]
    assert tokenizer(["dog " * 76])[1].tolist() == [77]


def test_equal_texts_have_equal_hashes_in_every_process(tokenizer: Tokenizer) -> None:
    _, _, hashes = tokenizer(["a dog", "a cat", "A dog "])
    assert hashes[0] == hashes[2] != hashes[1]
    assert hashes[0] == -2807985840134601730  # as another process printed it


def test_it_survives_being_pickled_and_takes_no_text_at_all(tokenizer: Tokenizer) -> None:
    again = pickle.loads(pickle.dumps(tokenizer))
    for ours, theirs in zip(again(["a dog"]), tokenizer(["a dog"]), strict=True):
        assert torch.equal(ours, theirs)
    assert [t.shape[0] for t in tokenizer([])] == [0, 0, 0]


@pytest.mark.parametrize(
    ("end", "row", "length"),
    [
        (TextEnd(), [5, 7, 9, 0, 0], 3),
        (TextEnd(token=1), [5, 9, 1, 1, 1], 3),
        (TextEnd(token=1), [5, 9, 1, 0, 0], 3),
        (TextEnd(padding=0), [5, 9, 2, 0, 0], 3),
        (TextEnd(padding=0), [5, 0, 2, 4, 6], 5),
    ],
)
def test_texts_end_where_their_tower_says(end: TextEnd, row: list[int], length: int) -> None:
    assert end.lengths(torch.tensor([row])).tolist() == [length]


def test_a_folders_tokenizer_replaces_the_architectures_own(tmp_path: Path) -> None:
    backbone = hugging_face(tmp_path, "mean_pooler")
    ids, lengths, _ = backbone.tokenizer(["a b dog", "a"])
    assert lengths.tolist() == [5, 3]
    assert ids.shape == (2, 40)
    assert find_truncated(["a " * 38, "a " * 39], backbone.tokenizer) == [1]
    with pytest.raises(ZooError, match="cannot be loaded"):
        _ = Backbone("zoo-tiny", text=TextInput(str(tmp_path / "absent"))).tokenizer


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ZooError, match=r"not installed: pip install 'clip-zoo\[hf\]'"):
        _ = Backbone("zoo-tiny", text=TextInput("folder")).tokenizer
