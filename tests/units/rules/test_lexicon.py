"""The word lists hold together."""

import pytest

from zoo.units.rules import lexicon, words
from zoo.units.rules.foils.contradictions import contradiction


def test_every_noun_and_attribute_has_foils_that_mean_something_else() -> None:
    for foils in (lexicon.NOUN_FOILS, lexicon.ATTRIBUTE_FOILS):
        for word, others in foils.items():
            if word not in lexicon.SINGULARS:
                assert any(not lexicon.same_meaning(word, other) for other in others), word


def test_verbs_have_their_forms_and_other_lists_name_known_verbs() -> None:
    assert all(len(forms) == 4 and forms[2].endswith("ing") for forms in lexicon.VERB_FORMS)
    known = {forms[0] for forms in lexicon.VERB_FORMS}
    named = (
        {verb for line in lexicon.parse_word_sets(words.EXCLUSIVE_VERBS) for verb in line}
        | lexicon.word_set(words.POSTURES)
        | lexicon.word_set(words.MOTIONS)
        | lexicon.word_set(words.BETWEEN_BEINGS)
    )
    assert named <= known, named - known


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
    ("first", "second", "object_", "reason"),
    [
        ("on", "under", "table", "preposition"),
        ("in front of", "behind", "house", "preposition"),
        ("sitting on", "standing on", "bench", "verb"),
        ("sitting on", "walking past", "bench", "verb"),
        ("parked on", "driving down", "street", "verb"),
        ("riding", "leading", "horse", "verb"),
        ("riding", "standing next to", "horse", "preposition"),
        ("in", "on", "box", "preposition"),
        ("in", "on", "grass", None),
        ("up", "down", "street", None),
        ("up", "down", "ladder", "preposition"),
        ("with", "under", "umbrella", None),
        ("holding", "under", "umbrella", None),
        ("sleeping on", "lying on", "bed", None),
        ("held by", "standing next to", "woman", None),
        ("near", "behind", "fence", None),
    ],
)
def test_predicates_contradict_each_other_by_verb_or_preposition(
    first: str, second: str, object_: str, reason: str | None
) -> None:
    assert contradiction(first, second, object_) == reason
    assert contradiction(second, first, object_) == reason


def test_a_word_list_is_a_file_and_an_unknown_one_is_refused() -> None:
    assert words.MOUNTS.startswith("bike bicycle")
    assert not any(line.startswith("#") for line in words.VERBS.splitlines())
    with pytest.raises(AttributeError, match="no word list 'HORSES'"):
        words.HORSES  # noqa: B018


def test_a_noun_like_its_plural_replaces_only_singulars() -> None:
    assert "sheep" in lexicon.NOUN_FOILS["goat"]
    assert "sheep" not in lexicon.NOUN_FOILS["goats"]
