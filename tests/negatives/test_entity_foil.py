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


def test_no_article_stands_before_a_plural_or_a_mass_noun() -> None:
    assert negatives("A fork on a plate", fork=["chopsticks"]) == {"Chopsticks on a plate"}
    assert negatives("eating with a fork.", fork=["chopsticks"]) == {"eating with chopsticks."}
    assert negatives("an old field", old_field=["old grass"]) == {"old grass"}
    assert negatives("a dog runs", dog=["two horses"]) == {"two horses runs"}
    assert negatives("in the field", field=["grass"]) == {"in the grass"}
    assert negatives("kicks a ball", ball=["basketball"]) == {"kicks a basketball"}
    assert negatives("a dress", dress=["bus"]) == {"a bus"}
    assert negatives("a few men", few_men=["few women"]) == {"a few women"}
    assert negatives("a pair of men", pair_of_men=["pair of cows"]) == {"a pair of cows"}
    assert negatives("a black dog", black_dog=["tan dog"]) == {"a tan dog"}


def test_pronouns_follow_when_a_man_becomes_a_woman_or_the_reverse() -> None:
    assert negatives("A man and his dog, which he likes", man=["woman"]) == {
        "A woman and her dog, which she likes"
    }
    assert negatives("Her hat suits the girl near her.", girl=["boy"]) == {
        "His hat suits the boy near him."
    }
    assert negatives("a dog follows him to the boy", boy=["girl"]) == {
        "a dog follows her to the girl"
    }


def test_pronouns_stay_if_they_may_mean_someone_else_or_the_foil_has_no_sex() -> None:
    assert negatives("a man with his son and a boy", man=["woman"]) == {
        "a woman with his son and a boy"
    }
    assert negatives("a man on his bike", man=["person"]) == {"a person on his bike"}
    assert negatives("a man on his bike", man=["boy"]) == {"a boy on his bike"}
    assert negatives("a man on his bike", bike=["horse"]) == {"a man on his horse"}


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
