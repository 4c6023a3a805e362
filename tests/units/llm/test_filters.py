"""Each filter of Appendix B.3.3 and B.6 drops what it is for, and is counted."""

from collections import Counter
from typing import Any

import pytest

from zoo.units.caption_support import base_forms, is_supported_elsewhere
from zoo.units.llm.filters import FoilFilter, parse_units
from zoo.units.record import Entity, EntityFoil, RelationFoil

CAPTION = "A man in a blue shirt throws two red balls to the brown dogs near a tree"


def found(
    entities: list[str], *relations: tuple[str, str, str], caption: str = CAPTION
) -> tuple[list[str], list[tuple[str, str, str]], dict[str, int]]:
    names = ("subject", "predicate", "object")
    rows = [dict(zip(names, relation, strict=True)) for relation in relations]
    dropped: Counter[str] = Counter()
    answer = {"entities": entities, "relations": rows}
    return *parse_units(answer, caption, dropped), dict(dropped)


@pytest.mark.parametrize(
    ("entities", "kept", "dropped"),
    [
        (["two red balls", "a tree"], ["two red balls", "a tree"], {}),
        (["two balls", "Brown dog"], ["two balls", "Brown dog"], {}),  # words in other forms
        (["a cat", "a tree"], ["a tree"], {"ungrounded_entity": 1}),
        (["a green tree", "a tree"], ["a tree"], {"ungrounded_entity": 1}),
        (["the", "", "a tree"], ["a tree"], {"empty": 2}),
        (["a tree", "A tree.", "the tree"], ["a tree"], {"duplicate_unit": 2}),
        (["balls", "two red balls"], ["two red balls"], {"part_of_another": 1}),
        (["a man in a blue shirt", "a blue shirt"], ["a man in a blue shirt", "a blue shirt"], {}),
    ],
)
def test_entities_are_phrases_of_the_caption_each_once(
    entities: list[str], kept: list[str], dropped: dict[str, int]
) -> None:
    assert found(entities) == (kept, [], dropped)


def test_a_placeholder_is_no_entity() -> None:
    caption = "The thing in the background is a view of one tree"
    kept, _, dropped = found(["the thing", "the background", "one tree"], caption=caption)
    assert kept == ["one tree"]
    assert dropped == {"placeholder": 2}


def test_arguments_of_relations_are_extracted_entities() -> None:
    entities = ["a man", "two red balls", "brown dogs"]
    relations = [
        ("A man", "throwing", "two red balls"),
        ("a man", "throwing", "the two red balls"),
        ("a man", "near", "a tree"),
        ("balls", "near", "brown dogs"),
        ("a man", " ", "brown dogs"),
        ("a man", "beside", "a man"),
    ]
    _, kept, dropped = found(entities, *relations)
    assert kept == [("a man", "throwing", "two red balls")]
    assert dropped == {
        "duplicate_unit": 1,
        "ungrounded_argument": 2,
        "empty": 1,
        "same_arguments": 1,
    }


def entity(
    text: str, *foils: str, units: tuple[str, ...] = (), others: tuple[str, ...] = ()
) -> tuple[list[str], dict[str, int]]:
    dropped: Counter[str] = Counter()
    made = FoilFilter([text, *units], CAPTION, others, dropped).entity_with_foils(
        text, {"foils": [{"text": foil, "edit_type": "object_change"} for foil in foils]}
    )
    assert made.text == text
    return [foil.text for foil in made.foils], dict(dropped)


@pytest.mark.parametrize(
    ("text", "foil", "fault"),
    [
        ("two red balls", "two red kites", None),
        ("two red balls", "three red balls", None),
        ("a man in a blue shirt", "a man in a red shirt", None),
        ("a brown dog", "an orange dog", None),  # the article follows
        ("an orange dog", "a brown dog", None),
        ("two red balls", "Two red balls", "duplicate"),
        ("a brown dog", "the brown dog", "duplicate"),
        ("two red balls", "two blue kites", "multiple_edits"),
        ("two red balls", "two balls", "multiple_edits"),
        ("two red balls", "two big red balls", "multiple_edits"),
        ("a grey sofa", "a grey couch", "near_synonym"),
        ("two red balls", "", "multiple_edits"),
    ],
)
def test_a_foil_of_an_entity_is_one_edit_that_means_something_else(
    text: str, foil: str, fault: str | None
) -> None:
    kept, dropped = entity(text, foil)
    assert (kept, dropped) == (([foil], {}) if fault is None else ([], {fault: 1}))


def test_no_foil_comes_twice_in_a_caption_and_none_is_a_unit_of_it() -> None:
    kept, dropped = entity(
        "a red ball", "a red kite", "A red kite.", "a blue ball", units=("blue ball",)
    )
    assert kept == ["a red kite"]
    assert dropped == {"duplicate": 2}


def test_a_foil_that_another_caption_of_the_image_bears_out_is_dropped() -> None:
    others = ("Two red kites and a ball beside a man",)
    kept, dropped = entity("two red balls", "two red kites", "two red plates", others=others)
    assert kept == ["two red plates"]
    assert dropped == {"true_of_the_image": 1}


def test_an_offensive_foil_is_dropped() -> None:
    kept, dropped = entity(
        "a man in a blue shirt", "a negro in a blue shirt", "a woman in a blue shirt"
    )
    assert kept == ["a woman in a blue shirt"]
    assert dropped == {"offensive": 1}


def relation(
    triple: tuple[str, str, str], *foils: tuple[str, str, str], others: tuple[str, ...] = ()
) -> tuple[list[RelationFoil], dict[str, int]]:
    dropped: Counter[str] = Counter()
    names = ("subject", "predicate", "object")
    answer: dict[str, Any] = {"foils": [dict(zip(names, foil, strict=True)) for foil in foils]}
    entities = [Entity(triple[2], (EntityFoil("red ball", "attribute_change"),))]
    units = [triple[0], triple[2], " ".join(triple)]
    made = FoilFilter(units, CAPTION, others, dropped).relation_with_foils(triple, answer, entities)
    return list(made.foils), dict(dropped)


def test_what_a_foil_of_a_relation_changes_is_told_by_its_words() -> None:
    foils = [
        ("a man", "catching", "blue ball"),
        ("blue ball", "throwing", "a man"),
        ("a woman", "throwing", "blue ball"),
        ("a man", "throwing", "red ball"),
        ("a man", "throwing", "blue plate"),
    ]
    kept, dropped = relation(("a man", "throwing", "blue ball"), *foils)
    assert [(foil.edit, foil.component, foil.part) for foil in kept] == [
        ("predicate_change", "predicate", None),
        ("argument_swap", None, None),
        ("argument_change", "subject", "head"),
        ("argument_change", "object", "attribute"),
        ("argument_change", "object", "head"),
    ]
    assert [foil.text for foil in kept] == [" ".join(foil) for foil in foils]
    assert dropped == {}


@pytest.mark.parametrize(
    ("phrase", "foil", "part"),
    [
        ("man in a blue shirt", "man in a red shirt", "attribute"),
        ("man in a blue shirt", "woman in a blue shirt", "head"),
        ("group of men", "group of dogs", "attribute"),
    ],
)
def test_the_head_of_an_argument_stands_before_its_preposition(
    phrase: str, foil: str, part: str
) -> None:
    (kept,), _ = relation(("a dog", "chasing", phrase), ("a dog", "chasing", foil))
    assert (kept.component, kept.part) == ("object", part)


@pytest.mark.parametrize(
    ("foil", "fault"),
    [
        (("a man", "near", "a tree"), "duplicate"),
        (("a tree", "near", "a man"), "symmetric_swap"),
        (("a man", "next to", "a tree"), "near_synonym"),
        (("a woman", "under", "a tree"), "multiple_edits"),
        (("a man", "near", "an old brown dog"), "multiple_edits"),
    ],
)
def test_a_foil_of_a_relation_changes_one_component_that_means_something_else(
    foil: tuple[str, str, str], fault: str
) -> None:
    assert relation(("a man", "near", "a tree"), foil) == ([], {fault: 1})


def test_words_of_the_unit_and_its_caption_are_none_that_a_foil_brings() -> None:
    own = base_forms("a red cube and a blue ball")
    assert not is_supported_elsewhere("a blue cube", own, base_forms("blue cubes"))
    assert is_supported_elsewhere("a green cube", own, base_forms("some green balls"))
    others = ("the ball is carried by a man wearing gloves",)
    kept, dropped = relation(
        ("a man", "wearing", "blue ball"), ("blue ball", "wearing", "a man"), others=others
    )
    assert (len(kept), dropped) == (1, {})
