import random

import pytest

from tests.datamodules.small import CONTEXT, WordTokenizer
from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import TextInput
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


def random_texts():
    """Short texts of printable ASCII and entities of HTML, which cleaning may lengthen."""
    draw = random.Random(0)
    pieces = [*map(chr, range(32, 127)), "\n", "\t", "\x1b[0m", "&nGt;", "&amp;", "é", "İ", "ﬁ"]
    lengths = (draw.randint(0, 14) for _ in range(4000))
    return ["".join(draw.choices(pieces, k=n)) for n in lengths] + ["İİİİİİİİ"]


def test_a_text_that_certainly_fits_is_never_truncated():
    tokenizer = Backbone("zoo-tiny", text=TextInput(context_length=12)).tokenizer
    texts = random_texts()
    fit = [text for text in texts if tokenizer.certainly_fits(text)]
    assert len(fit) > 1000
    assert all(len(tokenizer.inner.encode(text)) + 2 <= 12 for text in fit)


def test_texts_that_certainly_fit_are_not_tokenized(monkeypatch):
    tokenizer = Backbone("zoo-tiny", text=TextInput(context_length=12)).tokenizer
    texts = ["a dog", "two &amp; two", "İİİİİİ", "dog " * 11, "dog " * 10, "a cat"]
    expected = find_truncated(texts, lambda part: tokenizer(part))
    tokenized = []
    monkeypatch.setattr(
        type(tokenizer), "_ids", lambda self, part: tokenized.extend(part) or self.inner(part, 12)
    )
    assert find_truncated(texts, tokenizer) == expected == [3]
    assert set(texts) - set(tokenized) == {"a dog", "a cat"}
