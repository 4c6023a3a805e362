"""The list of prepositions."""

import pytest

from zoo.language.prepositions import other_prepositions, preposition_length


@pytest.mark.parametrize(
    ("text", "at", "n"),
    [
        ("in front of a dog", 0, 3),
        ("a dog in a hat", 2, 1),
        ("a dog in a hat", 1, 0),
        ("a dog in front", 2, 1),
        ("sits on top of", 1, 3),
        ("next door", 0, 0),
        ("in", 0, 1),
        ("next", 0, 0),
    ],
)
def test_the_longest_preposition_counts(text: str, at: int, n: int) -> None:
    assert preposition_length(text.split(), at) == n


def test_no_preposition_stands_in_for_itself_or_for_one_that_may_say_the_same() -> None:
    others = other_prepositions("near")
    assert not {"near", "beside", "next to", "by"} & others.keys()
    assert {"on", "under", "in front of"} <= others.keys()


def test_weights_are_frequencies_in_captions() -> None:
    others = other_prepositions("without")
    assert others["in"] == 2129
    assert others["near"] == 172
    assert min(others.values()) >= 1
