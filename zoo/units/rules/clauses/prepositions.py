"""Prepositions in a clause: finds the bearer, whose place a preposition gives."""

from zoo.units.rules.clauses.reading import ClauseState
from zoo.units.rules.kinds import BEINGS, LIMBS, MOVERS, PLACES, VEHICLES, is_area, is_kind
from zoo.units.rules.lexicon import BASES, MOTIONS, PLACEHOLDERS, present_participle, word_set
from zoo.units.rules.phrases.phrase import Phrase

_DIRECTIONS = word_set("to into from onto toward towards out_of off off_of away_from")
# the noun is missing if a preposition follows one of these
_COMPLETE = (("on",), ("with",), ("of",), ("at",), ("around",))
# after these verbs "with" may describe the object
_HANDLING = word_set("hold carry bring push pull ride eat present serve show help feed watch use")
_PUTTING = word_set("put load pour push pull stuff pack place fill lift throw kick toss take")
_PASSING = word_set("throw toss kick pass hand give serve feed show offer bring present read")
_TAKING_IN = word_set("eat drink watch see view photograph")
_AIMING = word_set("swing throw toss kick point shoot aim spray")
# who looks at these is what the rest of the caption is about
_CAMERAS = word_set("camera cameras photographer")
_INTO = word_set("onto into out_of off")
_PATHS = word_set("down up through across along past over around toward towards")
_CONVEYING = word_set("ride drive push pull lead walk carry chase follow fly sail paddle drag")
_INDEFINITE = word_set("something anything")
_GOING = MOTIONS | {"cross"}
_NEARBY = frozenset({"next to", "near", "beside", "by", "close to", "alongside"})
_FILLING = word_set("fill cover load decorate stuff pack top")
# prepositions after a limb: "one hand on a bull", "its head out of a window"
_TOUCHING = {
    "on",
    "on top of",
    "onto",
    "into",
    "against",
    "around",
    "over",
    "under",
    "out",
    "out of",
    "through",
}


def start_preposition(state: ClauseState, preposition: Phrase, previous: Phrase | None) -> None:
    """Reads a preposition and sets its bearers.

    Args:
        state: The reading state, which is updated.
        preposition: The preposition.
        previous: The phrase before it.
    """
    if preposition.words == ("full", "of") and previous is not None and previous.kind == "noun":
        # "holds a bin full of lemons"
        state.bearers, state.predicate = [previous], preposition.words
        return
    if previous is not None and previous.kind == "joiner" and state.previous_verb is not None:
        # "jumping over rocks and towards the water"
        state.verb, state.actors = state.previous_verb, state.previous_actors
    of_being = (
        previous is not None
        and previous is not state.object
        and _is_own_bearer(state, previous)
        and previous.head_text in BEINGS
    )
    if state.object is not None and not of_being and not _is_limb_after_with(state, previous):
        # "does a trick on a ramp": the actor is on the ramp
        of_actor = (
            (preposition.text == "with" and not _with_may_describe_object(state))
            or state.object.head_text in PLACEHOLDERS
            or (state.gives and preposition.text not in _DIRECTIONS)
            or _is_crossed_place(state.object, state)
            or (state.verb is not None and state.verb.words == ("wearing",))
            or preposition.text == "during"
            or _follows_path(state, preposition, previous)
            # "takes a swing at a ball on a field"
            or (
                state.verb_base == "take"
                and state.object.head_text in BASES
                and preposition.text in ("in", "on", "near", "next to")
            )
        )
        state.bearers = (
            [state.object]
            if state.object.pictured or (preposition.text == "with" and state.verb_base in _FILLING)
            else state.actors
            if of_actor
            else [state.object]
            if state.verb_base in _PUTTING and preposition.text in _INTO
            else []
            if preposition.text == "with"
            or (preposition.text in _DIRECTIONS and previous is not state.object)
            else [state.object]
        )
        state.predicate = preposition.words
        is_passed = state.object.head_text not in PLACEHOLDERS
        if preposition.text == "to" and state.verb_base in _PASSING and is_passed:
            # "passes the ball to a player"
            state.bearers, state.predicate = state.actors, (*state.verb_words, "to")
        elif (preposition.text == "from" and state.verb_base in _TAKING_IN) or (
            preposition.text == "at" and state.verb_base in _AIMING
        ):
            # "drinks water from a bottle", "swings a bat at a ball"
            state.bearers = state.actors
            state.predicate = (*state.verb_words, *preposition.words)
        elif (
            previous is state.object
            and not state.object.pictured
            and state.object.text in PLACEHOLDERS
            and (
                preposition.text in _PATHS | _DIRECTIONS
                or (state.object.text in _INDEFINITE and preposition.text != "with")
            )
        ):
            # "gets help from an adult", "eats something off the ground"
            state.bearers = state.actors
            state.predicate = (*state.verb_words, *state.object.words, *preposition.words)
        elif preposition.text in _PATHS and state.verb_base in _CONVEYING:
            # "rides a bike down a road"
            state.bearers = state.actors
            state.predicate = (*state.verb_words, *preposition.words)
        elif preposition.text == "at" and state.verb_base == "take":
            # "takes a swing at a ball"
            state.bearers = state.actors if state.object.head_text in BASES else []
            state.predicate = (present_participle(state.object.head_text), "at")
    elif state.predicate[-1:] == ("in",) and previous is not None and previous.text == "in":
        # "in red on a bike", "painted in pink with a rug": a colour is not a place
        state.predicate = preposition.words
    elif preposition.text == "during":
        state.bearers, state.predicate = state.actors or state.subject, preposition.words
    elif state.predicate == ("from",) and not state.bearers:
        # "speaking to a woman from behind a desk"
        state.bearers, state.predicate = state.actors, preposition.words
    elif state.predicate:
        if state.predicate in _COMPLETE or state.predicate[-1] in ("to", "with", "at"):
            state.bearers = []
        state.predicate = (*state.predicate, *preposition.words)
    else:
        state.bearers = _bearers_of_preposition(state, preposition, previous)
        goes_on = state.bearers is state.actors and _goes_on(state, preposition)
        state.predicate = (state.verb_words if goes_on else ()) + preposition.words


def _is_limb_after_with(state: ClauseState, noun: Phrase | None) -> bool:
    """Returns whether a noun is a body part that somebody is said to have: "with one hand"."""
    return (
        state.governor == "with"
        and noun is not None
        and noun is state.last_noun
        and is_kind(noun.head_text, LIMBS)
    )


def _follows_path(state: ClauseState, preposition: Phrase, previous: Phrase | None) -> bool:
    """Returns whether a place follows a path: "rides a skateboard up a ramp by a mountain"."""
    return (
        preposition.text not in ("with", "of")
        and previous is state.last_noun
        and previous is not state.object
        and len(state.last_predicate) > 1
        and state.last_predicate[:1] == state.verb_words[:1]
    )


def _bearers_of_preposition(
    state: ClauseState, preposition: Phrase, previous: Phrase | None
) -> list[Phrase]:
    """Returns the bearers of a preposition after a noun phrase.

    A body part may have its own place ("with one hand on a bull"). If "in" follows, the place may
    be that of the owner ("with its mouth open in the grass"), so that there is no bearer.
    """
    of_limb = _is_limb_after_with(state, previous)
    if previous is not None and of_limb and preposition.text in _TOUCHING:
        return [previous]
    if preposition.text in _DIRECTIONS and previous not in state.subject:
        # "throwing a ball, towards a dog": it is unclear who or what goes there
        return state.actors if _goes_on(state, preposition) else []
    if previous is None or previous is not state.last_noun or previous in state.subject:
        return state.actors
    if of_limb:
        return []
    if state.wearer is not None and preposition.text in ("on", "with") and previous.owner == "":
        # "with a child in a suit on skis"
        return [state.wearer]
    is_path = preposition.text in _PATHS and not is_kind(previous.head_text, BEINGS)
    if is_path and _goes_on(state, preposition):
        # "rides on a bike down a road"
        return state.actors
    if preposition.text == "with" and is_kind(previous.head_text, VEHICLES):
        # "a man in a car with a dog"
        return state.actors
    if _is_next_to_vehicle_of_being(state, preposition, previous):
        return state.actors
    if _is_own_bearer(state, previous) or _is_part_of_thing(state, preposition, previous):
        return [previous]
    if not state.actors and not state.subject:
        # "looking at rain on a street"
        return [previous]
    stays = (
        state.has_perception_verb
        and state.governor in ("at", *state.verb_words)
        and previous.head_text not in _CAMERAS
        and not _goes_on(state, preposition)
    )
    return [] if stays else state.actors


def _goes_on(state: ClauseState, preposition: Phrase) -> bool:
    """Returns whether a motion or gaze has another goal: "jumps from a dock into a lake"."""
    if state.object is not None or state.governor == "with":
        return False
    if preposition.text == "at":
        return state.has_perception_verb
    return preposition.text in _DIRECTIONS | _PATHS and state.verb_base in _GOING


def _is_part_of_thing(state: ClauseState, preposition: Phrase, noun: Phrase) -> bool:
    """Returns whether what a thing or place has is somewhere: "a kitchen with pots on a stove".

    A thing with something on it may itself be on another one ("a cake with candles on a table").
    """
    if state.last_predicate == ("along", "with"):
        # "a plate , along with a cup on a tray"
        return True
    if state.governor not in ("with", "containing", "holding") or not state.subject:
        return False
    subject = state.subject[-1].head_text
    if is_kind(subject, MOVERS) or preposition.text in ("of", "for"):
        return False
    if preposition.text == "with":
        # "a toilet with a lid with buttons"
        return state.governor == "with"
    return preposition.text == "in" or is_area(subject)


def _is_next_to_vehicle_of_being(state: ClauseState, preposition: Phrase, previous: Phrase) -> bool:
    """Returns whether a being in a vehicle is near something: "on a train next to a bag"."""
    return (
        preposition.text in _NEARBY
        and state.governor in ("on", "in", "inside", "aboard")
        and is_kind(previous.head_text, VEHICLES)
        and bool(state.actors)
        and all(is_kind(actor.head_text, BEINGS) for actor in state.actors)
    )


def _is_own_bearer(state: ClauseState, noun: Phrase) -> bool:
    """Returns whether a noun phrase is a bearer by itself ("behind a man in a yellow shirt").

    It must be the last noun phrase, able to move, and not the subject.
    """
    is_subject = any(noun is subject_phrase for subject_phrase in state.subject)
    is_role = state.governor == "as"
    return (
        noun is state.last_noun
        and not is_subject
        and not is_role
        and noun.head_text in MOVERS
        # "in a group in traffic"
        and noun.text not in PLACEHOLDERS
    )


def _is_crossed_place(place: Phrase, state: ClauseState) -> bool:
    """Returns whether the object is where the subject goes: "crosses a river on a bridge"."""
    return (
        state.verb_base in _GOING
        and is_kind(place.head_text, PLACES)
        and not is_kind(place.head_text, VEHICLES)
    )


def _with_may_describe_object(state: ClauseState) -> bool:
    """Returns whether "with" may describe the object: "holds (or has) a cake with candles"."""
    return state.verb_base in _HANDLING or state.verb_words == ("with",)
