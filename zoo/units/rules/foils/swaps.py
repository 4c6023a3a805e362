"""Swaps: which relations can be turned round.

Of such a relation only the image tells who does what to whom.
"""

from operator import or_

from zoo.units.rules import kinds
from zoo.units.rules import words as lists
from zoo.units.rules.kinds import head_of, is_a
from zoo.units.rules.lexicon import BASES, OF_PEOPLE, PLURALS, word_set

_BETWEEN_BEINGS = word_set(lists.BETWEEN_BEINGS)
_BETWEEN_LIKE = _BETWEEN_BEINGS | word_set(lists.BETWEEN_LIKE)
_WITH_PREPOSITION = word_set(lists.BETWEEN_WITH_PREPOSITION)
_PREPOSITIONS = word_set(lists.SWAPPED_PREPOSITIONS)
_OF_PLACE = _PREPOSITIONS - {"at", "from", "to"}
_BETWEEN_THINGS = word_set("behind in_front_of above below")
_LIKE_THINGS = (kinds.VEHICLES, kinds.MADE - kinds.VEHICLES)
_RUNNING = word_set("run swim jump leap")
# who is on top bears upon who is under it
_BEARS = frozenset({"top", "under", "beneath", "underneath"})
_BETWEEN_HUNTERS = word_set(lists.BETWEEN_HUNTERS)
_GAZING = kinds.BEINGS - kinds.COLD_BLOODED
_LIFELESS = word_set("toy stuffed fake plastic rubber statue inflatable mp3 cd dvd record cassette")
# the one who performs and those who watch are each in front of the other
_AUDIENCES = word_set("crowd audience spectators spectator onlookers bystanders fans group crowds")
_MANY = word_set("crowd team family band class audience group people")
_POSED = word_set(
    "seated sitting standing lying sleeping kneeling running walking swimming injured fallen "
    "wounded"
)
# who is in front of another may have him in front as well
_STILL = word_set("sit stand lie kneel crouch squat pose embrace face wait stop look")


def can_swap(predicate: str, subject: str, object_: str) -> bool:
    """Whether the arguments may change places.

    Both are beings that could do this to each other, or things of one kind.

    Args:
        predicate: The predicate's text.
        subject: The text of the relation's subject.
        object_: The text of the relation's object.
    """
    words = {*subject.split(), *object_.split()}
    if predicate.endswith("in front of") and words & _AUDIENCES:
        return False
    if _acts(subject) and _acts(object_):
        return not words & _POSED and _between_beings(predicate.split(), subject, object_)
    heads = head_of(subject), head_of(object_)
    like = any(all(is_a(head, kind) for head in heads) for kind in _LIKE_THINGS)
    return like and heads[0] != heads[1] and predicate in _BETWEEN_THINGS


def _acts(text: str) -> bool:
    return is_a(head_of(text), _GAZING) and _LIFELESS.isdisjoint(text.split())


def _between_beings(words: list[str], subject: str, object_: str) -> bool:
    heads = head_of(subject), head_of(object_)
    people = [is_a(head, kinds.PEOPLE) for head in heads]
    if _BEARS.intersection(words) and people[0] != people[1]:
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
    hunters = [is_a(head, kinds.HUNTERS) for head in heads]
    hunts = verb in _BETWEEN_HUNTERS or (verb in _RUNNING and rest in ("after", "at"))
    if hunts and not all(map(or_, people, hunters)):
        return False
    if verb in OF_PEOPLE - _BETWEEN_BEINGS and not all(people):
        return False
    young = [any(is_a(word, kinds.YOUNG) for word in text.split()) for text in (subject, object_)]
    infants = any(is_a(word, kinds.INFANTS) for word in (*subject.split(), *object_.split()))
    several = [
        head.endswith("s") or head in PLURALS or not _MANY.isdisjoint(text.split())
        for head, text in zip(heads, (subject, object_), strict=True)
    ]
    like = all(a == b for a, b in (people, hunters, young, several)) and not infants
    return verb in (_BETWEEN_LIKE if like else _BETWEEN_BEINGS)
