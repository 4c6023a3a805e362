"""Contraries of predicates that make sense for the subject and object."""

from collections.abc import Iterator, Sequence

from zoo.units.rules import kinds
from zoo.units.rules import words as lists
from zoo.units.rules.kinds import is_kind
from zoo.units.rules.lexicon import (
    BASES,
    CONTRARY_PHRASES,
    CONTRARY_PREPOSITIONS,
    CONTRARY_VERBS,
    MOTIONS,
    OF_PEOPLE,
    PARTICIPLES,
    is_passive_with_agent,
    word_set,
)

_INTRANSITIVE, _TRANSITIVE = word_set(lists.INTRANSITIVE), word_set(lists.TRANSITIVE)
_POSTURES = word_set(lists.POSTURES)
_PLACES = word_set(lists.PLACES)
_WATCHLESS = kinds.MOUNTS | kinds.VEHICLES | kinds.INSTRUMENTS | kinds.BODY_PARTS
_ROADS = frozenset({"street", "road"})
_CARRIED = frozenset({"ball", "stick", "frisbee", "toy"})
_DRY = kinds.SUBSTANCES - {"water"}
_HANDLED = kinds.BEINGS | kinds.BODY_PARTS | kinds.SUBSTANCES | kinds.GROUNDS
_MOVES_PARTS = {
    "raising": "lowering",
    "lifting": "lowering",
    "opening": "closing",
    "closing": "opening",
}
_KEEPS_PREPOSITION = word_set(lists.KEEPS_PREPOSITION)
# movements that only go downhill
_DOWNHILL = word_set("slide glide ski snowboard skateboard sled fall roll skate drop rappel surf")

# sitting in front of these is the same as sitting behind them
_WORKED_AT = kinds.INSTRUMENTS | word_set(
    "harpsichord keyboard computer laptop desk table counter stove easel"
)
_NEVER_LYING = word_set("at around among against over")


def contrary_predicates(predicate: str, subject: str, object_: str) -> Iterator[str]:
    """Yields contraries of a predicate, best first.

    Args:
        predicate: The predicate's text, such as "sitting on".
        subject: The head of the relation's subject.
        object_: The head of the relation's object.

    Yields:
        Predicates that are false if the first is true.
    """
    if predicate in CONTRARY_PHRASES:
        yield CONTRARY_PHRASES[predicate]
        return
    words = predicate.split()
    verb = BASES.get(words[0])
    if is_kind(object_, kinds.LIMBS):
        if predicate in _MOVES_PARTS:
            yield _MOVES_PARTS[predicate]
        return
    for i in range(len(words)):
        preposition = " ".join(words[i:])
        if preposition in CONTRARY_PREPOSITIONS:
            contrary = _contrary_preposition(words[:i], preposition, object_)
            if (
                contrary
                and not is_passive_with_agent(words)
                and contrary.split()[0] not in words[:i]
            ):
                yield " ".join([*words[:i], contrary])
            break
    if verb in CONTRARY_VERBS and words[0] == PARTICIPLES[verb]:
        for contrary in CONTRARY_VERBS[verb]:
            if _is_plausible_contrary(contrary, words[1:], subject, object_):
                yield " ".join([PARTICIPLES[contrary], *words[1:]])


def _contrary_preposition(
    preceding_words: Sequence[str], preposition: str, object_: str
) -> str | None:
    """Returns the contrary of a preposition for this object, or None if it makes no sense."""
    verb = BASES.get(preceding_words[0], preceding_words[0]) if preceding_words else ""
    if preceding_words and preceding_words[0] in _KEEPS_PREPOSITION:
        return None
    usual_contrary = CONTRARY_PREPOSITIONS[preposition]
    if preposition in ("on", "onto", "on top of", "atop", "upon"):
        return _contrary_of_on(preposition, object_)
    if preposition == "in":
        return _contrary_of_in(object_)
    if preposition in ("to", "from", "into", "out of", "toward", "towards", "at"):
        if preposition == "at":
            return (
                None
                if object_ in kinds.NO_PLACES or is_kind(object_, kinds.BEINGS)
                else usual_contrary
            )
        return usual_contrary if verb in MOTIONS and not is_kind(object_, _DRY) else None
    if preposition in ("off", "off of"):
        return usual_contrary if not verb or verb in MOTIONS else None
    if preposition in ("over", "under", "underneath", "beneath"):
        if is_kind(object_, kinds.PLACES):
            return "away from" if verb in MOTIONS and object_ not in ("air", "sky") else None
        is_under = preposition != "over"
        if not is_under and is_kind(object_, kinds.BEINGS):
            return None
        return usual_contrary if not is_under or is_kind(object_, kinds.TABLES) else "far from"
    if preposition in ("through", "across", "along", "around"):
        return (
            usual_contrary
            if is_kind(object_, kinds.PLACES, kinds.SUPPORTS, kinds.TABLES, kinds.BEINGS)
            and object_ != "air"
            else None
        )
    if preposition in ("up", "down") and is_kind(object_, kinds.LEVELS):
        return "away from" if not verb or verb in MOTIONS - {"come"} else None
    if preposition == "in front of" and is_kind(object_, _WORKED_AT):
        return None
    if preposition in ("up", "down"):
        return usual_contrary if not verb or verb in MOTIONS - _DOWNHILL else None
    if preposition in ("with", "without"):
        return None if is_kind(object_, kinds.SUBSTANCES) and preceding_words else usual_contrary
    return None if object_ in ("air", "sky") else usual_contrary


def _contrary_of_on(preposition: str, object_: str) -> str | None:
    """Returns the contrary of "on": under a table, next to a bicycle, far from a beach."""
    if preposition == "onto":
        return "off"
    if is_kind(object_, kinds.TABLES):
        return "under"
    if is_kind(object_, kinds.MOUNTS, kinds.SUPPORTS):
        return "next to"
    if is_kind(object_, kinds.GROUNDS):
        return "far from"
    return None if object_ in kinds.NO_PLACES else "next to"


def _contrary_of_in(object_: str) -> str | None:
    if is_kind(object_, kinds.CLOTHES, kinds.TRAITS):
        return "without"
    if object_ in ("air", "sky", "rain", "sunlight", "shade", "light", "wave", "waves"):
        return None
    if is_kind(object_, kinds.WATERS, kinds.SUBSTANCES, _ROADS):
        return "far from"
    return (
        "outside of"
        if is_kind(object_, kinds.ENCLOSURES)
        else "far from"
        if is_kind(object_, kinds.GROUNDS)
        else None
    )


_OF_BEINGS, _OF_THINGS = word_set(lists.OF_BEINGS), word_set(lists.OF_THINGS)
_OF_VEHICLES = word_set(lists.OF_VEHICLES)


def _is_plausible_contrary(contrary: str, rest: Sequence[str], subject: str, object_: str) -> bool:
    """Returns whether the subject can do this to the object.

    For example, waves are not repaired, and nobody sits across a field.
    """
    if contrary in (_TRANSITIVE if rest else _INTRANSITIVE):
        return False
    if rest and contrary in _POSTURES and " ".join(rest) not in _PLACES:
        return False
    if contrary in ("lie", "sleep") and not _NEVER_LYING.isdisjoint(rest):
        return False
    if contrary == "fall" and rest[:1] != ["from"]:
        return False
    if contrary == "sleep" and is_kind(
        object_, kinds.SUBSTANCES if rest == ["with"] else kinds.WATERS
    ):
        return False
    if contrary in _POSTURES and not is_kind(subject, kinds.BEINGS):
        return False
    if contrary in OF_PEOPLE and not is_kind(subject, kinds.PEOPLE):
        return False
    if rest:
        return True
    if contrary in _OF_BEINGS:
        return contrary == "ignore" or is_kind(object_, kinds.BEINGS)
    if contrary in _OF_VEHICLES:
        return is_kind(object_, kinds.VEHICLES)
    if contrary == "remove":
        return is_kind(object_, kinds.CLOTHES)
    if contrary == "hold":
        return is_kind(object_, kinds.CLOTHES)
    if contrary == "watch":
        return not is_kind(object_, _WATCHLESS)
    if contrary == "carry":
        return is_kind(object_, kinds.INSTRUMENTS, _CARRIED)
    if contrary == "push":
        return is_kind(object_, kinds.VEHICLES, kinds.MOUNTS, kinds.BEINGS)
    if contrary == "wash":
        return is_kind(object_, kinds.VEHICLES, kinds.RIDEABLE)
    if contrary == "descend":
        return is_kind(object_, kinds.CLIMBABLE, kinds.GROUNDS)
    if contrary == "spill":
        return True
    return contrary not in _OF_THINGS or not is_kind(object_, _HANDLED)
