"""Replace: one part of the caption for another, and nothing else."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.datamodules.texts import CaptionTexts
from zoo.errors import ZooError
from zoo.language.prepositions import other_prepositions
from zoo.language.text import equal_when_normalized
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.negatives.bigram_shuffle import BigramShuffle
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.negatives.replace import Replace, replaceable_words
from zoo.negatives.table import write_table
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.sources.sample import ImageRef, Sample
from zoo.support.configurable import to_config

ALTERNATIVES = {
    ("dog", "NN"): {"owl": 3.0, "wolf": 1.0},
    ("man", "NN"): {"woman": 1.0},
    ("red", "JJ"): {"orange": 1.0},
    ("chases", "VBZ"): {"eats": 1.0},
    ("park", "NN"): {},
}
VOCABULARY = "a the an man dog red big is chases riding in front of near to , . it"
captions = st.lists(st.sampled_from(VOCABULARY.split()), max_size=14).map(" ".join)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("table") / "t.arrow"
    write_table(file, ALTERNATIVES, **TextBlobTagger().describe(), wordnet="3.0")
    return file


def replaced(table: Path, caption: str, n: int = 200, min_entities: int = 2) -> list[str | None]:
    generator = Replace(table, min_entities)
    return [generator.negative(caption, Random(seed)) for seed in range(n)]


def parts(caption: str) -> list[tuple[str, str | None]]:
    return [(part.text, part.tag) for part in replaceable_words(TextBlobTagger().analyse(caption))]


def test_a_table_from_before_slurs_were_left_out_is_read_with_a_warning(
    table: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert Replace(table).negative("A man sees a dog", Random(0))
    assert "t.arrow was built by a version of zoo that did not leave out slurs" in caplog.text
    caplog.clear()
    write_table(tmp_path / "new.arrow", ALTERNATIVES, tagger="textblob", offensive_words="0a1b")
    Replace(tmp_path / "new.arrow")
    assert caplog.text == ""


def test_heads_modifiers_verbs_and_prepositions_are_parts() -> None:
    assert parts(
        "A big dog has been slowly chasing two soccer balls in front of the parked car"
    ) == [
        ("big", "JJ"),
        ("dog", "NN"),
        ("chasing", "VBG"),
        ("balls", "NNS"),
        ("in front of", None),
        ("parked", "VBN"),
        ("car", "NN"),
    ]


def test_pronouns_auxiliaries_and_the_to_of_an_infinitive_are_none() -> None:
    assert parts("He is trying to catch it") == [("trying", "VBG"), ("catch", "VB")]
    assert parts("A dog is near the man") == [("dog", "NN"), ("near", None), ("man", "NN")]


def test_one_part_changes_in_its_case_with_its_article_and_nothing_else(table: Path) -> None:
    made = set(replaced(table, "A  red dog chases a dog."))
    assert made == {
        "An  orange dog chases a dog.",
        "A  red owl chases a dog.",
        "A  red wolf chases a dog.",
        "A  red dog eats a dog.",
        "A  red dog chases an owl.",
        "A  red dog chases a wolf.",
    }
    assert "AN OWL CHASES THE MAN" in replaced(table, "A DOG CHASES THE MAN")


def test_prepositions_change_whole_and_by_frequency(table: Path) -> None:
    made = replaced(table, "a park in front of a park", 2000)
    assert {f"a park {other} a park" for other in ("in", "on", "with")} <= set(made)
    assert not any("front" in str(text) for text in made)
    weights = other_prepositions("in front of")
    first_draws = weights["in"] / sum(weights.values())
    assert (
        0.8 * first_draws < made.count("a park in a park") / 2000 < 1.05 * first_draws
    )  # a second draw is never the likeliest twice


def test_a_part_has_two_draws_where_it_has_two_alternatives(table: Path) -> None:
    made = replaced(table, "a man chases a dog", 4000)
    assert (
        4000 / 4 * 0.9 < made.count("a woman chases a dog") < 4000 / 4 * 1.1
    )  # one draw of four, as "eats" has
    assert (
        4000 / 2 * 0.95
        < made.count("a man chases an owl") + made.count("a man chases a wolf")
        < 4000 / 2 * 1.05
    )
    assert (
        0.45 < made.count("a man chases an owl") / 2000 < 0.55
    )  # half of the time first, by 3 to 1, half of the time second, by 1 to 3


def test_fewer_noun_phrases_than_asked_for_give_none(table: Path) -> None:
    assert set(replaced(table, "a red dog")) == {None}
    assert set(replaced(table, "a dog", min_entities=1)) == {"an owl", "a wolf"}


def test_a_caption_of_words_without_alternatives_has_none(table: Path) -> None:
    assert set(replaced(table, "a park, a park")) == {None}
    assert set(replaced(table, "")) == {None}


def test_a_word_that_would_give_the_caption_back_is_drawn_again(tmp_path: Path) -> None:
    file = tmp_path / "t.arrow"
    write_table(
        file, {("nice", "JJ"): {"ice": 1.0}, ("dog", "NN"): {"cat": 1.0}}, tagger="textblob"
    )
    assert set(replaced(file, "a nice dog , a park")) == {
        "a nice cat , a park"
    }  # "an ice dog" has the letters of "a nice dog"


@settings(deadline=None)
@given(captions | st.text(), st.integers(0, 5))
def test_whatever_the_caption_what_comes_out_is_another_sentence(
    table: Path, caption: str, seed: int
) -> None:
    negative = Replace(table, 0).negative(caption, Random(seed))
    assert negative is None or not equal_when_normalized(negative, caption)
    assert negative == Replace(table, 0).negative(caption, Random(seed))


def test_captions_of_other_words_than_the_tables_are_refused(table: Path) -> None:
    Replace(table).check(["a red dog chases a man"])
    Replace(table).check([])
    mixed = ["a red dog chases a man"] * 9 + ["a purple cat sees a zebra"]
    with pytest.raises(
        ZooError,
        match=(
            r"4 of 40 words checked are missing \(purple, cat, sees\).*zoo negatives "
            r"build.*max_unknown"
        ),
    ):
        Replace(table).check(mixed)
    Replace(table, max_unknown=0.1).check(mixed)


def test_it_says_what_made_it_and_a_checkpoint_can_name_it(table: Path) -> None:
    described = Replace(table).describe()
    assert described["generator"] == "replace"
    assert described["tagger"] == "textblob"
    assert described["table_wordnet"] == "3.0"
    assert len(described["table_digest"]) == 16
    assert to_config(Replace(table))["init_args"] == {
        "table": str(table),
        "min_entities": 2,
        "max_unknown": 0.05,
        "tagger": None,
    }
    assert Replace(table, tagger=TextBlobTagger()).describe() == described


class OtherTagger(TextBlobTagger):
    name = "other"


def test_a_table_of_another_tagger_is_refused(table: Path, tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"t\.arrow was made with the tagger textblob, not other"):
        Replace(table, tagger=OtherTagger())
    own = tmp_path / "own.arrow"
    write_table(own, ALTERNATIVES, **OtherTagger().describe())
    with pytest.raises(ZooError, match=r"own\.arrow was made with the tagger 'other'"):
        Replace(own)
    assert Replace(own, tagger=OtherTagger()).describe()["tagger"] == "other"


def test_three_generators_give_three_columns_in_order_each_by_its_own_seed(table: Path) -> None:
    generators = [NegCLIPSwap(TextBlobTagger()), Replace(table), BigramShuffle()]
    texts = CaptionTexts(3, generators)
    assert texts.negative_names == ("negclip_swap", "replace", "bigram_shuffle")
    sample = Sample(ImageRef("file", "0.png"), "a man chases a red dog", "0", "0")
    epochs = [texts.negatives(sample, epoch, 0) for epoch in range(8)]
    assert all(len(row) == 3 and None not in row for row in epochs)
    assert epochs[0] == CaptionTexts(3, generators).negatives(sample, 0, 0)
    assert all(len({row[column] for row in epochs}) > 1 for column in (1, 2))
    assert CaptionTexts(3, generators[:2]).negatives(sample, 0, 0) == epochs[0][:2]


def test_real_captions_have_the_parts_that_the_rule_wants(shared_data: Path) -> None:
    samples = FlickrToken(shared_data / "flickr8k" / "Flickr8k.token.txt").read()[::50]
    found = [parts(sample.caption) for sample in samples]
    assert sum(bool(p) for p in found) > 0.99 * len(samples)
    assert sum(any(tag is None for _, tag in p) for p in found) > 0.8 * len(samples)
