"""Aptness: whether a noun phrase is really what a predicate relates its bearer to."""

from zoo.units.rules import words as lists
from zoo.units.rules.clauses.reading import Reading
from zoo.units.rules.kinds import (
    BEINGS,
    BODY_PARTS,
    CLOTHES,
    GROUNDS,
    HELD,
    MOVERS,
    PLACES,
    WATERS,
    is_a,
)
from zoo.units.rules.lexicon import BASES, NOUN_FOILS, PREPOSITION_PHRASES, both_numbers, word_set
from zoo.units.rules.phrases.phrase import Phrase

_LONGEST_PREDICATE = 5
# What comes behind these is no place and no thing done.
_UNSEEN = {"of", "for", "about", "except", "including"}
_WHERE = word_set(
    "in on at near by behind beside along across through down up over under to around"
)
_POSTURES = word_set("sit stand lie kneel crouch squat sleep lean")
# what things do not do
_DEEDS = word_set(lists.OF_BEINGS_ALONE)
_THINGS = (CLOTHES | BODY_PARTS | frozenset(NOUN_FOILS)) - MOVERS
# "with the city behind them": nobody has these
_SETTINGS = (
    GROUNDS
    | WATERS
    | both_numbers(word_set("city town building house mountain forest sky sunset scenery tree sun"))
) - {"ice"}


def apt(bearer: Phrase, now: Reading, noun: Phrase) -> bool:
    """Whether a noun phrase is really what the predicate relates the bearer to."""
    first, last = (BASES.get(" ".join(words)) for words in (now.predicate[:1], now.predicate[-1:]))
    if now.verb and now.direct and (now.verb.passive or last in _POSTURES):
        return False
    if first in _DEEDS and is_a(bearer.head_text, _THINGS):
        return False
    if now.predicate in (("with",), ("without",)) and not _has(bearer, now, noun):
        return False
    if now.predicate == ("in",) and _is_others(bearer, now) and not _is_place(noun):
        return False
    if now.predicate == ("at",) and bearer is now.object and is_a(noun.head_text, BEINGS, HELD):
        # "swings a racket at a ball"
        return False
    seen = 0 < len(now.predicate) <= _LONGEST_PREDICATE and not _ends_unseen(now.predicate)
    return seen and bearer.text != noun.text


def _has(bearer: Phrase, now: Reading, noun: Phrase) -> bool:
    """Whether what follows "with" is the bearer's, and not another's or somewhere about."""
    if now.predicate == ("with",) and (is_a(noun.head_text, _SETTINGS) or _is_others(bearer, now)):
        return False
    place = now.last
    if place is None or place in (bearer, *now.subject) or is_a(place.head_text, CLOTHES, MOVERS):
        return True
    # "on a beach with waves": the dog there has none
    own = noun.owned or is_a(noun.head_text, BEINGS, CLOTHES, BODY_PARTS, HELD)
    return own or (now.verb is not None and now.governor not in _WHERE)


def _is_place(noun: Phrase) -> bool:
    return is_a(noun.head_text, PLACES) and not is_a(noun.head_text, CLOTHES)


def _is_others(bearer: Phrase, now: Reading) -> bool:
    """Whether another subject stands nearer: "a man and a girl in a dress"."""
    joined = len(now.subject) > 1 and now.last is now.subject[-1]
    return joined and bearer is not now.last


def _ends_unseen(predicate: tuple[str, ...]) -> bool:
    """Whether "of" and the like is the preposition, not a part of one ("in front of")."""
    return predicate[-1] in _UNSEEN and not any(
        predicate[-len(several) :] == several for several in PREPOSITION_PHRASES
    )
