"""The word lists hold together."""

import pytest
from zoo.units.rules.foils.contraries import contrary_predicates

from zoo.units.rules import lexicon, words


def test_every_noun_and_attribute_has_foils_that_mean_something_else() -> None:
    for foils in (lexicon.NOUN_FOILS, lexicon.ATTRIBUTE_FOILS):
        for word, others in foils.items():
            if word not in lexicon.SINGULARS:
                assert any(not lexicon.same_meaning(word, other) for other in others), word


def test_verbs_have_their_forms_and_their_contraries_are_verbs() -> None:
    assert all(len(forms) == 4 and forms[2].endswith("ing") for forms in lexicon.VERB_FORMS)
    known = {forms[0] for forms in lexicon.VERB_FORMS}
    named = (
        set(lexicon.CONTRARY_VERBS)
        | {c for cs in lexicon.CONTRARY_VERBS.values() for c in cs}
        | lexicon.word_set(words.TRANSITIVE)
        | lexicon.word_set(words.INTRANSITIVE)
        | lexicon.word_set(words.POSTURES)
        | lexicon.word_set(words.MOTIONS)
        | lexicon.word_set(words.OF_BEINGS)
        | lexicon.word_set(words.OF_THINGS)
        | lexicon.word_set(words.BETWEEN_BEINGS)
    )
    assert named <= known


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("dog", "dogs"),
        ("puppy", "puppies"),
        ("bus", "buses"),
        ("fire truck", "fire trucks"),
        ("woman", "women"),
        ("toy", "toys"),
    ],
)
def test_plurals(noun: str, many: str) -> None:
    assert lexicon.plural(noun) == many


@pytest.mark.parametrize(
    ("verb", "form"),
    [
        ("sits", "sitting"),
        ("climbs", "climbing"),
        ("rides", "riding"),
        ("grips", "gripping"),
        ("examines", "examining"),
        ("carries", "carrying"),
    ],
)
def test_finite_verbs_get_their_ing_form(verb: str, form: str) -> None:
    assert lexicon.present_participle(verb) == form


@pytest.mark.parametrize(
    ("predicate", "object_", "expected"),
    [
        ("on", "table", ["under"]),
        ("in front of", "house", ["behind"]),
        ("sitting on", "chair", ["sitting under", "standing on", "lying on", "jumping on"]),
        ("riding", "horse", ["pushing", "leading", "washing"]),
        ("playing", "soccer", ["watching"]),
        ("in", "shirt", ["without"]),
        ("in", "park", ["outside of"]),
        ("held by", "woman", []),
        ("dressed in", "tuxes", []),
        ("riding", "wave", ["watching"]),
        ("on", "beach", ["far from"]),
        ("on", "bicycle", ["next to"]),
        ("in", "air", []),
        ("hanging from", "rope", ["falling from"]),
        ("sitting across", "field", ["sitting away from", "jumping across"]),
        ("holding", "baby", ["chasing"]),
        ("overlooking", "lake", []),
    ],
)
def test_contraries_begin_with_the_preposition(
    predicate: str, object_: str, expected: list[str]
) -> None:
    assert list(contrary_predicates(predicate, "man", object_)) == expected


def test_a_word_list_is_a_file_and_an_unknown_one_is_refused() -> None:
    assert words.MOUNTS.startswith("bike bicycle")
    assert not any(line.startswith("#") for line in words.VERBS.splitlines())
    with pytest.raises(AttributeError, match="no word list 'HORSES'"):
        words.HORSES  # noqa: B018
