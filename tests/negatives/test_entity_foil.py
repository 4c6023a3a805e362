"""Entity foils in place."""

from random import Random

from zoo.negatives.entity_foil import EntityFoilInPlace, replace_in_caption
from zoo.units.record import Entity, EntityFoil, UnitRecord


def record(caption: str, **foils: list[str]) -> UnitRecord:
    entities = [
        Entity(text.replace("_", " "), tuple(EntityFoil(f, "object_change") for f in given))
        for text, given in foils.items()
    ]
    return UnitRecord("1", "1", caption, tuple(entities))


def negatives(caption: str, **foils: list[str]) -> set[str | None]:
    return {
        EntityFoilInPlace().negative(caption, Random(seed), record(caption, **foils))
        for seed in range(60)
    }


def test_one_entity_is_replaced_by_one_of_its_foils() -> None:
    assert negatives("a red  car near a man.", red_car=["blue car", "red bus"], man=["woman"]) == {
        "a blue car near a man.",
        "a red bus near a man.",
        "a red  car near a woman.",
    }


def test_words_are_matched_whole() -> None:
    assert negatives("a woman and a man", man=["boy"]) == {"a woman and a boy"}
    assert negatives("a woman", man=["boy"]) == {None}


def test_one_of_several_places_is_taken() -> None:
    assert negatives("a dog and a dog", dog=["cat"]) == {"a cat and a dog", "a dog and a cat"}


def test_case_and_article_follow() -> None:
    assert negatives("Dogs sit", dogs=["cats"]) == {"Cats sit"}
    assert negatives("A dog sits", dog=["owl"]) == {"An owl sits"}
    assert negatives("an apple", apple=["pear"]) == {"a pear"}
    assert negatives("A red dog sits", a_red_dog=["an old dog"]) == {"An old dog sits"}


def test_an_article_is_not_doubled() -> None:
    assert replace_in_caption("A dog sits", 2, 5, "an owl") == "An owl sits"
    assert replace_in_caption("two dogs sit", 4, 8, "the owls") == "two the owls sit"


def test_a_foil_that_is_the_entity_gives_none() -> None:
    assert negatives("a dog", dog=["Dog"]) == {None}


def test_entities_are_equally_likely() -> None:
    caption = "a dog near a cat"
    units = record(caption, dog=["cow"], cat=["hen", "pig", "fox", "bat"])
    drawn = [EntityFoilInPlace().negative(caption, Random(seed), units) for seed in range(600)]
    assert 240 < drawn.count("a cow near a cat") < 360


def test_without_units_or_foils_there_is_none() -> None:
    assert EntityFoilInPlace().negative("a dog", Random(0)) is None
    assert negatives("a dog", dog=[]) == {None}
