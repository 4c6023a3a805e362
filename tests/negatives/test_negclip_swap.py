"""NegCLIP's swap: like with like, the rest as it was."""

from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.language.tokens import split_tokens
from zoo.language.text import equal_when_normalized
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.negatives.negclip_swap import NegCLIPSwap, swappable_spans
from zoo.sources.readers.flickr_token import FlickrToken

VOCABULARY = "a the man woman dogs cats red blue quickly very is sitting riding on and near two , ."
captions = st.lists(st.sampled_from(VOCABULARY.split()), max_size=14).map(" ".join)


def swapped(caption: str, n: int = 60) -> set[str | None]:
    return {NegCLIPSwap(TextBlobTagger()).negative(caption, Random(seed)) for seed in range(n)}


def spans_of(caption: str) -> dict[str, list[str]]:
    found = swappable_spans(TextBlobTagger().analyse(caption))
    return {
        category: [caption[a:b] for a, b in spans] for category, spans in found.items() if spans
    }


@settings(deadline=None)
@given(captions, st.integers(0, 5))
def test_a_swap_is_a_permutation_of_the_words_and_another_sentence(caption: str, seed: int) -> None:
    negative = NegCLIPSwap(TextBlobTagger()).negative(caption, Random(seed))
    if negative is not None:
        assert sorted(split_tokens(negative)) == sorted(split_tokens(caption))
        assert not equal_when_normalized(negative, caption)


@settings(deadline=None)
@given(st.text(), st.integers(0, 5))
def test_any_text_at_all_gives_another_sentence_or_none(text: str, seed: int) -> None:
    negative = NegCLIPSwap(TextBlobTagger()).negative(text, Random(seed))
    assert negative is None or (
        sorted(negative) == sorted(text) and not equal_when_normalized(negative, text)
    )


def test_the_six_categories() -> None:
    assert spans_of(
        "A big dog is slowly chasing two small cats, and birds have been sitting there"
    ) == {
        "noun_phrase": ["A big dog", "two small cats"],
        "verb_phrase": ["slowly chasing", "have been sitting"],
        "noun": ["dog"],
        "plural_noun": ["cats", "birds"],
        "adverb": ["slowly"],
        "adjective": ["big", "small"],
    }


def test_noun_phrases_have_three_words_at_least() -> None:
    assert spans_of("a dog near two small cats near the bird")["noun_phrase"] == ["two small cats"]


def test_every_category_is_drawn_and_nothing_else_moves() -> None:
    assert swapped("A big  dog  chases two small cats.") == {
        "two small cats  chases A big  dog.",
        "A small  dog  chases two big cats.",
    }


def test_categories_are_equally_likely_however_many_pairs_they_have() -> None:
    caption = "a man, a woman, a boy, a girl, a horse, a red bus, a blue car"
    adjectives = sum(
        "blue bus" in str(NegCLIPSwap(TextBlobTagger()).negative(caption, Random(seed)))
        for seed in range(900)
    )
    assert 240 < adjectives < 360  # noun phrases, nouns, adjectives: a third each


def test_equal_members_are_not_swapped_with_each_other() -> None:
    assert swapped("a dog and a dog") == {None}
    assert swapped("a dog near a dog near a cat") == {
        "a cat near a dog near a dog",
        "a dog near a cat near a dog",
    }


def test_a_caption_without_two_like_words_has_none() -> None:
    assert swapped("a dog") == {None}
    assert swapped("") == {None}


def test_the_random_state_alone_decides() -> None:
    caption = "A man in a red hat and a woman in a blue coat ride two brown horses"
    assert [NegCLIPSwap(TextBlobTagger()).negative(caption, Random(s)) for s in range(9)] == [
        NegCLIPSwap(TextBlobTagger()).negative(caption, Random(s)) for s in range(9)
    ]
    assert len(swapped(caption)) > 5


def test_nearly_every_real_caption_has_one(shared_data: Path) -> None:
    file = shared_data / "flickr8k" / "Flickr8k.token.txt"
    samples = FlickrToken(file).read()[::50]
    made = [
        NegCLIPSwap(TextBlobTagger()).negative(sample.caption, Random(i))
        for i, sample in enumerate(samples)
    ]
    assert sum(negative is not None for negative in made) > 0.9 * len(samples)


def test_the_tagger_is_named() -> None:
    assert NegCLIPSwap(TextBlobTagger()).describe() == {
        "generator": "negclip_swap",
        **TextBlobTagger().describe(),
    }


def test_equal_words_on_either_side_of_a_mark_are_no_swap() -> None:
    assert NegCLIPSwap(TextBlobTagger()).negative("sitting sitting , sitting", Random(0)) is None


def test_members_of_a_list_change_places_only_as_published() -> None:
    caption = "A black and white dog"
    assert swapped(caption) == {"A white and black dog"}
    assert NegCLIPSwap(TextBlobTagger(), reorder_lists=False).negative(caption, Random(0)) is None
    across = {
        NegCLIPSwap(TextBlobTagger(), reorder_lists=False).negative(
            "A black dog and a white cat", Random(seed)
        )
        for seed in range(30)
    }
    assert across == {"A white dog and a black cat", "A black cat and a white dog"}


def test_swaps_that_say_the_same_are_left_out_on_request_only() -> None:
    caption = "A man next to a woman"
    assert swapped(caption) == {"A woman next to a man"}
    strict = NegCLIPSwap(TextBlobTagger(), skip_equivalent=True)
    assert strict.negative(caption, Random(0)) is None
    caption = "A big white dog chases a small cat"
    made = {strict.negative(caption, Random(seed)) for seed in range(60)}
    assert "A white big dog chases a small cat" in swapped(caption)
    assert made == swapped(caption) - {"A white big dog chases a small cat"}
    assert strict.describe()["skip_equivalent"] == "true"
