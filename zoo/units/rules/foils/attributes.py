"""Foils of a noun phrase with another attribute or number: "a red sofa" for "a grey sofa"."""

from collections.abc import Iterator
from random import Random

from zoo.units.record import EntityFoil
from zoo.units.rules import kinds
from zoo.units.rules.kinds import can_take_number, is_kind
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
    """Yields one foil per attribute or number that can be replaced, in random order.

    Args:
        phrase: The noun phrase.
        rng: Draws the order and the new attributes.
    """
    start, end = phrase.head
    places = [
        i
        for i, word in enumerate(phrase.words)
        if word in ATTRIBUTE_FOILS and (word in COLOURS or not start <= i < end)
    ]
    for i in rng.sample(places, len(places)):
        alternatives = _other_attributes(phrase, i)
        if alternatives:
            yield EntityFoil(
                phrase.replace_words(i, i + 1, rng.choice(alternatives)), "attribute_change"
            )


def _other_attributes(phrase: Phrase, i: int) -> list[str]:
    """Returns the attributes that can replace the one at i.

    Excluded are, for example, elderly boys, young houses, grey men, green horses, and grey and gray
    dogs.
    """
    head, attribute = phrase.head_text, phrase.words[i]
    is_in_head = phrase.head[0] <= i < phrase.head[1]
    if is_in_head and phrase.words != (head,):
        return []
    if phrase.head[1] <= i:
        return []
    alternatives = [
        a
        for a in ATTRIBUTE_FOILS[attribute]
        if not any(same_meaning(a, word) for word in phrase.words)
    ]
    if attribute in NUMBERS and not can_take_number(head):
        return []
    if attribute in BOUND_PARTICIPLES and i > 0:
        # "stone paved"
        return []
    being = is_kind(head, kinds.BEINGS)
    if not being:
        alternatives = [a for a in alternatives if a != "little"]
    if attribute in ("bright", "dark", "light") and head in _SHINING:
        return []
    next_words = phrase.words[i + 1 : i + 2]
    if next_words and next_words[0] in ("hair", "haired"):
        return [a for a in alternatives if a in _HAIR_COLOURS]
    if attribute in ("light", "dark") and next_words and next_words[0] in COLOURS:
        return alternatives
    if attribute in ("little", "small") and is_kind(head, kinds.PEOPLE):
        return ["big"]
    if attribute in _AGES:
        if is_kind(head, kinds.CHILDREN):
            return []
        return [a for a in alternatives if (a in _AGES) == being]
    if attribute in COLOURS:
        return _other_colours(head, attribute, alternatives)
    if attribute in MATERIALS:
        return alternatives if is_kind(head, kinds.MANUFACTURED, kinds.CLOTHES) else []
    return alternatives


def _other_colours(head: str, attribute: str, alternatives: list[str]) -> list[str]:
    """Returns the other colours that a head can have.

    Coats, hair and plants have few natural colours. People do not get coat colours. Other things in
    nature keep the colour in the caption.
    """
    if is_kind(head, kinds.UNPAINTED) and not is_kind(head, kinds.ANIMALS):
        return []
    if is_kind(head, kinds.ANIMALS):
        return [a for a in alternatives if a in COATS] if attribute in COATS | {"gray"} else []
    if is_kind(head, kinds.PEOPLE):
        return (
            []
            if attribute in COATS | {"gray"}
            else [a for a in alternatives if a not in COATS | {"gray"}]
        )
    if head in ("sky", "skies"):
        return [a for a in alternatives if a in _SKY_COLOURS]
    if is_kind(head, kinds.PLANTS):
        return [a for a in alternatives if a in _PLANT_COLOURS]
    if is_kind(head, kinds.BODY_PARTS):
        return [a for a in alternatives if a in _HAIR_COLOURS] if attribute in _HAIR_COLOURS else []
    return alternatives
