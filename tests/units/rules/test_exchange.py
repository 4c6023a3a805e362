"""Foils drawn so that a value is as often false as true."""

from collections import Counter
from random import Random

import pytest

from zoo.units.rules.foils.exchange import balanced_weights, draw_exchanged

SETS = ({"dog", "cat", "horse"}, {"cat", "bird"}, {"table", "desk"})
COUNTS = {"dog": 60, "cat": 25, "horse": 5, "bird": 10, "table": 3, "desk": 30}


def others(value: str) -> list[str]:
    return sorted({other for group in SETS if value in group for other in group} - {value})


def test_a_with_the_foil_b_is_as_frequent_as_b_with_the_foil_a() -> None:
    rng, pairs = Random(0), Counter[tuple[str, str]]()
    for value, count in COUNTS.items():
        for _ in range(count * 1000):
            foil = draw_exchanged(value, others, COUNTS, rng)
            if foil:
                pairs[value, foil] += 1
    assert {frozenset(pair) for pair in pairs} == {
        frozenset(pair)
        for pair in (
            ("dog", "cat"),
            ("dog", "horse"),
            ("cat", "horse"),
            ("cat", "bird"),
            ("table", "desk"),
        )
    }
    for (value, foil), n in pairs.items():
        assert n == pytest.approx(pairs[foil, value], rel=0.1), (value, foil)


def test_what_the_corpus_does_not_have_here_has_no_foil() -> None:
    rng = Random(0)
    assert draw_exchanged("dog", others, {"cat": 3}, rng) is None
    assert draw_exchanged("dog", others, {"dog": 3}, rng) is None
    assert draw_exchanged("dog", others, {"dog": 3, "cat": 3}, rng) == "cat"


def test_weights_make_values_as_often_false_as_true() -> None:
    counts = {"a": 30, "b": 20, "c": 20, "d": 10}
    alternatives = {value: [other for other in counts if other != value] for value in counts}
    weights = balanced_weights(counts, alternatives)
    false_counts = dict.fromkeys(counts, 0.0)
    for value, others_of_value in alternatives.items():
        total = sum(weights[other] for other in others_of_value)
        for other in others_of_value:
            false_counts[other] += counts[value] * weights[other] / total
    assert false_counts == pytest.approx(counts, rel=0.05)
