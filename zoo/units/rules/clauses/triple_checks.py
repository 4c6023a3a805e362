"""Checks whether a predicate really relates two noun phrases."""

from zoo.units.rules import words as lists
from zoo.units.rules.clauses.reading import ClauseState
from zoo.units.rules.kinds import (
    BEINGS,
    BODY_PARTS,
    CLOTHES,
    FOODS,
    GROUNDS,
    HELD_THINGS,
    LIMBS,
    MOUNTS,
    MOVERS,
    PLACES,
    WATERS,
    is_area,
    is_kind,
)
from zoo.units.rules.lexicon import (
    BASES,
    NOUN_FOILS,
    PREPOSITION_PHRASES,
    singulars_and_plurals,
    word_set,
)
from zoo.units.rules.phrases.phrase import Phrase

_LONGEST_PREDICATE = 7
# what follows these is neither a place nor an object
_NON_VISUAL_PREPOSITIONS = {"of", "for", "about", "except", "via"}
_PREPOSITIONS_OF_PLACE = word_set(
    "in on at near by behind beside along across through down up over under to around above below "
    "beneath underneath inside outside within atop"
)
_PARTS = LIMBS - CLOTHES
# "high in the air with a bicycle"
_NOWHERE = word_set("air midair background foreground distance")
_OUTWARD = (("out",), ("over",), ("onto",), ("into",))
_POSTURES = word_set("sit stand lie kneel crouch squat sleep lean")
# verbs that things cannot do
_VERBS_OF_BEINGS = word_set(lists.OF_BEINGS_ALONE)
# these wear and hold things as beings do
FIGURES = singulars_and_plurals(word_set("teddy_bear doll mannequin statue snowman stuffed_animal"))
_THINGS = (CLOTHES | BODY_PARTS | frozenset(NOUN_FOILS)) - MOVERS - FIGURES
# "with the city behind them": nobody has the city
_SETTINGS = (
    GROUNDS
    | WATERS
    | singulars_and_plurals(
        word_set("city town building house mountain forest sky sunset scenery tree sun")
    )
) - {"ice"}


def is_valid_triple(bearer: Phrase, state: ClauseState, noun: Phrase) -> bool:
    """Returns whether the predicate really relates the bearer to the noun phrase."""
    first_base, last_base = (
        BASES.get(" ".join(words)) for words in (state.predicate[:1], state.predicate[-1:])
    )
    if (
        state.verb
        and state.expects_direct_object
        and (
            state.verb.passive
            or (last_base in _POSTURES and not is_kind(noun.head_text, BODY_PARTS))
        )
    ):
        return False
    acts = state.verb is None or not state.verb.passive
    # "a window looking out to trees"
    outward = first_base == "look" and state.predicate[1:2] in _OUTWARD
    # "soup is cooking on a stove"
    cooks = first_base == "cook" and any(is_kind(word, FOODS) for word in bearer.words)
    acts = acts and not (outward or cooks)
    if acts and first_base in _VERBS_OF_BEINGS and is_kind(bearer.head_text, _THINGS):
        return False
    if state.predicate in (("with",), ("without",)) and not _noun_belongs_to_bearer(
        bearer, state, noun
    ):
        return False
    if (
        state.predicate == ("in",)
        and _has_nearer_subject(bearer, state)
        and is_kind(noun.head_text, CLOTHES)
    ):
        return False
    if (
        state.predicate == ("in",)
        and is_kind(bearer.head_text, BEINGS)
        and noun.head_text in _PARTS
        and not noun.owned
    ):
        # "hits a man in the face"
        return False
    by_actor = state.verb is not None and state.verb.passive and state.governor != "by"
    if state.predicate == ("by",) and by_actor and not _is_place(noun):
        # "is bitten on the nose by a kitten": the kitten is the actor
        return False
    if state.predicate == ("at",) and (
        (bearer is state.object and is_kind(noun.head_text, BEINGS, HELD_THINGS))
        or (state.object is not None and is_kind(noun.head_text, BEINGS))
    ):
        # "swings a racket at a ball", "sticks out its tongue at a child"
        return False
    is_relation = 0 < len(state.predicate) <= _LONGEST_PREDICATE and not _has_nonvisual_ending(
        state.predicate
    )
    return is_relation and bearer.text != noun.text


def _noun_belongs_to_bearer(bearer: Phrase, state: ClauseState, noun: Phrase) -> bool:
    """Returns whether the noun after "with" belongs to the bearer."""
    if state.predicate == ("with",) and (
        (is_kind(noun.head_text, _SETTINGS) and is_kind(bearer.head_text, MOVERS))
        or _has_nearer_subject(bearer, state)
    ):
        return False
    location = state.last_noun
    if (
        location is None
        or location in (bearer, *state.subject)
        or is_kind(location.head_text, CLOTHES, MOVERS, _NOWHERE)
    ):
        return True
    # "a dog on a beach with waves": the dog has no waves
    moves = any(is_kind(phrase.head_text, MOVERS, FIGURES) for phrase in (bearer, *state.subject))
    belongs_to_being = (
        noun.owned
        or state.is_held
        or (moves and is_kind(noun.head_text, BEINGS, CLOTHES, BODY_PARTS, HELD_THINGS, MOUNTS))
        # "walks through a kitchen with a plate of food"
        or (
            moves
            and noun.indefinite
            and is_kind(noun.head_text, FOODS)
            and is_area(location.head_text)
        )
    )
    return belongs_to_being or (
        state.verb is not None and state.governor not in _PREPOSITIONS_OF_PLACE
    )


def _is_place(noun: Phrase) -> bool:
    return is_kind(noun.head_text, PLACES) and not is_kind(noun.head_text, CLOTHES)


def _has_nearer_subject(bearer: Phrase, state: ClauseState) -> bool:
    """Returns whether another subject is nearer: "a man and a girl in a dress"."""
    joined = len(state.subject) > 1 and state.last_noun is state.subject[-1]
    return joined and bearer is not state.last_noun


def _has_nonvisual_ending(predicate: tuple[str, ...]) -> bool:
    """Returns whether the predicate ends with "of" or similar.

    It may end with "in front of", and with a verb and "for" ("reaching for").
    """
    return (
        predicate[-1] in _NON_VISUAL_PREPOSITIONS
        and not (predicate[-1] == "for" and predicate[0].endswith("ing"))
        and not any(
            predicate[-len(preposition) :] == preposition for preposition in PREPOSITION_PHRASES
        )
    )
