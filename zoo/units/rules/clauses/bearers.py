"""Bearers: corrects which noun phrase a predicate describes, by the kind of its object."""

from collections.abc import Sequence
from dataclasses import replace

from zoo.units.rules.clauses.reading import ClauseState
from zoo.units.rules.kinds import (
    ANIMALS,
    BEINGS,
    BODY_PARTS,
    CLOTHES,
    COMPETITIONS,
    FOODS,
    GROUNDS,
    HELD_THINGS,
    MOUNTS,
    MOVERS,
    NO_PLACES,
    PEOPLE,
    PLACES,
    ROLES,
    SUBSTANCES,
    TABLES,
    VEHICLES,
    WATERS,
    is_area,
    is_kind,
    is_seat,
)
from zoo.units.rules.lexicon import word_set
from zoo.units.rules.phrases.phrase import Phrase

# prepositions between a body part and something that is not the being itself
_PREPOSITIONS_OF_PARTS = {
    "in",
    "on",
    "around",
    "over",
    "under",
    "between",
    "above",
    "at",
    "across",
    "behind",
}
_IN_PLACES = (("in",), ("on",), ("at",), ("inside",), ("outside",))
_BESIDE = (("next", "to"), ("near",), ("beside",), ("by",))
_NEAR = (("in", "front", "of"), *_BESIDE, ("behind",), ("along",), ("under",))
_CLOSE_TO = (
    *(("in", "front", "of"), *_BESIDE),
    *(("behind",), ("above",), ("below",), ("around",), ("between",)),
)
_ON_OR_IN = (("on",), ("in",))
_NEXT_TO = (("next", "to"), ("beside",))
_INSIDE = (("in",), ("on",), ("on", "top", "of"), ("inside",))
# participles of states, not of what somebody does to another
_STATES = word_set("seated parked perched gathered dressed stopped docked placed positioned")
# who is with, next to or behind somebody is in the same place
_TOGETHER = word_set("with to beside near by of behind alongside")
_CLOSE_ACTS = word_set(
    "ride push pull walk chase lead hold carry hug pet feed follow drive tackle kiss"
)
# where somebody eats grass or jumps a bike, he is himself
_PLACED_BY_ACTOR = word_set("fly eat jump")
_PUTTING = word_set("put place set lay park leave hang throw toss kick hit see watch")
_LOADING = word_set("load put place set lay park")
_BOARDS = MOUNTS - ANIMALS
BACKDROPS = word_set("background foreground distance backdrop left right side air sky")
_INSIDE_PARTS = (("in", "arms"), ("in", "lap"))
_HANDS = word_set("hand hands paw paws trunk teeth mouth finger fingers")
_PLACES_NEARBY = frozenset(
    {"behind", "in front of", "next to", "near", "beside", "around", "above", "below", "between"}
)
_SUPPORTING_PARTS = word_set(
    "back belly stomach side knee knees feet foot leg legs hand hands arm arms lap shoulders head "
    "heels"
)


def set_bearer_of_body_part(state: ClauseState, part: Phrase, previous: Phrase | None) -> None:
    """Assigns "in its mouth" to what is there ("with a ball in its mouth"), not to the owner.

    `previous` precedes the preposition. If it is a verb, as in "is on his knees", the subject is
    meant.
    """
    if not state.predicate or state.predicate[-1] not in _PREPOSITIONS_OF_PARTS:
        return
    if "of" in part.words or not is_kind(part.head_text, BODY_PARTS - CLOTHES):
        return
    looks = state.predicate[:1] == state.verb_words[:1] and (
        state.has_perception_verb or state.predicate[-1] == "at"
    )
    is_thing = not any(is_kind(phrase.head_text, MOVERS) for phrase in state.bearers)
    stays = previous is not None and previous.kind == "verb"
    if looks or (stays and is_thing):
        # "nibbles at a face", "a tie that is in a hand"
        return
    if (
        state.object is not None
        and previous is state.object
        and is_kind(previous.head_text, BEINGS)
        and not part.owned
        and state.predicate in _ON_OR_IN
        and part.head_text not in _SUPPORTING_PARTS
    ):
        # "kisses a man on the cheek"
        state.bearers, state.predicate = state.actors, (*state.verb_words, *state.predicate)
        return
    on_own_part = (
        part.owned
        and state.predicate == ("on",)
        and part.head_text in _SUPPORTING_PARTS
        and state.object is None
        and state.governor != "with"
        and state.verb is not None
    )
    if on_own_part and state.actors:
        # "slides down a hill on her stomach"
        state.bearers = state.actors
        return
    bearer = state.last_noun if not stays and state.last_noun not in state.actors else None
    if bearer is not None and state.predicate == state.predicate[-1:]:
        carried = state.governor == "with" or is_kind(bearer.head_text, HELD_THINGS)
        fixed = is_kind(bearer.head_text, PLACES) and not carried
        state.bearers = [] if fixed else [bearer]
    elif (state.predicate[-1], part.head_text) not in _INSIDE_PARTS and not (
        state.predicate[-1] == "on" and part.head_text in _SUPPORTING_PARTS
    ):
        acts = stays and state.predicate[:-1] == state.verb_words and state.predicate[-1] != "in"
        # "chews on fingers"
        state.bearers = state.bearers if acts else []


def is_in_background(phrase_list: Sequence[Phrase], i: int) -> bool:
    """Returns whether the noun before i is "in the background" or "behind them"."""
    next_index = i
    while [p.kind for p in phrase_list[next_index : next_index + 2]] == ["joiner", "noun"]:
        next_index += 2
    i = next_index
    while next_index < len(phrase_list) and phrase_list[next_index].kind in ("verb", "preposition"):
        if phrase_list[next_index].finite:
            # "an airplane with propellers flies across the sky"
            return False
        next_index += 1
    phrases_between = phrase_list[i:next_index]
    if next_index < len(phrase_list) and phrase_list[next_index].kind == "noun":
        return (
            bool(phrases_between)
            and phrases_between[-1].words != ("with",)
            and _is_backdrop(*phrase_list[next_index - 1 : next_index + 1])
            and not _is_part_of_subject(
                phrase_list[i - 1], *phrase_list[next_index - 1 : next_index + 1]
            )
        )
    return (
        bool(phrases_between)
        and phrases_between[0].kind == "preposition"
        and phrases_between[0].text in _PLACES_NEARBY
    )


def _is_backdrop(preposition: Phrase, place: Phrase) -> bool:
    if place.head_text in ("side", "sides") and preposition.words == ("over",):
        # "with a towel hanging over the side"
        return False
    in_front = preposition.words == ("in",) and place.text == "front"
    return in_front or place.head_text in BACKDROPS


def _is_part_of_subject(noun: Phrase, preposition: Phrase, backdrop: Phrase) -> bool:
    """Returns whether a noun is of the subject: "with a bat in the air", "a pickle on the side"."""
    on_side = preposition.words == ("on",) and backdrop.text == "side"
    return on_side or (noun.owned and backdrop.text in ("air", "sky"))


def gives_object(state: ClauseState, previous: Phrase | None) -> bool:
    """Returns whether a second object follows a being: "handing a woman a cake"."""
    return (
        state.gives
        and previous is not None
        and previous is state.object
        and is_kind(previous.head_text, BEINGS)
        and not state.predicate
    )


def is_acting_being(phrase_list: Sequence[Phrase], i: int) -> bool:
    """Returns whether a being before i acts, as in "with a man lying on a bench"."""
    has_participle = (
        i < len(phrase_list) and phrase_list[i].kind == "verb" and not phrase_list[i].finite
    )
    return has_participle and phrase_list[i - 1].head_text in BEINGS


def set_bearer_on_mount(state: ClauseState, mount: Phrase) -> None:
    """Assigns "on a skateboard" to the actor, not to the object of the action."""
    done_to = state.object is not None and state.bearers == [state.object]
    if state.verb_base in _LOADING:
        return
    if done_to and state.predicate == ("on",) and is_kind(mount.head_text, _BOARDS):
        state.bearers = [] if is_kind(state.bearers[0].head_text, BEINGS) else state.actors


def set_bearer_in_place(state: ClauseState, place: Phrase) -> None:
    """Assigns "on a beach" to who holds or uses a thing there, not to the thing.

    So is "near a door" of who holds it, unless he puts it there.
    """
    object_phrase = state.object
    in_place = (
        state.predicate in _IN_PLACES and is_kind(place.head_text, PLACES, COMPETITIONS)
    ) or (state.predicate == ("in",) and is_kind(place.head_text, BEINGS))
    near_thing = (
        state.predicate in _NEAR
        and state.verb_base not in _PUTTING
        and not is_kind(place.head_text, BODY_PARTS)
    )
    if (
        object_phrase is not None
        and state.bearers == [object_phrase]
        and (in_place or near_thing)
        and (
            not is_kind(object_phrase.head_text, BEINGS, VEHICLES, MOUNTS, PLACES)
            or is_kind(place.head_text, COMPETITIONS)
            or state.verb_base in _PLACED_BY_ACTOR
        )
    ):
        state.bearers = state.actors


def add_bearers_in_place(state: ClauseState, place: Phrase) -> None:
    """Adds those who are together there: "a man with a dog on a beach", "riding horses on sand"."""
    if (
        state.bearers == [state.last_noun]
        and state.last_noun not in state.actors
        and (
            (
                state.predicate in _IN_PLACES
                and (
                    is_kind(place.head_text, GROUNDS, WATERS, SUBSTANCES)
                    or is_area(place.head_text)
                )
            )
            or (state.predicate in _NEAR and not is_kind(place.head_text, BODY_PARTS))
        )
        and all(is_kind(actor.head_text, MOVERS) for actor in state.actors)
        and (
            state.governor in _TOGETHER
            if state.object is not state.last_noun
            else state.verb_base in _CLOSE_ACTS
        )
    ):
        state.bearers = [*state.actors, *state.bearers]


def set_bearer_at_time(state: ClauseState, time: Phrase) -> None:
    """Assigns "at sunset" or "at a game" to who is there then, not to the place."""
    if state.predicate == ("at",) and time.head_text in NO_PLACES:
        state.bearers = state.actors
    elif state.predicate[-1:] == ("at",) and state.object and is_kind(time.head_text, COMPETITIONS):
        # "swings a bat at a game"
        state.bearers, state.predicate = state.actors, ("at",)


def set_bearer_of_agent(state: ClauseState, agent: Phrase) -> None:
    """Assigns "by a kitten" to who is "bitten on the nose", with the verb."""
    if (
        state.predicate == ("by",)
        and state.verb is not None
        and state.verb.passive
        and state.governor != "by"
        and state.verb.words[0] not in _STATES
        and is_kind(agent.head_text, BEINGS)
    ):
        state.bearers, state.predicate = state.actors, (*state.verb.words, "by")


def set_bearer_of_receiver(state: ClauseState, receiver: Phrase) -> None:
    """Assigns "to a guest" to who "explains wines", with the verb."""
    if (
        state.predicate == ("to",)
        and state.object is not None
        and state.bearers == [state.object]
        and is_kind(receiver.head_text, BEINGS, PEOPLE, ROLES)
        and not is_kind(state.object.head_text, MOVERS)
    ):
        state.bearers, state.predicate = state.actors, (*state.verb_words, "to")


def set_bearer_near_thing(state: ClauseState, place: Phrase) -> None:
    """Assigns a second place to the thing of the first one: "next to a TV on a table".

    A person next to a thing is not on or in what the thing is on, unless that is an area.
    """
    thing = state.last_noun
    if (
        thing is None
        or thing in (*state.subject, *state.actors)
        or state.object is not None
        or state.bearers != state.actors
        or not state.actors
        or is_kind(thing.head_text, MOVERS, BODY_PARTS, CLOTHES)
    ):
        return
    if state.predicate in _INSIDE and _is_near(state.last_predicate):
        at_seat = is_kind(place.head_text, MOUNTS) or is_seat(place.head_text)
        if at_seat or is_kind(place.head_text, CLOTHES, BODY_PARTS, COMPETITIONS, BEINGS):
            return
        if place.head_text in BACKDROPS | NO_PLACES or place.text in BACKDROPS:
            return
        # an animal or thing next to another one on a table is on it too
        on_table = (
            is_kind(place.head_text, TABLES)
            and state.last_predicate[-2:] in _NEXT_TO
            and not any(is_kind(actor.head_text, PEOPLE) for actor in state.actors)
        )
        both = is_area(place.head_text) or on_table
        state.bearers = [*state.actors, thing] if both else [thing]
    elif (
        state.predicate in _BESIDE
        and is_kind(thing.head_text, GROUNDS - SUBSTANCES)
        and is_kind(place.head_text, GROUNDS, WATERS)
    ):
        # "walk on a sidewalk next to a field"
        state.bearers = [*state.actors, thing]


def _is_near(predicate: tuple[str, ...]) -> bool:
    return any(predicate[-len(near) :] == near for near in _CLOSE_TO)


def set_bearer_of_its_part(state: ClauseState, part: Phrase) -> None:
    """Assigns "with its trunk open" to the car before it, since people are not "it"."""
    if (
        state.predicate == ("with",)
        and part.owner == "its"
        and state.last_noun is not None
        and state.subject
        and all(is_kind(phrase.head_text, PEOPLE) for phrase in state.subject)
    ):
        owners = [phrase for phrase in state.mentioned if phrase not in state.subject]
        if is_kind(part.head_text, BODY_PARTS):
            owners = [p for p in owners if is_kind(p.head_text, ANIMALS)] or owners
        state.bearers = owners[-1:]
    elif (
        part.owner == "its"
        and state.predicate in _ON_OR_IN
        and state.bearers
        and state.last_noun is not None
        and all(is_kind(phrase.head_text, PEOPLE) for phrase in state.bearers)
        and not is_kind(state.last_noun.head_text, PEOPLE)
    ):
        # "a man next to a car with a logo on its hood"
        state.bearers = [state.last_noun]


def set_bearer_of_content(state: ClauseState, part: Phrase) -> None:
    """Assigns "with candles" to the cake that somebody holds.

    Who pushes a ball "with his nose" or rides a bike "with a backpack" has it himself.
    """
    if state.predicate == ("with",) and not state.bearers and state.object is not None:
        uses_hands = part.head_text in _HANDS and not is_kind(state.object.head_text, BEINGS)
        is_actor_part = (
            (part.owned and is_kind(part.head_text, BODY_PARTS))
            or uses_hands
            or (
                is_kind(state.object.head_text, MOUNTS, VEHICLES)
                and is_kind(part.head_text, CLOTHES, HELD_THINGS)
            )
        )
        animals = all(is_kind(actor.head_text, ANIMALS) for actor in state.actors)
        if is_actor_part and (part.owner != "its" or animals):
            state.bearers = state.actors
            return
    if (
        state.predicate == ("with",)
        and not state.bearers
        and state.object is not None
        and state.object is state.last_noun
        and not part.owned
        and not is_kind(state.object.head_text, BEINGS, CLOTHES, BODY_PARTS)
        and not is_kind(part.head_text, BEINGS, CLOTHES, BODY_PARTS, HELD_THINGS)
    ):
        state.bearers = [state.object]


def set_bearer_of_print(state: ClauseState, shown: Phrase) -> None:
    """Assigns "with a skull" to the shirt before it, but "with blond hair" to the wearer."""
    garment = state.last_noun
    if (
        state.predicate != ("with",)
        or state.expects_direct_object
        or garment is None
        or garment in state.actors
    ):
        return
    is_of_wearer = state.is_held or is_kind(
        shown.head_text, BODY_PARTS, CLOTHES, BEINGS, HELD_THINGS, FOODS
    )
    if is_kind(garment.head_text, CLOTHES) and not is_of_wearer:
        state.bearers = [garment]


def handle_picture_content(state: ClauseState, shown: Phrase) -> None:
    """Handles pictures: taking one is photographing, and other verbs do not reach its content."""
    if not shown.pictured or not state.predicate:
        return
    if state.predicate == ("taking",):
        state.predicate = ("photographing",)
        state.verb = replace(state.verb, words=state.predicate) if state.verb else None
    else:
        state.bearers = []
