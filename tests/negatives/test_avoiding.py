from random import Random

import pytest

from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.negatives import Avoiding, NegativeGenerator
from zoo.negatives.replace import Replace
from zoo.negatives.table import write_table
from zoo.negatives.word_table import replaceable_vocabulary
from zoo.scenes import blocks
from zoo.scenes.graph import ALL_SHAPES, COLORS
from zoo.scenes.grid import BindingGrid, caption_text


class Listed(NegativeGenerator):
    """The texts of a list, one after the other."""

    name = "listed"

    def __init__(self, texts: list[str | None]) -> None:
        self.texts, self.asked = texts, 0

    def negative(self, caption, rng, record=None):
        self.asked += 1
        return self.texts[(self.asked - 1) % len(self.texts)]


@pytest.mark.parametrize(
    ("texts", "expected", "asked"),
    [
        (["a red cube", "two Red  Cubes", "a red cubicle"], "a red cubicle", 3),
        (["a cube is red"], "a cube is red", 1),
        (["a bored cube"], "a bored cube", 1),
        ([None, "a dog"], None, 1),
        (["a red cube"], None, 4),
    ],
)
def test_the_first_negative_that_says_none_of_the_phrases_is_taken(texts, expected, asked):
    generator = Avoiding(Listed(texts), ["red cube", "blue  sphere"], draws=4)
    assert generator.negative("a caption", Random(0)) == expected
    assert generator.generator.asked == asked
    assert generator.describe()["avoids"] == "red cube, blue  sphere"
    assert generator.describe()["generator"] == "avoiding"


def test_words_from_a_table_name_no_binding_that_is_held_out(tmp_path):
    grid, tagger = BindingGrid(), TextBlobTagger()
    captions = [caption_text(caption) for caption in grid.captions["train"][::7]]
    # every colour may become any other, and every shape: more than WordNet's cousins
    found = {
        key: {word: 1.0 for word in (COLORS if key[0] in COLORS else ALL_SHAPES) if word != key[0]}
        for key in replaceable_vocabulary(captions, tagger)
    }
    table = tmp_path / "t.arrow"
    write_table(table, found, **tagger.describe(), wordnet="3.0")
    plain = Replace(table)
    held_out = [f"{color} {shape}" for color, shape in grid.held_out]
    kept = Avoiding(plain, held_out)

    def leaks(generator: NegativeGenerator) -> int:
        made = [generator.negative(caption, Random(caption)) for caption in captions]
        assert sum(one is not None for one in made) > len(captions) / 2
        return sum(any(phrase in one for phrase in held_out) for one in made if one)

    assert len(held_out) == blocks.BLOCK_SIDE**2
    assert leaks(plain) > 5
    assert leaks(kept) == 0


def test_nothing_to_avoid_is_an_error():
    with pytest.raises(ZooError, match="avoids nothing"):
        Avoiding(Listed([]), [" "])
