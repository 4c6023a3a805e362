"""Swaps: which relations can be turned round, so that only the image tells who does what to whom. Free of torch."""

from zoo.units import actions, kinds
from zoo.units.kinds import head_of, is_a
from zoo.units.lexicon import BASES, word_set

_BETWEEN_BEINGS = word_set(actions.BETWEEN_BEINGS)
_BETWEEN_LIKE = _BETWEEN_BEINGS | word_set(actions.BETWEEN_LIKE)
_WITH_PREPOSITION = word_set(actions.BETWEEN_WITH_PREPOSITION)
_PREPOSITIONS = word_set(actions.SWAPPED_PREPOSITIONS)
_OF_PLACE = _PREPOSITIONS - {"at", "from", "to"}
_OF_PEOPLE = word_set(actions.OF_PEOPLE)
_BETWEEN_THINGS = word_set("behind in_front_of above below")
_LIKE_THINGS = (kinds.VEHICLES, kinds.MADE - kinds.VEHICLES)
_LIFELESS = frozenset({"toy", "stuffed", "fake", "plastic", "rubber", "statue", "inflatable"})


def can_swap(predicate: str, subject: str, object_: str) -> bool:
    """Whether the arguments may change places: both are beings that could do this to each other, or things of one kind.

    Args:
        predicate: The predicate's text.
        subject: The text of the relation's subject.
        object_: The text of the relation's object.
    """
    if _acts(subject) and _acts(object_):
        return _between_beings(predicate.split(), subject, object_)
    heads = head_of(subject), head_of(object_)
    like = any(all(is_a(head, kind) for head in heads) for kind in _LIKE_THINGS)
    return like and heads[0] != heads[1] and predicate in _BETWEEN_THINGS


def _acts(text: str) -> bool:
    return is_a(head_of(text), kinds.BEINGS) and _LIFELESS.isdisjoint(text.split())


def _between_beings(words: list[str], subject: str, object_: str) -> bool:
    if " ".join(words) in _OF_PLACE:
        return True
    verb, rest = BASES.get(words[0]), " ".join(words[1:])
    if verb is None or not words[0].endswith("ing") or (rest and rest not in _PREPOSITIONS):
        return False
    if not rest and verb in _WITH_PREPOSITION:
        return False
    people = [is_a(head_of(text), kinds.PEOPLE) for text in (subject, object_)]
    if verb in _OF_PEOPLE - _BETWEEN_BEINGS and not all(people):
        return False
    young = [any(is_a(word, kinds.YOUNG) for word in text.split()) for text in (subject, object_)]
    infants = any(is_a(word, kinds.INFANTS) for word in (*subject.split(), *object_.split()))
    like = people[0] == people[1] and young[0] == young[1] and not infants
    return verb in (_BETWEEN_LIKE if like else _BETWEEN_BEINGS)
