"""Foils of a noun phrase with another head: "a red sofa" for "a red chair"."""

from collections.abc import Iterator
from random import Random

from zoo.units.record import EntityFoil
from zoo.units.rules import kinds, words
from zoo.units.rules.kinds import can_take_number, is_kind
from zoo.units.rules.lexicon import (
    COATS,
    COLOURS,
    MATERIALS,
    NOUN_FOILS,
    NUMBERS,
    QUANTITIES,
    UNCOUNTED,
    same_meaning,
    singulars_and_plurals,
    word_set,
)
from zoo.units.rules.phrases.phrase import Phrase

_FREE = word_set(words.FREE_MODIFIERS)
_FREE_OF_ANIMALS = _FREE | COATS | QUANTITIES | {"young", "old"}
_FREE_OF_NATURE = _FREE - {"colorful", "bright"}
_GROWN_WILD = kinds.SUBSTANCES | kinds.PLANTS | kinds.UNPAINTED
_GROWN = singulars_and_plurals(word_set("man woman guy gentleman lady"))
_YOUNG = singulars_and_plurals(word_set("boy girl"))
_OF_THE_GROWN = word_set("older old elderly middle-aged adult aged grown business")
_OF_ONE_SEX = word_set("pregnant bearded bald mustached male female")
_BARE = frozenset({"shirtless", "topless"})
_FEMALE = singulars_and_plurals(word_set("woman girl lady"))
_NEARLY_GROWN = singulars_and_plurals(word_set("teenager adult"))
_SMALL = frozenset({"little", "small", "young", "younger", "tiny"})


def head_foils(phrase: Phrase, mentioned: frozenset[str], rng: Random) -> Iterator[EntityFoil]:
    """Yields foils with another head, in random order.

    A compound ("nose ring") is replaced as a whole. A head is not replaced if a modifier fits only
    this head ("sliding door").

    Args:
        phrase: The noun phrase.
        mentioned: The nouns of the caption, which are not used as foils.
        rng: Draws the order.
    """
    start, end = min(phrase.compound, phrase.head[0]), phrase.head[1]
    counted = bool((NUMBERS - {"one"}) & set(phrase.words))
    if counted and not can_take_number(phrase.head_text):
        return
    heads = [
        h
        for h in NOUN_FOILS.get(phrase.head_text, ())
        if not (counted and h in UNCOUNTED)
        and not _is_mentioned(h, phrase.head_text, mentioned)
        and _modifiers_fit_foil(phrase.words[:start], phrase.head_text, h)
    ]
    if end < len(phrase.words):
        return
    if is_kind(phrase.head_text, kinds.CHILDREN):
        heads = [h for h in heads if is_kind(h, kinds.CHILDREN)] or heads
    for head in rng.sample(heads, len(heads)):
        yield EntityFoil(phrase.replace_words(start, end, head), "object_change")


def _modifiers_fit_foil(modifiers: tuple[str, ...], head: str, foil: str) -> bool:
    """Returns whether the modifiers of the head fit the foil.

    For example, there are no little adults and no metal hedges.
    """
    modifier_set = set(modifiers) - {"and", "of"}
    if is_kind(head, kinds.BEINGS):
        person, animal = is_kind(head, kinds.PEOPLE), is_kind(foil, kinds.ANIMALS)
        if "young" in modifier_set and {head, foil} <= _NEARLY_GROWN:
            return False
        if (
            modifier_set & _SMALL
            and is_kind(head, kinds.YOUNG)
            and not (is_kind(foil, kinds.YOUNG) or animal)
        ):
            return False
        if person and not animal:
            grown = modifier_set & _OF_THE_GROWN
            if any(word.endswith("-aged") and word != "middle-aged" for word in modifier_set):
                return False
            return (
                not (grown and is_kind(foil, kinds.YOUNG))
                and not modifier_set & _OF_ONE_SEX
                and not (modifier_set & _BARE and {head, foil} & _FEMALE)
            )
        return not person or modifier_set <= _FREE_OF_ANIMALS
    if is_kind(head, _GROWN_WILD):
        return modifier_set <= _FREE_OF_NATURE
    rest = modifier_set - _FREE - COLOURS - QUANTITIES
    return rest <= MATERIALS and (
        not rest or (is_kind(head, kinds.MANUFACTURED) and is_kind(foil, kinds.MANUFACTURED))
    )


def _is_mentioned(foil: str, head: str, mentioned: frozenset[str]) -> bool:
    """Returns whether a foil may name the same as the head or another noun of the caption."""
    return same_meaning(foil, head) or any(
        same_meaning(foil, noun) and not _differ_in_age(foil, noun) for noun in mentioned
    )


def _differ_in_age(first: str, second: str) -> bool:
    """Returns whether one is a man or woman and the other a boy or girl."""
    return (first in _GROWN and second in _YOUNG) or (first in _YOUNG and second in _GROWN)
