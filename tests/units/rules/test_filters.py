"""Each filter drops what it is for, and nothing else."""

import pytest

from zoo.units.record import Relation, RelationFoil
from zoo.units.rules.filters import phrase_fault, relation_fault


@pytest.mark.parametrize(
    ("original", "foil", "fault"),
    [
        ("brown horse", "white horse", None),
        ("brown horse", "brown giraffe", None),
        ("three dogs", "two dogs", None),
        ("red fire truck", "red police car", None),
        ("man", "woman", None),
        ("red scarf", "red necklace", None),
        ("brown horse", "Brown Horse", "duplicate"),
        ("couch", "sofa", "near_synonym"),
        ("two dogs", "two puppies", "near_synonym"),
        ("large dog", "big dog", "near_synonym"),
        ("person", "man", "near_synonym"),
        ("brown horse", "white giraffe", "multiple_edits"),
        ("horse", "white horse", "multiple_edits"),
        ("brown horse", "horse", "multiple_edits"),
    ],
)
def test_a_phrase_differs_in_one_word_that_means_something_else(
    original: str, foil: str, fault: str | None
) -> None:
    assert phrase_fault(original, foil) == fault


RIDES, NEAR = Relation("man", "riding", "horse"), Relation("red car", "parked next to", "bus")


@pytest.mark.parametrize(
    ("relation", "foil", "fault"),
    [
        (RIDES, ("man", "pushing", "horse"), None),
        (RIDES, ("horse", "riding", "man"), None),
        (RIDES, ("woman", "riding", "horse"), None),
        (RIDES, ("man", "riding", "cow"), None),
        (RIDES, ("man", "riding", "horse"), "duplicate"),
        (RIDES, ("man", "driving", "horse"), "near_synonym"),
        (RIDES, ("person", "riding", "horse"), "near_synonym"),
        (RIDES, ("woman", "riding", "cow"), "multiple_edits"),
        (RIDES, ("horse", "pushing", "man"), "multiple_edits"),
        (RIDES, ("man", "riding", "brown horse"), "multiple_edits"),
        (NEAR, ("bus", "parked next to", "red car"), "symmetric_swap"),
        (NEAR, ("red car", "parked near", "bus"), "near_synonym"),
        (NEAR, ("red car", "parked far from", "bus"), None),
        (Relation("dog", "held by", "woman"), ("woman", "held by", "dog"), None),
        (
            Relation("dog", "standing by", "woman"),
            ("woman", "standing by", "dog"),
            "symmetric_swap",
        ),
        (Relation("man", "kissing", "woman"), ("woman", "kissing", "man"), "symmetric_swap"),
    ],
)
def test_a_relation_differs_in_one_component_or_is_swapped(
    relation: Relation, foil: tuple[str, str, str], fault: str | None
) -> None:
    assert relation_fault(relation, RelationFoil(*foil, edit="any")) == fault
