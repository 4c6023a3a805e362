"""Base forms inflected as the word whose place they take."""

from importlib.metadata import version

import pytest

from zoo.language.inflection import describe_inflection_library, inflect


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
    assert inflect(base, tag) == form


def test_results_name_the_library_and_its_version() -> None:
    assert describe_inflection_library() == {"inflection": f"lemminflect {version('lemminflect')}"}
