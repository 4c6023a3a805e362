from random import Random

import pytest

from tests.negatives.test_avoiding import Listed
from zoo.negatives import KnownPairs
from zoo.sources import ImageRef, Sample
from zoo.sources.readers.base import Reader


class Captions(Reader):
    def __init__(self, captions: list[str]) -> None:
        self.texts = captions

    def samples(self):
        for k, caption in enumerate(self.texts):
            yield Sample(ImageRef("file", "a.png"), caption, "a.png", str(k))


@pytest.mark.parametrize(
    ("texts", "expected", "asked"),
    [
        (["a red cup", "a blue ball"], "a blue ball", 2),
        (["A Blue cup"], "A Blue cup", 1),
        ([None, "a blue ball"], None, 1),
        (["a red cup", "a cup ball"], None, 4),
    ],
)
def test_the_first_negative_whose_word_pairs_are_in_captions_is_taken(texts, expected, asked):
    captions = Captions(["a red ball", "a blue ball", "the blue cup"])
    generator = KnownPairs(Listed(texts), captions, draws=4)
    assert generator.negative("a caption", Random(0)) == expected
    assert generator.generator.asked == asked
    assert generator.describe()["known_pairs"] == "6"
    assert generator.describe()["generator"] == "known_pairs"
