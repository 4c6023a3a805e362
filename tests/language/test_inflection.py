"""Base forms inflected as the word whose place they take."""

import sys

import pytest

from zoo.errors import ZooError
from zoo.language.inflection import inflected, inflection


@pytest.mark.parametrize(
    ("base", "tag", "form"),
    [
        ("wolf", "NNS", "wolves"),
        ("wolf", "NN", "wolf"),
        ("Boston terrier", "NNPS", "Boston terriers"),
        ("work of art", "NNS", "works of art"),
        ("lie", "VBG", "lying"),
        ("lie down", "VBG", "lying down"),
        ("run", "VBD", "ran"),
        ("eat", "VBN", "eaten"),
        ("carry", "VBZ", "carries"),
        ("carry", "VBP", "carry"),
        ("large", "JJR", "larger"),
        ("good", "JJS", "best"),
        ("wooden", "JJR", "more wooden"),
        ("historical", "JJS", "most historical"),
        ("wooden", "JJ", "wooden"),
    ],
)
def test_a_form_is_that_which_the_tag_asks_for(base: str, tag: str, form: str) -> None:
    assert inflected(base, tag) == form


def test_where_lemminflect_is_not_installed_its_extra_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert inflection()["inflection"].startswith("lemminflect ")
    monkeypatch.setitem(sys.modules, "lemminflect", None)
    with pytest.raises(ZooError, match=r"zoo\[wordnet\]"):
        inflected("zebra", "NNS")
