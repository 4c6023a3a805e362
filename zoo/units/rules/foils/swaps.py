"""Decides whether the arguments of a relation can be swapped.

For such a relation, only the image shows who does what to whom.
"""

from operator import or_

from zoo.units.rules import kinds
from zoo.units.rules import words as lists
from zoo.units.rules.kinds import head_of, is_kind
from zoo.units.rules.lexicon import BASES, OF_PEOPLE, PLURALS, word_set

_BETWEEN_BEINGS = word_set(lists.BETWEEN_BEINGS)
_BETWEEN_LIKE = _BETWEEN_BEINGS | word_set(lists.BETWEEN_LIKE)
_WITH_PREPOSITION = word_set(lists.BETWEEN_WITH_PREPOSITION)
_PREPOSITIONS = word_set(lists.SWAPPED_PREPOSITIONS)
_OF_PLACE = _PREPOSITIONS - {"at", "from", "to"}
_BETWEEN_THINGS = word_set("behind in_front_of above below")
_LIKE_THINGS = (kinds.VEHICLES, kinds.MANUFACTURED - kinds.VEHICLES)
_RUNNING = word_set("run swim jump leap")
# the one on top rests on the one below
_BEARS = frozenset({"top", "under", "beneath", "underneath"})
_BETWEEN_HUNTERS = word_set(lists.BETWEEN_HUNTERS)
_GAZING = kinds.BEINGS - kinds.COLD_BLOODED
_LIFELESS = word_set("toy stuffed fake plastic rubber statue inflatable mp3 cd dvd record cassette")
# a performer and an audience are in front of each other
_AUDIENCES = word_set("crowd audience spectators spectator onlookers bystanders fans group crowds")
_MANY = word_set("crowd team family band class audience group people")
_POSED = word_set(
    "seated sitting standing lying sleeping kneeling running walking swimming injured fallen "
    "wounded"
)
# in these postures each may be in front of the other
_STILL = word_set("sit stand lie kneel crouch squat pose embrace face wait stop look")


def can_swap(predicate: str, subject: str, object_: str) -> bool:
    """Returns whether the arguments can be swapped.

    Both must be beings that can do this to each other, or things of one kind.

    Args:
        predicate: The predicate's text.
        subject: The text of the relation's subject.
        object_: The text of the relation's object.
    """
    words = {*subject.split(), *object_.split()}
    if predicate.endswith("in front of") and words & _AUDIENCES:
        return False
    if _can_act(subject) and _can_act(object_):
        return not words & _POSED and _swaps_beings(predicate.split(), subject, object_)
    heads = head_of(subject), head_of(object_)
    same_kind = any(all(is_kind(head, kind) for head in heads) for kind in _LIKE_THINGS)
    return same_kind and heads[0] != heads[1] and predicate in _BETWEEN_THINGS


def _can_act(text: str) -> bool:
    return is_kind(head_of(text), _GAZING) and _LIFELESS.isdisjoint(text.split())


def _swaps_beings(words: list[str], subject: str, object_: str) -> bool:
    heads = head_of(subject), head_of(object_)
    are_people = [is_kind(head, kinds.PEOPLE) for head in heads]
    if _BEARS.intersection(words) and are_people[0] != are_people[1]:
        return False
    if " ".join(words) in _OF_PLACE:
        return words != ["in", "front", "of"]
    verb, rest = BASES.get(words[0]), " ".join(words[1:])
    if rest == "in front of" and verb in _STILL:
        return False
    if verb is None or not words[0].endswith("ing") or (rest and rest not in _PREPOSITIONS):
        return False
    if not rest and verb in _WITH_PREPOSITION:
        return False
    are_hunters = [is_kind(head, kinds.HUNTERS) for head in heads]
    hunts = verb in _BETWEEN_HUNTERS or (verb in _RUNNING and rest in ("after", "at"))
    if hunts and not all(map(or_, are_people, are_hunters)):
        return False
    if verb in OF_PEOPLE - _BETWEEN_BEINGS and not all(are_people):
        return False
    are_young = [
        any(is_kind(word, kinds.YOUNG) for word in text.split()) for text in (subject, object_)
    ]
    infants = any(is_kind(word, kinds.INFANTS) for word in (*subject.split(), *object_.split()))
    are_plural = [
        head.endswith("s") or head in PLURALS or not _MANY.isdisjoint(text.split())
        for head, text in zip(heads, (subject, object_), strict=True)
    ]
    are_alike = (
        all(a == b for a, b in (are_people, are_hunters, are_young, are_plural)) and not infants
    )
    return verb in (_BETWEEN_LIKE if are_alike else _BETWEEN_BEINGS)
