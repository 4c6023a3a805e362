"""Sentences of long captions, single or merged."""

from collections import Counter, defaultdict
from random import Random

import pytest

from zoo.errors import ZooError
from zoo.language.text import split_sentences
from zoo.positives.sub_captions import SubCaptions

CAPTIONS = ["A cat sleeps. It is grey.", "Rain falls\nA bus waits</s> The bus is red."]
SENTENCES = ["A cat sleeps", "It is grey", "Rain falls", "A bus waits", "The bus is red"]
DRAWS = 20_000


def draw_all(generator: SubCaptions, captions: list[str], n: int = DRAWS) -> Counter[str | None]:
    rng = Random(0)
    return Counter(generator.positive(captions[0], captions, rng) for _ in range(n))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_each_text_is_as_frequent_as_in_a_loop_over_the_scheme(share: float) -> None:
    expected: dict[str | None, float] = defaultdict(float)
    for n in (1, 2, 3):  # equally likely numbers of sentences
        runs = [SENTENCES[i : i + n] for i in range(len(SENTENCES) - n + 1)]
        ordered: list[list[str]] = [[]]
        for _ in range(n):  # ordered draws without repetition
            ordered = [[*head, s] for head in ordered for s in SENTENCES if s not in head]
        if n == 1:
            runs = ordered
        for lists, weight in ((runs, share), (ordered, 1 - share)):
            for sentences in lists:
                expected[". ".join(sentences)] += weight / 3 / len(lists)
    caption = expected.pop("A cat sleeps. It is grey")
    expected[None] = caption  # the caption itself is not drawn
    counts = draw_all(SubCaptions(consecutive_share=share), CAPTIONS)
    assert {text for text, p in expected.items() if p > 0} >= counts.keys()
    for text, probability in expected.items():
        margin = 5 * (DRAWS * probability) ** 0.5  # five standard deviations
        assert abs(counts[text] - DRAWS * probability) <= margin, text


def test_sentences_are_those_of_the_caption_or_of_all_captions_of_the_image() -> None:
    single = draw_all(SubCaptions(max_sentences=1, pool="caption"), CAPTIONS, 200)
    assert single.keys() == set(SENTENCES[:2])
    assert draw_all(SubCaptions(max_sentences=1), CAPTIONS, 400).keys() == set(SENTENCES)


def test_an_image_with_fewer_sentences_gives_all_of_them_or_repeats_some() -> None:
    captions = ["Long. Cat."]
    assert draw_all(SubCaptions(5, 1.0), captions, 400).keys() == {"Long", "Cat", None}
    texts = draw_all(SubCaptions(5, 0.0), captions, 400)
    assert max(len(text.split(". ")) for text in texts if text) == 5
    assert draw_all(SubCaptions(), [" . "], 5) == {None: 5}


def test_a_sentence_ends_at_a_full_stop_a_line_break_or_an_end_token() -> None:
    assert split_sentences("".join(CAPTIONS)) == SENTENCES
    assert split_sentences("It costs 2.50. Why? ") == ["It costs 2", "50", "Why?"]


def test_captions_of_one_sentence_are_refused_unless_an_image_has_several() -> None:
    short, images = ["A cat.", "A dog"], {"1": ["A cat.", "A dog"]}
    SubCaptions().check(short, images)
    SubCaptions(pool="caption").check(CAPTIONS, {})
    with pytest.raises(ZooError, match="every caption is one sentence"):
        SubCaptions(pool="caption").check(short, images)
    with pytest.raises(ZooError, match="every caption is one sentence"):
        SubCaptions().check(short, {"1": ["A cat."], "2": ["A dog"]})
