"""Predicates that cannot both be true of the same subject and object."""

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal

from zoo.units.rules import kinds, words
from zoo.units.rules.kinds import is_kind
from zoo.units.rules.lexicon import (
    BASES,
    MOTIONS,
    is_passive_with_agent,
    parse_word_sets,
    same_meaning,
    singulars_and_plurals,
    word_set,
)

Contradiction = Literal["verb", "preposition"]
CONTRADICTIONS: tuple[Contradiction, ...] = ("verb", "preposition")

_EXCLUSIVE_VERBS = frozenset(
    frozenset(pair)
    for verbs in parse_word_sets(words.EXCLUSIVE_VERBS)
    for pair in combinations(verbs, 2)
)
_EXCLUSIVE_PREPOSITIONS = frozenset(
    frozenset((first, second))
    for sides in parse_word_sets(words.EXCLUSIVE_PREPOSITIONS)
    for first in sides[: sides.index(":")]
    for second in sides[sides.index(":") + 1 :]
)
# verbs that say where the subject is, or where it goes
_LOCATING = word_set(words.POSTURES) | MOTIONS | word_set("park hang wait graze float fly look")
# something can be in these or on them, not both
_CONTAINERS = singulars_and_plurals(
    word_set(
        "box bag basket bowl bucket suitcase sink bathtub tub oven refrigerator fridge cup glass"
    )
)
_ON, _IN = word_set("on on_top_of atop upon onto"), word_set("in inside inside_of within")
_OBJECT_KINDS = (_CONTAINERS, kinds.LEVELS, kinds.CLOTHES, kinds.TABLES)


def contradiction(first: str, second: str, object_: str) -> Contradiction | None:
    """Returns why two predicates cannot both be true of the same subject and object.

    It is symmetric in the predicates: "sitting on" and "standing on" contradict each other by their
    verbs, "under" and "on" by their prepositions, and "holding" and "under" do not.

    Args:
        first: A predicate, such as "sitting on".
        second: Another predicate.
        object_: The head of the object.
    """
    return _contradiction(first, second, _object_kinds(object_))


@lru_cache(1 << 16)
def _object_kinds(object_: str) -> tuple[bool, ...]:
    """Returns which of `_OBJECT_KINDS` an object belongs to."""
    return tuple(is_kind(object_, kind) for kind in _OBJECT_KINDS)


@lru_cache(1 << 16)
def _contradiction(first: str, second: str, object_kinds: tuple[bool, ...]) -> Contradiction | None:
    is_container, is_level, is_clothing, is_table = object_kinds
    (verb, preposition), (other_verb, other_preposition) = _split(first), _split(second)
    if verb is None or other_verb is None:
        return None
    if frozenset((verb, other_verb)) in _EXCLUSIVE_VERBS:
        return None if same_meaning(verb, other_verb) else "verb"
    if verb != other_verb and not {verb, other_verb} <= _LOCATING | {"", "ride"}:
        return None
    pair = frozenset((preposition, other_preposition))
    if pair & _ON and pair & _IN:
        return "preposition" if is_container else None
    if pair == {"up", "down"} and is_level:
        return None
    if is_clothing or ("at" in pair and not is_table):
        return None
    return "preposition" if pair in _EXCLUSIVE_PREPOSITIONS else None


@lru_cache(1 << 16)
def _split(predicate: str) -> tuple[str | None, str]:
    """Returns the base of the verb ("" without one) and the preposition; no verb if unknown."""
    parts: Sequence[str] = predicate.split()
    if is_passive_with_agent(parts):
        return None, ""
    base = BASES.get(parts[0]) if parts[0] == "parked" or parts[0].endswith("ing") else None
    if base is None:
        # a preposition, or a verb that is not in the lists
        return (None, "") if parts[0].endswith(("ing", "ed")) else ("", predicate)
    return base, "on" if base == "ride" and len(parts) == 1 else " ".join(parts[1:])
