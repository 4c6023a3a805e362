"""Foils of a noun phrase with another attribute or number: "a red sofa" for "a grey sofa"."""

from collections.abc import Iterator
from functools import cache
from random import Random

from zoo.units.record import EntityFoil
from zoo.units.rules.corpus_counts import CorpusCounts
from zoo.units.rules.foils.exchange import draw_exchanged
from zoo.units.rules.kinds import can_take_number
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    BOUND_PARTICIPLES,
    COLOURS,
    NUMBERS,
    same_meaning,
    word_set,
)
from zoo.units.rules.phrases.phrase import Phrase

_SHADES = word_set("bright dark light")


def attribute_foils(phrase: Phrase, counts: CorpusCounts, rng: Random) -> Iterator[EntityFoil]:
    """Yields foils with another attribute or number, at most three per place, in random order.

    They are drawn from those that the corpus has with this head, or with heads of its class.

    Args:
        phrase: The noun phrase.
        counts: The counts of a corpus.
        rng: Draws the order and the new attributes.
    """
    places = [i for i in range(phrase.head[0]) if _is_replaceable(phrase, i)]
    frequencies = counts.attributes_of(phrase.head_text)
    for i in rng.sample(places, len(places)) * 3:
        other_words = [word for k, word in enumerate(phrase.words) if k != i]
        attribute = draw_exchanged(phrase.words[i], other_attributes, frequencies, rng)
        if attribute and not any(same_meaning(attribute, word) for word in other_words):
            yield EntityFoil(phrase.replace_words(i, i + 1, attribute), "attribute_change")


@cache
def other_attributes(attribute: str) -> tuple[str, ...]:
    """Returns the attributes that are false where an attribute is true."""
    return tuple(a for a in ATTRIBUTE_FOILS[attribute] if not same_meaning(a, attribute))


def _is_replaceable(phrase: Phrase, i: int) -> bool:
    """Returns whether the word at i is an attribute of the head.

    It is not in "stone paved path", "four wheeler", "light blue shirt", "blond haired girl" and
    "blond hair girl".
    """
    word, following = phrase.words[i], phrase.words[i + 1 : i + 2]
    if word not in ATTRIBUTE_FOILS or (following and following[0] in BOUND_PARTICIPLES):
        return False
    if following == ("hair",) and phrase.head_text != "hair":
        return False
    if word in NUMBERS and not can_take_number(phrase.head_text):
        return False
    return not (word in _SHADES and following and following[0] in COLOURS)
