"""Verbs in a clause: finds the actor of a verb."""

from zoo.units.rules import words as lists
from zoo.units.rules.clauses.bearers import BACKDROPS
from zoo.units.rules.clauses.reading import ClauseState
from zoo.units.rules.kinds import (
    BEINGS,
    FOODS,
    GROUNDS,
    MOVERS,
    SUBSTANCES,
    WATERS,
    is_kind,
)
from zoo.units.rules.lexicon import BASES, LOOKING_ON, PICTURES, PLACEHOLDERS, word_set
from zoo.units.rules.phrases.phrase import Phrase

# "a ledge surrounding a tree": verbs of things, not of the beings on them
_OF_THINGS = word_set(
    "surrounding saying reading containing featuring depicting advertising reflecting"
)
# what things do: "with water flowing around them"
_HAPPENING = word_set(
    "flowing hanging blowing glaring sticking coming growing rising falling dangling shining "
    "showing protruding dripping pouring"
)
_SHOWING = word_set("show depict feature capture")
# states of a vehicle or person, not of the place where it is
_PLACING = word_set("in on at over across along through near under by")
_STATES_OF_MOVERS = word_set("parked stuck stopped docked gathered dressed stranded")
_ACTS = word_set(lists.OF_BEINGS_ALONE) | word_set("fly hold carry sit")


def start_verb(state: ClauseState, verb: Phrase, previous: Phrase | None) -> None:
    """Reads a verb and sets its actors: the subject, the nearest noun phrase or nobody.

    Args:
        state: The reading state, which is updated.
        verb: The verb group.
        previous: The phrase before it.
    """
    watches = state.verb is not None and BASES.get(" ".join(state.verb.words[-1:])) in LOOKING_ON
    watched = (
        state.object if watches and state.object and state.object.head_text in MOVERS else None
    )
    if _shows_picture(state, verb):
        state.end_clause_keep_subject()
        state.subject, state.actors, state.last_noun = [], [], None
        return
    if (
        verb.finite
        and not state.subject
        and state.last_noun is not None
        and state.last_noun is previous
        and (state.verb is not None or is_kind(state.last_noun.head_text, MOVERS))
    ):
        # "sail boats are on a lake"
        state.subject = [state.last_noun]
    joins = previous is not None and previous.kind == "joiner"
    after_relative = previous is not None and previous.kind == "relative"
    qualifies = not verb.finite and previous is not None and previous.kind in ("noun", "joiner")
    set_off = previous is not None and previous.text == ","
    of_thing = not _OF_THINGS.isdisjoint(verb.words[:1]) or (
        state.governor == "with" and not _HAPPENING.isdisjoint(verb.words[:1])
    )
    nearest = (
        state.last_noun is not None
        and not _is_in_crowd(state)
        and state.governor != "as"
        and not (state.verb is None and state.last_predicate == ("from",) and not after_relative)
        and (
            (after_relative and not _acts_elsewhere(state, verb))
            or (
                qualifies
                and (
                    (verb.passive and not set_off and not _is_state_of_subject(state, verb))
                    or of_thing
                    or state.last_noun.head_text in BEINGS
                    or _belongs_to_place(state)
                    or _is_hand_holding(state, verb)
                    or ((watches or state.has_perception_verb) and not state.subject)
                )
            )
        )
    )
    of_being = state.last_noun is not None and any(
        is_kind(word, BEINGS) for word in state.last_noun.words[state.last_noun.head[1] :]
    )
    is_actor_unknown = (
        state.last_noun is not None
        and state.last_noun is previous
        and (
            (qualifies and bool(state.subject) and _may_describe_perceived(state, verb))
            or (qualifies and of_being)
            or (watches and watched is None and bool(state.subject))
        )
    )
    # "holding a dog and reading": the actors stay the same
    is_joined = (
        joins
        and state.previous_verb is not None
        and not verb.finite
        and (
            all(is_kind(actor.head_text, MOVERS) for actor in state.previous_actors)
            or (verb.passive and state.previous_verb.passive)
        )
    )
    # "a man and a dog running": the participle belongs to both
    if is_joined:
        state.actors = state.previous_actors
    elif (
        state.wearer is not None
        and not verb.passive
        and (after_relative or previous is state.last_noun)
    ):
        # "next to a boy in a shirt eating food"
        state.actors = [state.wearer]
    elif qualifies and not verb.passive and _being_in_background(state):
        state.actors = _being_in_background(state)
    elif nearest and state.last_noun is not None and state.last_noun not in state.subject:
        someone = previous is not None and previous.words == ("who",)
        state.actors = (
            [] if someone and not is_kind(state.last_noun.head_text, MOVERS) else [state.last_noun]
        )
    elif watched is not None and watched is previous:
        state.actors = [watched]
    elif is_actor_unknown and state.last_noun not in state.subject:
        # "looks at leaves blowing", "holds the arm of a man wearing a hat"
        state.actors = []
    else:
        state.actors = state.subject
    if state.leaves_actor_open:
        state.actors, state.leaves_actor_open = [], False
    if not joins or verb.passive:
        state.joined_verb = None
    state.previous_verb = None
    state.verb, state.object = verb, None
    state.predicate, state.bearers = verb.words, state.actors


def _shows_picture(state: ClauseState, verb: Phrase) -> bool:
    """Returns whether a picture shows what follows: "this picture shows a boy"."""
    return (
        bool(state.subject)
        and state.subject[-1].head_text in PICTURES
        and BASES.get(" ".join(verb.words)) in _SHOWING
    )


def _is_state_of_subject(state: ClauseState, verb: Phrase) -> bool:
    """Returns whether a passive does not describe the last noun, which is a place.

    It describes the subject in "a motorcycle in the foreground parked", "cars on a road stuck" and
    "a dog on a beach chased".
    """
    if not state.subject or state.last_noun is None:
        return False
    place, subject = state.last_noun.head_text, state.subject[-1].head_text
    if state.verb is not None and state.verb.passive and is_kind(place, SUBSTANCES):
        # "a meter covered in ice surrounded by snow"
        return True
    moves = is_kind(subject, MOVERS) and is_kind(place, GROUNDS, WATERS)
    is_position = place in PLACEHOLDERS and state.governor in ("in", "on", "at")
    is_done = BASES.get(verb.words[0]) in _ACTS
    if state.governor == "with" and not is_kind(place, MOVERS):
        # "a motorcycle with a seat parked on a road", "a hot dog with toppings served on a plate"
        serves = verb.words[0] == "served" and is_kind(subject, FOODS)
        return serves or (is_kind(subject, MOVERS) and verb.words[0] in _STATES_OF_MOVERS)
    placed = state.governor in _PLACING and not is_kind(place, MOVERS)
    return (
        is_position
        or (moves and verb.words[0] in _STATES_OF_MOVERS)
        or (is_kind(subject, MOVERS) and placed and is_done)
    )


def _may_describe_perceived(state: ClauseState, verb: Phrase) -> bool:
    """Returns whether a participle may describe what is perceived: "looks at leaves blowing".

    Only beings can do some things: "looks at a mountain standing on a rock".
    """
    acts = BASES.get(" ".join(verb.words[:1])) in _ACTS | {"stand", "sit"}
    thing = state.last_noun is not None and not is_kind(state.last_noun.head_text, MOVERS)
    perceived = state.has_perception_verb and state.governor not in ("on", "in", "out", "through")
    return perceived and not (acts and thing)


def _acts_elsewhere(state: ClauseState, verb: Phrase) -> bool:
    """Returns whether a being acts at the last noun: "a man on a beach that is flying a kite"."""
    return (
        not verb.passive
        and state.last_noun is not None
        and not is_kind(state.last_noun.head_text, MOVERS)
        and any(is_kind(phrase.head_text, BEINGS) for phrase in state.subject)
        # "a railing that runs next to a road"
        and BASES.get(" ".join(verb.words[:1])) in _ACTS - {"run"}
    )


def _is_in_crowd(state: ClauseState) -> bool:
    """Returns whether the subject is in a crowd, so that a verb is its own: "a lady in a crowd"."""
    return (
        state.governor in ("in", "among", "amongst", "within")
        and state.last_noun is not None
        and state.last_noun.head_text in ("crowd", "audience", "group")
        and any(is_kind(phrase.head_text, BEINGS) for phrase in state.subject)
    )


def _being_in_background(state: ClauseState) -> list[Phrase]:
    """Returns who acts in the background: "with people in the background sitting on a bench"."""
    if state.last_noun is None or state.last_noun.text not in BACKDROPS:
        return []
    return [
        phrase
        for phrase in state.mentioned[-2:-1]
        if phrase not in state.subject and is_kind(phrase.head_text, BEINGS)
    ]


def _is_hand_holding(state: ClauseState, verb: Phrase) -> bool:
    """Returns whether a hand of nobody mentioned holds something: "a hand holding a phone"."""
    hand = state.last_noun
    return (
        hand is not None
        and not hand.owned
        and hand.words[-1] in ("hand", "hands")
        and verb.words == ("holding",)
    )


def _belongs_to_place(state: ClauseState) -> bool:
    """Returns whether the last noun is in a thing or place: "a room with clothes hanging"."""
    return state.governor == "with" and not any(
        is_kind(phrase.head_text, MOVERS) for phrase in state.subject
    )
