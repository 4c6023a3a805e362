"""Blind scores: half for foils like their units, all for foils that give themselves away."""

from random import Random

import pytest

from zoo.units.blind_scores import UnitAndFoil, blind_scores

COLOURS = ("red", "blue", "green", "black")


def draw_pairs(n: int, foil_word: str | None = None) -> list[UnitAndFoil]:
    """Pairs of colours; each foil's colour is another, or the given word."""
    rng = Random(0)
    pairs = []
    for i in range(n):
        unit, foil = rng.sample(COLOURS, 2)
        pairs.append(UnitAndFoil(f"{i}.jpg", f"{unit} car", f"{foil_word or foil} car"))
    return pairs


def test_foils_like_their_units_cannot_be_distinguished() -> None:
    (score,) = blind_scores({"colour": draw_pairs(2000)}).values()
    assert score.n == 2000
    assert score.accuracy == pytest.approx(0.5, abs=0.05)


def test_a_word_of_foils_alone_gives_them_away() -> None:
    assert blind_scores({"colour": draw_pairs(200, "spotted")})["colour"].accuracy == 1


def test_what_is_learnt_from_an_image_does_not_help_with_the_same_image() -> None:
    pairs = [UnitAndFoil(f"{i}.jpg", f"unit{i}", f"foil{i}") for i in range(50) for _ in range(20)]
    assert blind_scores({"words": pairs})["words"].accuracy == 0.5


def test_a_combination_of_words_is_learnt() -> None:
    pairs = [
        UnitAndFoil(f"{i}.jpg", *(("red car", "blue car") if i % 2 else ("blue bus", "red bus")))
        for i in range(200)
    ]
    assert blind_scores({"pairs": pairs})["pairs"].accuracy == 1


def test_groups_without_pairs_have_no_score() -> None:
    assert blind_scores({"none": []}) == {}
