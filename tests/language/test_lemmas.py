"""Two forms of a word share a base, other words share none."""

import pytest

from zoo.language.lemmas import lemmas


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("dogs", "dog", True),
        ("children", "child", True),
        ("riding", "rides", True),
        ("stopped", "stopping", True),
        ("chases", "chased", True),
        ("red", "reed", False),
        ("ring", "ride", False),
        ("cat", "cattle", False),
        ("thing", "the", False),
    ],
)
def test_forms_of_one_word_share_a_base(one: str, other: str, same: bool) -> None:
    assert bool(lemmas(one) & lemmas(other)) == same
    assert one in lemmas(one)
