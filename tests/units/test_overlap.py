"""What two units files share."""

from dataclasses import replace

import pytest

from tests.units.records import CATS
from zoo.errors import ZooError
from zoo.units.overlap import (
    ENTITIES,
    FOILS,
    RELATIONS,
    SharedCounts,
    compare_units,
    have_same_lemmas,
)
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

BY_MODEL = replace(
    CATS,
    entities=(
        Entity("Two cats", (EntityFoil("two rabbits", "object_change"),)),
        Entity("the sofa"),
    ),
    relations=(
        Relation(
            *("the two cats", "are sleeping on", "a grey sofa"),
            foils=(
                RelationFoil("a grey sofa", "are sleeping on", "two cats", "argument_swap"),
                RelationFoil("two cats", "are sleeping on", "a red sofa", "argument_change"),
            ),
        ),
    ),
)


def record(caption_id: str, *entities: str) -> UnitRecord:
    return UnitRecord(caption_id, "1", "a caption", tuple(map(Entity, entities)))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("two cats", "Two cats", True),
        ("a dog", "the dogs", True),
        ("man riding horse", "a man rides the horse", True),
        ("man on horse", "man horse", False),
        ("dog chasing cat", "cat chasing dog", False),
        ("grey sofa", "sofa", False),
        ("red sofa", "grey sofa", False),
    ],
)
def test_texts_are_the_same_by_forms_of_their_words_in_order(
    first: str, second: str, same: bool
) -> None:
    assert have_same_lemmas(first, second) is have_same_lemmas(second, first) is same


def test_units_and_their_foils_are_matched_within_a_caption() -> None:
    found = compare_units({"17#0": CATS}, {"17#0": BY_MODEL})
    assert found.shared == {
        ENTITIES: SharedCounts(
            n_both=1, n_first_only=1, n_second_only=1
        ),  # "grey sofa" against "the sofa"
        RELATIONS: SharedCounts(n_both=1, n_first_only=0, n_second_only=0),
        # "three cats" and "play on" of the first, "a red sofa" of the second
        FOILS: SharedCounts(n_both=2, n_first_only=2, n_second_only=1),
    }
    (disagreement,) = found.disagreements
    assert disagreement.both == ("two cats", "two cats sleep on grey sofa")
    assert (disagreement.first, disagreement.second) == (("grey sofa",), ("the sofa",))


def test_a_unit_is_matched_once() -> None:
    found = compare_units({"1": record("1", "a dog", "dogs")}, {"1": record("1", "the dog")})
    assert found.shared[ENTITIES] == SharedCounts(n_both=1, n_first_only=1, n_second_only=0)


def test_captions_of_one_file_and_those_of_another_text_are_counted_and_not_compared() -> None:
    first = {"1": record("1", "dog"), "2": record("2", "cat"), "3": record("3", "cow")}
    other = replace(record("2", "fox"), caption="another caption")
    found = compare_units(
        first, {"1": record("1", "dog"), "2": other, "4": record("4"), "5": record("5")}
    )
    assert (found.n_compared, found.n_first_only, found.n_second_only, found.n_different_text) == (
        1,
        1,
        2,
        1,
    )
    assert found.shared[ENTITIES] == SharedCounts(n_both=1, n_first_only=0, n_second_only=0)
    assert found.disagreements == []


def test_files_of_other_captions_are_refused_in_a_sentence() -> None:
    with pytest.raises(
        ZooError, match=r"no caption in common \(of 1 and 2 caption ids\): give two"
    ):
        compare_units({"1": record("1")}, {"2": record("2"), "3": record("3")})
