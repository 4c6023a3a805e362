"""Foils of a noun phrase with another attribute or number: "a red sofa" for "a grey sofa"."""

from collections.abc import Iterator
from random import Random

from zoo.units.record import EntityFoil
from zoo.units.rules import kinds
from zoo.units.rules.kinds import is_a, is_plural
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    BOUND_PARTICIPLES,
    COATS,
    COLOURS,
    MATERIALS,
    NUMBERS,
    same_meaning,
    word_set,
)
from zoo.units.rules.phrases.phrase import Phrase

_AGES = frozenset({"young", "old", "elderly"})
_PLANT_COLOURS = frozenset({"green", "brown", "yellow"})
_SKY_COLOURS = frozenset({"blue", "grey", "orange", "pink"})
_SHINING = word_set("sun light lights sunlight sunshine")
_HAIR_COLOURS = frozenset({"black", "white", "brown", "red", "gray", "grey", "blond", "blonde"})


def attribute_foils(phrase: Phrase, rng: Random) -> Iterator[EntityFoil]:
    """Yields one foil for each attribute or number that can be another, in random order.

    Args:
        phrase: The noun phrase.
        rng: Settles the order, and which of several others an attribute becomes.
    """
    start, end = phrase.head
    places = [
        i
        for i, word in enumerate(phrase.words)
        if word in ATTRIBUTE_FOILS and (word in COLOURS or not start <= i < end)
    ]
    for i in rng.sample(places, len(places)):
        others = _other_attributes(phrase, i)
        if others:
            yield EntityFoil(phrase.replace_words(i, i + 1, rng.choice(others)), "attribute_change")


def _other_attributes(phrase: Phrase, i: int) -> list[str]:
    """Returns the attributes that could stand in the place of the one at i.

    There are no elderly boys, no young houses, no grey men, no green horses, and no grey and gray
    dogs.
    """
    head, attribute = phrase.head_text, phrase.words[i]
    inside = phrase.head[0] <= i < phrase.head[1]
    if inside and phrase.words != (head,):
        return []
    if phrase.head[1] <= i:
        return []
    others = [
        a
        for a in ATTRIBUTE_FOILS[attribute]
        if not any(same_meaning(a, word) for word in phrase.words)
    ]
    if attribute in NUMBERS and not is_plural(head):
        return []
    if attribute in BOUND_PARTICIPLES and i > 0:
        # "stone paved"
        return []
    being = is_a(head, kinds.BEINGS)
    if not being:
        others = [a for a in others if a != "little"]
    if attribute in ("bright", "dark", "light") and head in _SHINING:
        return []
    beside = phrase.words[i + 1 : i + 2]
    if beside and beside[0] in ("hair", "haired"):
        return [a for a in others if a in _HAIR_COLOURS]
    if attribute in ("light", "dark") and beside and beside[0] in COLOURS:
        return others
    if attribute in ("little", "small") and is_a(head, kinds.PEOPLE):
        return ["big"]
    if attribute in _AGES:
        if is_a(head, kinds.CHILDREN):
            return []
        return [a for a in others if (a in _AGES) == being]
    if attribute in COLOURS:
        return _other_colours(head, attribute, others)
    if attribute in MATERIALS:
        return others if is_a(head, kinds.MADE, kinds.CLOTHES) else []
    return others


def _other_colours(head: str, attribute: str, others: list[str]) -> list[str]:
    """Returns the other colours that a head can have.

    In nature coats, hair and grass have few colours. People have none. What else grows has one,
    which the caption tells.
    """
    if is_a(head, kinds.UNPAINTED) and not is_a(head, kinds.ANIMALS):
        return []
    if is_a(head, kinds.ANIMALS):
        return [a for a in others if a in COATS] if attribute in COATS | {"gray"} else []
    if is_a(head, kinds.PEOPLE):
        return (
            []
            if attribute in COATS | {"gray"}
            else [a for a in others if a not in COATS | {"gray"}]
        )
    if head in ("sky", "skies"):
        return [a for a in others if a in _SKY_COLOURS]
    if is_a(head, kinds.PLANTS):
        return [a for a in others if a in _PLANT_COLOURS]
    if is_a(head, kinds.BODY_PARTS):
        return [a for a in others if a in _HAIR_COLOURS] if attribute in _HAIR_COLOURS else []
    return others
