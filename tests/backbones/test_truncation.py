import pytest

from tests.datamodules.small import CONTEXT, WordTokenizer
from zoo.backbones.truncation import find_truncated


@pytest.mark.parametrize("extra", [-1, 0, 1, 2, 30])
def test_a_caption_is_overlong_only_beyond_the_context(extra):
    captions = ["short one", " ".join(f"word{i}" for i in range(CONTEXT - 2 + extra)), "another"]
    assert find_truncated(captions, WordTokenizer(), chunk=2) == ([1] if extra > 0 else [])


def test_real_captions_beside_a_long_one():
    import open_clip

    tokenizer = open_clip.get_tokenizer("ViT-B-32")

    def tokenize(texts):
        ids = tokenizer(texts)
        return ids, ids.argmax(1) + 1, ids.sum(1)

    exact = " ".join(["dog"] * 75)
    assert find_truncated(
        ["a dog", exact, exact + " dog", "umbrellas " * 74 + "yak-like"], tokenize
    ) == [
        2,
        3,
    ]
