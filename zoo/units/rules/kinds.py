"""Kinds of heads (people, clothes, places), which decide whether a foil fits."""

from functools import lru_cache

from zoo.units.rules import words
from zoo.units.rules.lexicon import (
    BEING_SETS,
    NOUN_FOILS,
    PLURALS,
    SETS_BY_FIRST_WORD,
    SINGULARS,
    UNCOUNTED,
    VEHICLE_SETS,
    same_meaning,
    singulars_and_plurals,
    word_set,
)
from zoo.units.rules.lexicon import FOIL_SETS as _SETS


def _nouns(text: str) -> frozenset[str]:
    return singulars_and_plurals(word_set(text))


def _words_of_sets_with(*marks: str) -> frozenset[str]:
    """Returns the words of all sets that contain one of the given words."""
    return singulars_and_plurals(word for line in _SETS if line & set(marks) for word in line)


BEINGS = singulars_and_plurals(word for line in BEING_SETS for word in line) | word_set(
    words.ANIMATES
)
VEHICLES = singulars_and_plurals(word for line in VEHICLE_SETS for word in line)
# nouns that move by themselves
MOVERS = BEINGS | VEHICLES
CHILDREN = word_set(words.CHILDREN)
ANIMALS = (
    _words_of_sets_with(
        "horse", "zebra", "bear", "duck", "squirrel", "greyhound", "turtle", "puppy", "goat"
    )
    | _nouns("animal pet hound collie shepherd lab cattle")
) - CHILDREN - _nouns(words.PEOPLE) | singulars_and_plurals(("puppy", "kitten"))
COLD_BLOODED = _words_of_sets_with("turtle")
PEOPLE = (BEINGS - ANIMALS) | singulars_and_plurals(word_set(words.PEOPLE))
INFANTS = _nouns("baby infant toddler puppy kitten")
YOUNG = singulars_and_plurals(word_set("boy girl child kid youth")) | INFANTS
ROLES = _nouns(words.ROLES)
BODY_PARTS, TRAITS = _nouns(words.BODY_PARTS), _nouns(words.TRAITS)
# the body parts that everybody has
LIMBS = BODY_PARTS - TRAITS
CLOTHES = (
    _words_of_sets_with(
        "shirt", "pants", "dress", "hat", "glasses", "slipper", "tie", "uniform", "bracelet"
    )
    | _nouns(words.WORN)
) - singulars_and_plurals(("ring",))
SUBSTANCES = word_set(words.SUBSTANCES)
NO_PLACES = word_set(words.NO_PLACES)
GROUNDS, ENCLOSURES = _nouns(words.GROUNDS), _nouns(words.ENCLOSURES)
LEVELS, FLATS = _nouns(words.LEVELS), _nouns(words.FLATS)
TABLES, MOUNTS, SUPPORTS = _nouns(words.TABLES), _nouns(words.MOUNTS), _nouns(words.SUPPORTS)
WATERS = _nouns(words.WATERS)
RIDEABLE, CLIMBABLE = _nouns(words.RIDEABLE), _nouns(words.CLIMBABLE)
INSTRUMENTS, EVENTS = _nouns(words.INSTRUMENTS), word_set(words.EVENTS)
COMPETITIONS = _nouns("race game match competition")
FOODS = _words_of_sets_with("pizza", "cake", "apple", "broccoli", "fruit", "coffee", "cheese")
HELD_THINGS = _nouns(words.HELD_THINGS)
CROWDS = word_set("people police youth teen cattle")
HUNTERS = _nouns(words.HUNTERS) | _words_of_sets_with("greyhound")
MANUFACTURED = _nouns(words.MADE)
BACKDROPS = _nouns(words.BACKDROPS)
PLANTS, UNPAINTED = _nouns(words.PLANTS), _nouns(words.UNPAINTED)
PLACES = GROUNDS | ENCLOSURES | WATERS | SUBSTANCES | {"scene", "scenes"}


@lru_cache(1 << 16)
def head_of(text: str) -> str:
    """Returns the likely head of a unit's text.

    It is the last word before "of", or, for a quantity, the head of what follows "of".
    """
    start, _, rest = text.partition(" of ")
    if start.endswith(("rock face", "cliff face")):
        return "cliff"
    head = start.rpartition(" ")[2]
    if rest and head in words.QUANTITIES.split():
        return head_of(rest)
    return head


@lru_cache(1 << 16)
def is_kind(head: str, *kinds: frozenset[str]) -> bool:
    """Returns whether a head, singular or plural, belongs to one of the kinds."""
    singular = SINGULARS.get(head, head)
    return any(head in kind or singular in kind for kind in kinds)


def can_take_number(head: str) -> bool:
    """Returns whether a number can count a head, unlike in "a four wheeler"."""
    return head.endswith("s") or head in PLURALS or head in UNCOUNTED or head in CROWDS


_SEATS = _nouns("chair couch sofa bench bed stool seat recliner armchair crib")


@lru_cache(1 << 16)
def is_area(head: str) -> bool:
    """Returns whether a head is a place that things are in or on, not a container or seat."""
    return sort_of(head)[0] == "place" and not is_kind(head, _SEATS)


def is_seat(head: str) -> bool:
    """Returns whether a head is something that one sits or lies on."""
    return is_kind(head, _SEATS)


_CLASSES = (("person", PEOPLE), ("body part", BODY_PARTS))


@lru_cache(1 << 16)
def noun_class(head: str) -> str:
    """Returns the class of a head: "person", "body part" or a set of similar things.

    A set is named by its first word, such as "chair" for a bench. It is "other" for words that are
    in no list.
    """
    for name, members in _CLASSES:
        if is_kind(head, members):
            return name
    singular = SINGULARS.get(head, head)
    return next((first for first, line in SETS_BY_FIRST_WORD if singular in line), "other")


_SORTS = (
    ("body part", BODY_PARTS),
    ("being", ANIMALS | frozenset(word for word in PEOPLE if same_meaning(word, "person"))),
    ("role", BEINGS | PEOPLE),
    (
        "event",
        EVENTS
        | _words_of_sets_with(
            "lacrosse", "cartwheel", "wedding", "concert", "dance", "handshake", "morning", "fog"
        ),
    ),
    ("vehicle", VEHICLES),
    ("food", FOODS),
    ("clothing", CLOTHES),
    ("place", _words_of_sets_with("barn", "restaurant", "kitchen", "pier", "stadium", "mountain")),
    ("thing", MANUFACTURED | HELD_THINGS),
    ("place", PLACES),
)


@lru_cache(1 << 16)
def sort_of(head: str) -> tuple[str, bool]:
    """Returns the sort of a head (being, role, food and so on), and whether it is a plural.

    Sorts are wider than classes. A role is another sort, since a hiker may be a man.
    """
    is_plural = head in PLURALS | SINGULARS.keys() or (
        head not in NOUN_FOILS and head.endswith("s") and not head.endswith(("ss", "us", "is"))
    )
    return next((name for name, members in _SORTS if is_kind(head, members)), "thing"), is_plural
