"""A preposition in a clause: what it tells the place of."""

from zoo.units.rules.clauses.reading import Reading
from zoo.units.rules.kinds import BEINGS, LIMBS, MOVERS, PLACES, VEHICLES, is_a
from zoo.units.rules.lexicon import MOTIONS, PLACEHOLDERS, word_set
from zoo.units.rules.phrases.phrase import Phrase

_DIRECTIONS = word_set("to into from onto toward towards out_of off off_of away_from")
# a preposition that stands behind one of these has lost its noun
_COMPLETE = (("on",), ("with",), ("of",), ("at",), ("around",))
# with these a thing may follow that the object has
_HANDLING = word_set("hold carry bring push pull ride eat present serve show help feed watch use")
_GOING = MOTIONS | {"cross"}
_TOUCHING = frozenset({"on", "on top of", "onto", "against", "around", "over", "under"})


def start_preposition(now: Reading, preposition: Phrase, before: Phrase | None) -> None:
    """Takes up a preposition, and settles what it tells the place of.

    Args:
        now: Where the reader stands, which changes.
        preposition: The preposition.
        before: The phrase before it.
    """
    of_being = (
        before is not None
        and before is not now.object
        and _moves(now, before)
        and before.head_text in BEINGS
    )
    if now.object is not None and not of_being:
        # "does a trick on a ramp": where the deed is, the doer is
        of_actor = (
            (preposition.text == "with" and not _handles(now))
            or now.object.head_text in PLACEHOLDERS
            or _crosses(now.object, now)
            or (now.verb is not None and now.verb.words == ("wearing",))
        )
        now.bearers = (
            [now.object]
            if now.object.pictured
            else now.actors
            if of_actor
            else []
            if preposition.text in _DIRECTIONS or preposition.text == "with"
            else [now.object]
        )
        now.predicate = preposition.words
    elif now.predicate == ("in",):
        # "in red on a bike": a colour is no place
        now.predicate = preposition.words
    elif now.predicate:
        if now.predicate in _COMPLETE or now.predicate[-1] in ("to", "with", "at"):
            now.bearers = []
        now.predicate = (*now.predicate, *preposition.words)
    else:
        now.bearers = _whose(now, preposition, before)
        now.predicate = preposition.words


def _whose(now: Reading, preposition: Phrase, before: Phrase | None) -> list[Phrase]:
    """Returns what a preposition behind a noun phrase tells the place of.

    A part of the body is somewhere of its own ("with one hand on a bull"). Where "in" follows, its
    owner may be meant ("with its mouth open in the grass"), so that nothing is told.
    """
    passive = now.verb is not None and now.verb.passive
    if preposition.text == "by" and passive:
        # "is bitten on the nose by a kitten": nobody is beside it
        return []
    if preposition.text in _DIRECTIONS and before not in now.subject:
        # "throwing a ball, towards a dog": who or what goes there is left open
        return []
    if before is None or before is not now.last or before in now.subject:
        return now.actors
    if now.governor == "with" and is_a(before.head_text, LIMBS):
        return [before] if preposition.text in _TOUCHING else []
    if _moves(now, before):
        return [before]
    return [] if now.looks_on else now.actors


def _moves(now: Reading, noun: Phrase) -> bool:
    """Whether a noun phrase can be where it is by itself ("behind a man in a yellow shirt").

    It is the last noun phrase and no subject.
    """
    subject = any(noun is other for other in now.subject)
    return noun is now.last and not subject and noun.head_text in MOVERS


def _crosses(place: Phrase, now: Reading) -> bool:
    """Whether the object is where the subject goes: "crosses a river on a bridge"."""
    return (
        now.verb_base in _GOING
        and is_a(place.head_text, PLACES)
        and not is_a(place.head_text, VEHICLES)
    )


def _handles(now: Reading) -> bool:
    """Whether "with" may say more of the object: "holds a cake with candles"."""
    return now.verb_base in _HANDLING
