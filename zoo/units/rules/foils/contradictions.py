"""Predicates that cannot both be true of the same subject and object."""

from collections.abc import Sequence
from functools import lru_cache
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

_EXCLUSIVE_VERBS = tuple(map(frozenset, parse_word_sets(words.EXCLUSIVE_VERBS)))
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
_ON_OR_IN = frozenset({"on", "in"})


@lru_cache(1 << 16)
def contradiction(first: str, second: str, object_: str) -> Contradiction | None:
    """Returns why two predicates cannot both be true of the same subject and object.

    It is symmetric in the predicates: "sitting on" and "standing on" contradict each other by their
    verbs, "under" and "on" by their prepositions, and "holding" and "under" do not.

    Args:
        first: A predicate, such as "sitting on".
        second: Another predicate.
        object_: The head of the object.
    """
    (verb, preposition), (other_verb, other_preposition) = _split(first), _split(second)
    if verb is None or other_verb is None:
        return None
    if any({verb, other_verb} <= verbs for verbs in _EXCLUSIVE_VERBS):
        return None if same_meaning(verb, other_verb) else "verb"
    if verb != other_verb and not {verb, other_verb} <= _LOCATING | {"", "ride"}:
        return None
    pair = frozenset((preposition, other_preposition))
    if pair == _ON_OR_IN:
        return "preposition" if is_kind(object_, _CONTAINERS) else None
    if pair == {"up", "down"} and is_kind(object_, kinds.LEVELS):
        return None
    if is_kind(object_, kinds.CLOTHES) or ("at" in pair and not is_kind(object_, kinds.TABLES)):
        return None
    return "preposition" if pair in _EXCLUSIVE_PREPOSITIONS else None


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
