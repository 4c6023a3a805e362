"""Small edits of a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.language.tokens import split_tokens
from zoo.language.text import (
    attach_punctuation,
    choose_article,
    correct_article,
    differ_only_in_list_order,
    equal_when_normalized,
    match_case,
    replace_spans,
)

AN = "apple umbrella hour honest heir SUV MP3 X-ray 8 18 80-year A uninformed only oven urn"
A = "dog house unicorn uniform used useful one-way once euro UFO 180 12 European banana"


def test_case_spacing_and_marks_make_no_other_sentence() -> None:
    assert equal_when_normalized("A dog, a cat.", "a dog a  cat .")
    assert not equal_when_normalized("a dog and a cat", "a cat and a dog")


def test_spans_are_replaced_in_any_order_and_spacing_stays() -> None:
    assert (
        replace_spans("a  red dog .", [(7, 10, "bird"), (3, 6, "very blue")])
        == "a  very blue bird ."
    )
    assert replace_spans("dog", []) == "dog"


def test_marks_are_put_back_beside_their_words() -> None:
    assert (
        attach_punctuation("a man 's hat , ( red ) ; it ’s 5 % .") == "a man's hat, (red); it’s 5%."
    )


@given(st.lists(st.sampled_from(["a", "man", "'s", "don't", ",", ".", "(", ")", "dog", "t-shirt"])))
def test_putting_marks_back_changes_nothing_but_spaces(drawn: list[str]) -> None:
    assert "".join(attach_punctuation(" ".join(drawn)).split()) == "".join(drawn)


@pytest.mark.parametrize("word", AN.split())
def test_an(word: str) -> None:
    assert choose_article(word) == "an"


@pytest.mark.parametrize("word", A.split())
def test_a(word: str) -> None:
    assert choose_article(word) == "a"


def test_only_the_article_right_before_is_mended_and_its_case_kept() -> None:
    assert correct_article("A apple on a  apple", 2) == "An apple on a  apple"
    assert correct_article("A apple on a  apple", 14) == "A apple on an  apple"
    assert correct_article("the banana apple", 11) == "the banana apple"
    assert correct_article("A APPLE", 2) == "AN APPLE"


def test_case_follows_what_is_replaced() -> None:
    assert [match_case("red dog", old) for old in ("cat", "Cat", "CAT", "A")] == [
        "red dog",
        "Red dog",
        "RED DOG",
        "Red dog",
    ]


@given(st.text(alphabet="ab ,.'s-"))
def test_same_words_is_blind_to_how_tokens_are_joined(text: str) -> None:
    assert equal_when_normalized(text, " ".join(split_tokens(text)))


@pytest.mark.parametrize(
    ("caption", "other"),
    [
        ("A black and white dog runs .", "A white and black dog runs ."),
        ("A man, a woman and a dog", "a dog, a woman and a man"),
        ("a red, white or blue hat", "a red, blue or white hat"),
        ("the small, brown dog", "the brown, small dog"),
        ("a big black and white dog", "a big white and black dog"),
        ("a red and a blue ball", "a blue and a red ball"),
        ("two dogs and two cats", "two cats and two dogs"),
        ("a man with dogs and some cats", "a man with cats and some dogs"),
        ("a brown dog and a swan", "a swan and a brown dog"),
    ],
)
def test_members_of_a_list_in_another_order_say_the_same(caption: str, other: str) -> None:
    assert differ_only_in_list_order(caption, other)


@pytest.mark.parametrize(
    ("caption", "other"),
    [
        ("a black dog and a white cat", "a white dog and a black cat"),
        ("a dog runs and a cat sleeps", "a dog sleeps and a cat runs"),
        ("a man with a dog and a cat", "a cat with a dog and a man"),
        ("a dog chases a cat", "a cat chases a dog"),
        ("a brown dog and a swan", "a brown swan and a dog"),
        ("Two tall men , two dogs and a cat", "two tall dogs , two men and a cat"),
        ("a boy in a wet shirt or a hat", "a boy in a wet hat or a shirt"),
        ("a dog", "a dog"),
    ],
)
def test_whose_is_what_is_no_matter_of_order(caption: str, other: str) -> None:
    assert not differ_only_in_list_order(caption, other)
