"""Checks whether a foil of an argument fits the predicate of a relation."""

from zoo.units.record import Relation
from zoo.units.rules import kinds, words
from zoo.units.rules.kinds import head_of, is_kind
from zoo.units.rules.lexicon import BASES, singulars_and_plurals, word_set

_ANIMAL_VERBS = word_set(
    "run walk sit stand lie lay jump swim sleep rest crawl climb look watch wade leap cross graze "
    "face follow chase"
)
_MOUTH_VERBS = word_set(
    "catch chew carry fetch hold bite lick dig chase retrieve play fight sniff shake pull"
)
_WATER_VERBS = word_set("swim wade surf float splash sail row paddle dive kayak wakeboard")
_WATERFOWL = singulars_and_plurals(word_set("duck goose swan"))
_SLIDING_VERBS = word_set("ski snowboard skate skateboard sled surf slide snowboard grind skiing")
_ROLE_VERBS = word_set(words.ROLE_VERBS)
_HANDLING = word_set("hold carry throw toss catch swing wave drop lift kick")
_PLACES_AND_BEINGS = kinds.PLACES | kinds.BEINGS
_SEATS = kinds.VEHICLES | kinds.TABLES | kinds.MOUNTS
# verbs that fit only a ball
_BALL_VERBS = word_set(
    "dribble dribbling punting bounce dunking spiking pitching serve shooting bowling"
)
# verbs in fixed expressions with their object
_IDIOM_VERBS = word_set("smoke listen cut fight blow shoot light dribble speak sing cast")
_TAKING = word_set(words.TAKING)
_BALLS = singulars_and_plurals(
    word_set("ball balloon frisbee football soccer_ball basketball volleyball tennis_ball baseball")
)
_BAGS = singulars_and_plurals(word_set("backpack suitcase purse handbag briefcase"))
_SEATED_IN = singulars_and_plurals(word_set("wheelchair stroller cart armchair"))
_SLOPES = singulars_and_plurals(word_set("ramp slope escalator slide"))
_HEIGHTS = word_set("rooftop rooftops")
_ROOTED = word_set("tree trees bush bushes statue statues fountain fountains piano pianos")
_INSIDES = kinds.ENCLOSURES - kinds.GROUNDS - kinds.TABLES - kinds.VEHICLES - kinds.MOUNTS


def fits_predicate(relation: Relation, component: str, foil: str) -> bool:
    """Returns whether a foil of an argument fits the predicate of the relation.

    For example, a horse does not wear glasses, and nobody swims in a street.

    Args:
        relation: The relation.
        component: The argument, "subject" or "object".
        foil: The text that replaces the argument.
    """
    first_word, *rest = relation.predicate.split()
    last_word = [first_word, *rest][-1]
    verb = BASES.get(first_word, "" if not rest and not first_word.endswith("ing") else first_word)
    original = head_of(relation.subject if component == "subject" else relation.object)
    new = head_of(foil)
    if is_kind(original, kinds.MOUNTS) and is_kind(head_of(relation.subject), kinds.ROLES):
        # a snowboarder has a snowboard
        return False
    if component == "subject":
        return _can_do(verb, first_word, original, new, head_of(relation.object))
    if (
        is_kind(original, kinds.PEOPLE)
        and is_kind(new, kinds.ANIMALS)
        and is_kind(original, kinds.CHILDREN)
    ):
        return True
    if not _fits_preposition(last_word, original, new):
        return False
    if not _can_undergo(verb or first_word, last_word, not rest, original, new):
        return False
    if new in ("bone", "bones") and not is_kind(head_of(relation.subject), kinds.HUNTERS):
        return False
    if verb in _WATER_VERBS or original == "water":
        return is_kind(new, kinds.WATERS)
    if verb in _SLIDING_VERBS:
        return False
    if verb == "ride":
        return is_kind(new, kinds.MOUNTS, kinds.VEHICLES) and (
            not is_kind(new, kinds.ANIMALS) or is_kind(new, kinds.RIDEABLE)
        )
    if verb in ("climb", "scale"):
        return is_kind(new, kinds.CLIMBABLE)
    return True


def _fits_preposition(preposition: str, original: str, new: str) -> bool:
    """Returns whether a preposition fits a foil of a place.

    For example, nobody is in a rooftop, and "on fire" is not a place.
    """
    if preposition in ("in", "on", "at") and original in kinds.NO_PLACES:
        return False
    if preposition in ("outside", "outside of", "inside of"):
        return is_kind(new, kinds.ENCLOSURES)
    if preposition in ("up", "down"):
        return is_kind(new, kinds.LEVELS, kinds.CLIMBABLE, _SLOPES) and not is_kind(
            new, kinds.FLATS
        )
    if new == "ice":
        return preposition in ("on", "onto", "across", "over", "near")
    if is_kind(new, _HEIGHTS):
        return preposition in ("on", "onto", "off", "of", "from", "near", "over", "above", "at")
    if preposition in ("under", "underneath", "beneath"):
        return not is_kind(new, kinds.GROUNDS)
    if preposition in ("in", "into", "inside"):
        dressed = is_kind(new, kinds.CLOTHES) or new in ("glove", "gloves", "mitten", "mittens")
        return not is_kind(new, kinds.FLATS) and (not dressed or is_kind(original, kinds.CLOTHES))
    if preposition in ("on", "onto"):
        return not is_kind(new, _INSIDES) and not is_kind(new, _SEATED_IN)
    return True


def _can_undergo(verb: str, last_word: str, direct: bool, original: str, new: str) -> bool:
    """Returns whether the action on an object can be done to its foil.

    For example, nobody holds a tree or wears dishes.
    """
    if verb in _HANDLING and is_kind(new, _ROOTED):
        return False
    if verb in _BALL_VERBS or verb in _IDIOM_VERBS or (direct and verb and verb not in _TAKING):
        return False
    if original in ("camera", "cameras") and verb not in _HANDLING:
        return False
    if verb in ("kick", "hit"):
        return is_kind(new, _BALLS)
    if verb == "play" and is_kind(original, kinds.INSTRUMENTS):
        return is_kind(new, kinds.INSTRUMENTS)
    if direct and verb in ("eat", "drink"):
        return is_kind(new, kinds.FOODS)
    if (last_word == "in" or verb == "wear") and is_kind(original, _BAGS):
        return False
    if is_kind(original, kinds.CLOTHES) and (last_word == "in" or verb in ("wear", "remove")):
        return is_kind(new, kinds.CLOTHES)
    if original in ("wave", "waves"):
        return verb == "ride" or last_word in ("on", "over", "off", "down")
    return True


def _can_do(verb: str, first_word: str, original: str, new: str, object_: str) -> bool:
    is_place = is_kind(object_, _PLACES_AND_BEINGS) and not is_kind(object_, _SEATS)
    if is_kind(original, kinds.PEOPLE) and is_kind(new, kinds.ANIMALS):
        return is_place and (
            verb in _ANIMAL_VERBS or (not verb and first_word not in ("with", "by"))
        )
    if is_kind(original, kinds.ANIMALS) and is_kind(object_, kinds.BODY_PARTS):
        return is_kind(new, kinds.HUNTERS)
    if is_kind(original, kinds.ROLES):
        return verb in _ROLE_VERBS or (
            first_word in ("in", "with") and is_kind(object_, kinds.CLOTHES)
        )
    if is_kind(original, kinds.ANIMALS) and verb in _MOUTH_VERBS:
        return is_kind(new, kinds.HUNTERS)
    if is_kind(original, kinds.ANIMALS) and verb in _WATER_VERBS:
        return is_kind(new, kinds.HUNTERS, _WATERFOWL)
    if is_kind(original, kinds.VEHICLES) and verb:
        return verb in ("park", "drive", "stop", "travel", "pass", "race") and is_kind(
            new, kinds.ENCLOSURES
        )
    if is_kind(original, kinds.BEINGS):
        return True
    return not verb
