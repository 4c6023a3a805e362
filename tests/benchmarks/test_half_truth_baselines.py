"""What is guessed of half-truths without their images, in numbers worked by hand."""

import pytest

from zoo.benchmarks.base import Case
from zoo.benchmarks.half_truth.baselines import Corpus, text_only_baselines
from zoo.benchmarks.half_truth.case_file import half_truth_case
from zoo.sources.sample import ImageRef

CAPTIONS = ["A dog chases a red ball .", "the dog chases a cat", "a red car", "two dogs"]


def of(condition: str, anchor: str, half_truth: str, truth: str) -> Case:
    return half_truth_case(
        condition, "1", ImageRef("coco", "1"), (anchor, half_truth, truth), "paper"
    )


CASES = [
    of("+Obj", "dog", "dog and red ball", "dog and red car"),  # longer, and as frequent a phrase
    of("+Obj", "dog", "dog and cat", "dog and a wolf"),  # shorter, and more frequent
    of("+Obj", "dog", "dog and owl", "dog and fox"),  # as long, and both unheard of
    of("Swap", "dog", "cat chases dog", "dog chases cat"),  # the relation stands alone
    of("Subj", "dog", "a cow", "dog and dog chases cat"),  # the anchor is no part of it
]


def test_the_longer_text_wins_loses_and_ties() -> None:
    found = text_only_baselines(CASES)
    assert list(found) == ["longer text"]
    longer = found["longer text"]
    # 15 letters against 16, 14 against 11, 11 against 11
    assert longer["+Obj"] == {"half_truth": 0.0, "completion": pytest.approx(100 * 1.5 / 3)}
    assert longer["Swap"] == {"half_truth": 0.0, "completion": 50.0}
    assert longer["Subj"] == {"half_truth": 0.0, "completion": 100.0}


def test_the_more_frequent_addition_is_taken_for_the_true_one() -> None:
    corpus = text_only_baselines(CASES, CAPTIONS)["corpus"]
    # "red ball" and "red car" stand in one caption each, as "ball" and "car" do: a tie;
    # "cat" is more frequent than "wolf": wrong; "owl" and "fox" are in none: a tie
    assert corpus["+Obj"] == {"completion": pytest.approx(100 / 3)}
    assert corpus["Swap"] == {"completion": 100.0}
    assert corpus["Subj"] == {"completion": 100.0}


def test_what_is_added_is_asked_about_and_not_the_whole_text() -> None:
    captions = ["a dog and an owl", "a ball", "a red ball"]
    asked = [of("+Obj", "dog", "dog and owl", "dog and ball")]
    assert text_only_baselines(asked, captions)["corpus"]["+Obj"] == {"completion": 100.0}


def test_a_phrase_counts_once_a_caption_and_without_articles_or_case() -> None:
    corpus = Corpus(["A dog and a dog", "The Dog", "dogs"], ["the dog", "dog and dog", "dogs dog"])
    assert [corpus.frequency(u)[0] for u in ("a dog", "dog and a dog", "dogs dog")] == [2, 1, 0]


def test_units_in_no_caption_are_told_apart_by_their_words() -> None:
    corpus = Corpus(CAPTIONS, ["red dog", "red wolf", "dog red"])
    assert corpus.frequency("red dog") > corpus.frequency("red wolf")
    assert corpus.frequency("red dog") == corpus.frequency("dog red")
