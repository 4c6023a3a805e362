"""Foils by rule: minimally edited wrong twins of noun phrases and relations.

They follow CS-CLIP, Appendix B.4 and B.5.
"""

from collections.abc import Iterator
from random import Random

from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil
from zoo.units.rules import kinds, words
from zoo.units.rules.contraries import contrary_predicates
from zoo.units.rules.kinds import head_of, is_a
from zoo.units.rules.lexicon import (
    ATTRIBUTE_FOILS,
    BASES,
    COATS,
    COLOURS,
    NOUN_FOILS,
    NUMBERS,
    PLURALS,
    QUANTITIES,
    UNCOUNTED,
    both_numbers,
    is_symmetric,
    same_meaning,
    word_set,
)
from zoo.units.rules.phrases import Phrase
from zoo.units.rules.swaps import can_swap

_PREDICATE_CHANGES = 2
_FREE = word_set(words.FREE_MODIFIERS)
_FREE_OF_BEINGS = _FREE | word_set(words.FREE_OF_BEINGS)
_FREE_OF_ANIMALS = _FREE | COATS | QUANTITIES | {"young", "old"}
_FREE_OF_NATURE = _FREE - {"colorful", "bright"}
_GROWN_WILD = kinds.SUBSTANCES | kinds.PLANTS | kinds.UNPAINTED
_BOUND = word_set(words.BOUND_PARTICIPLES)
_MATERIALS = word_set(words.MATERIALS)
_GROWN = both_numbers(word_set("man woman guy gentleman lady"))
_YOUNG = both_numbers(word_set("boy girl"))
_BARE = frozenset({"shirtless", "topless"})
_FEMALE = both_numbers(word_set("woman girl lady"))
_NEARLY_GROWN = both_numbers(word_set("teenager adult"))
_AGES = frozenset({"young", "old", "elderly"})
_SMALL = frozenset({"little", "small", "young", "younger", "tiny"})
_PLANT_COLOURS = frozenset({"green", "brown", "yellow"})
_SKY_COLOURS = frozenset({"blue", "grey", "orange", "pink"})
_SHINING = word_set("sun light lights sunlight sunshine")
_HAIR_COLOURS = frozenset({"black", "white", "brown", "red", "gray", "grey", "blond", "blonde"})


def head_foils(phrase: Phrase, mentioned: frozenset[str], rng: Random) -> Iterator[EntityFoil]:
    """Yields foils with another head, in random order.

    Of a compound ("nose ring") the whole is changed. A head does not change where a modifier suits
    it alone ("sliding door").

    Args:
        phrase: The noun phrase.
        mentioned: The nouns of the caption. What may be one of them makes no foil.
        rng: Settles the order.
    """
    start, end = min(phrase.compound, phrase.head[0]), phrase.head[1]
    counted = bool((NUMBERS - {"one"}) & set(phrase.words))
    if counted and not _is_plural(phrase.head_text):
        return
    heads = [
        h
        for h in NOUN_FOILS.get(phrase.head_text, ())
        if not (counted and h in UNCOUNTED)
        and not _named(h, phrase.head_text, mentioned)
        and _suits(phrase.words[:start], phrase.head_text, h)
    ]
    if end < len(phrase.words):
        return
    if is_a(phrase.head_text, kinds.CHILDREN):
        heads = [h for h in heads if is_a(h, kinds.CHILDREN)] or heads
    for head in rng.sample(heads, len(heads)):
        yield EntityFoil(_replaced(phrase, start, end, head), "object_change")


def _suits(modifiers: tuple[str, ...], head: str, foil: str) -> bool:
    """Whether what is said of the head can be said of the foil.

    Nobody is a little adult, and no hedge is of metal.
    """
    said = set(modifiers) - {"and", "of"}
    if is_a(head, kinds.BEINGS):
        person, animal = is_a(head, kinds.PEOPLE), is_a(foil, kinds.ANIMALS)
        if "young" in said and {head, foil} <= _NEARLY_GROWN:
            return False
        if said & _SMALL and is_a(head, kinds.YOUNG) and not (is_a(foil, kinds.YOUNG) or animal):
            return False
        if person and not animal:
            grown = said & {
                "older",
                "old",
                "elderly",
                "middle-aged",
                "adult",
                "aged",
                "grown",
                "business",
            }
            if any(word.endswith("-aged") and word != "middle-aged" for word in said):
                return False
            return (
                not (grown and is_a(foil, kinds.YOUNG))
                and not said
                & {
                    "pregnant",
                    "bearded",
                    "bald",
                    "mustached",
                    "male",
                    "female",
                }
                and not (said & _BARE and {head, foil} & _FEMALE)
            )
        return not person or said <= _FREE_OF_ANIMALS
    if is_a(head, _GROWN_WILD):
        return said <= _FREE_OF_NATURE
    rest = said - _FREE - COLOURS - QUANTITIES
    return rest <= _MATERIALS and (not rest or (is_a(head, kinds.MADE) and is_a(foil, kinds.MADE)))


def attribute_foils(phrase: Phrase, rng: Random) -> Iterator[EntityFoil]:
    """Yields one foil for each attribute or number that can be another, in random order.

    Args:
        phrase: The noun phrase.
        rng: Settles the order, and which of several others an attribute becomes.
    """
    start, end = phrase.head
    places = [
        i
        for i, word in enumerate(phrase.words)
        if word in ATTRIBUTE_FOILS and (word in COLOURS or not start <= i < end)
    ]
    for i in rng.sample(places, len(places)):
        others = _other_attributes(phrase, i)
        if others:
            yield EntityFoil(_replaced(phrase, i, i + 1, rng.choice(others)), "attribute_change")


def _other_attributes(phrase: Phrase, i: int) -> list[str]:
    """Returns the attributes that could stand in the place of the one at i.

    There are no elderly boys, no young houses, no grey men, no green horses, and no grey and gray
    dogs.
    """
    head, attribute = phrase.head_text, phrase.words[i]
    inside = phrase.head[0] <= i < phrase.head[1]
    if inside and phrase.words != (head,):
        return []
    if phrase.head[1] <= i:
        return []
    others = [
        a
        for a in ATTRIBUTE_FOILS[attribute]
        if not any(same_meaning(a, word) for word in phrase.words)
    ]
    if attribute in NUMBERS and not _is_plural(head):
        return []
    if attribute in _BOUND and i > 0:
        # "stone paved"
        return []
    being = is_a(head, kinds.BEINGS)
    if not being:
        others = [a for a in others if a != "little"]
    if attribute in ("bright", "dark", "light") and head in _SHINING:
        return []
    beside = phrase.words[i + 1 : i + 2]
    if beside and beside[0] in ("hair", "haired"):
        return [a for a in others if a in _HAIR_COLOURS]
    if attribute in ("light", "dark") and beside and beside[0] in COLOURS:
        return others
    if attribute in ("little", "small") and is_a(head, kinds.PEOPLE):
        return ["big"]
    if attribute in _AGES:
        if is_a(head, kinds.CHILDREN):
            return []
        return [a for a in others if (a in _AGES) == being]
    if attribute in COLOURS:
        return _other_colours(head, attribute, others)
    if attribute in _MATERIALS:
        return others if is_a(head, kinds.MADE, kinds.CLOTHES) else []
    return others


def _is_plural(head: str) -> bool:
    """Whether a number can stand before a head: not in "a four wheeler"."""
    return head.endswith("s") or head in PLURALS or head in UNCOUNTED or head in kinds.CROWDS


def _other_colours(head: str, attribute: str, others: list[str]) -> list[str]:
    """Returns the other colours that a head can have.

    In nature coats, hair and grass have few colours. People have none. What else grows has one,
    which the caption tells.
    """
    if is_a(head, kinds.UNPAINTED) and not is_a(head, kinds.ANIMALS):
        return []
    if is_a(head, kinds.ANIMALS):
        return [a for a in others if a in COATS] if attribute in COATS | {"gray"} else []
    if is_a(head, kinds.PEOPLE):
        return (
            []
            if attribute in COATS | {"gray"}
            else [a for a in others if a not in COATS | {"gray"}]
        )
    if head in ("sky", "skies"):
        return [a for a in others if a in _SKY_COLOURS]
    if is_a(head, kinds.PLANTS):
        return [a for a in others if a in _PLANT_COLOURS]
    if is_a(head, kinds.BODY_PARTS):
        return [a for a in others if a in _HAIR_COLOURS] if attribute in _HAIR_COLOURS else []
    return others


def relation_foils(
    relation: Relation, subject: Entity, object_: Entity, rng: Random
) -> Iterator[RelationFoil]:
    """Yields predicate changes, the argument swap, and argument changes.

    Of predicate changes the preposition's contrary comes first, then the verb's. An argument
    change puts a foil of the argument in its place: one with another head and one with another
    attribute, for each argument.

    Args:
        relation: The relation.
        subject: The entity of its subject, with foils.
        object_: The entity of its object, with foils.
        rng: Chooses among the foils of an argument.
    """
    before, predicate, after = relation.subject, relation.predicate, relation.object
    contraries = list(contrary_predicates(predicate, head_of(before), head_of(after)))
    for contrary in contraries[:_PREDICATE_CHANGES]:
        yield RelationFoil(before, contrary, after, "predicate_change", "predicate")
    # a symmetric one is dropped, and counted, by its filter
    if is_symmetric(predicate) or can_swap(predicate, before, after):
        yield RelationFoil(after, predicate, before, "argument_swap")
    for part, edit in (("head", "object_change"), ("attribute", "attribute_change")):
        for component, entity in (("subject", subject), ("object", object_)):
            foils = [
                foil.text
                for foil in entity.foils
                if foil.edit == edit
                and (part == "attribute" or fits(relation, component, foil.text))
            ]
            if foils:
                ends = {"subject": before, "object": after, component: rng.choice(foils)}
                yield RelationFoil(
                    predicate=predicate,
                    edit="argument_change",
                    component=component,
                    part=part,
                    **ends,
                )


_ANIMAL_VERBS = word_set(
    "run walk sit stand lie lay jump swim sleep rest crawl climb look watch wade leap cross graze "
    "face follow chase"
)
_MOUTH_VERBS = word_set(
    "catch chew carry fetch hold bite lick dig chase retrieve play fight sniff shake pull"
)
_WATER_VERBS = word_set("swim wade surf float splash sail row paddle dive kayak wakeboard")
_SLIDING_VERBS = word_set("ski snowboard skate skateboard sled surf slide snowboard grind skiing")
_TELLING = word_set(words.ROLE_VERBS)
_HANDLING = word_set("hold carry throw toss catch swing wave drop lift kick")
_WHERE = kinds.PLACES | kinds.BEINGS
_SEATS = kinds.VEHICLES | kinds.TABLES | kinds.MOUNTS
# of a ball alone
_PLAYED = word_set(
    "dribble dribbling punting bounce dunking spiking pitching serve shooting bowling"
)
# of what it is done to, as the words are said
_FIXED = word_set("smoke listen cut fight blow shoot light dribble speak sing cast")
# what is done to may be another thing
_TAKING = word_set(
    "hold carry wear remove ride push pull drag watch face chase follow hug kiss pet photograph "
    "help touch eat drink read chew bite lick sniff retrieve fetch grab catch throw toss lead wash "
    "play lift drop use jump leap climb scale cross pass overlook drive enter leave fly row paddle "
    "kick hit examine inspect admire approach greet with in on at over under by near beside "
    "through across along around behind above below between outside inside into onto down up "
    "off from to toward towards against atop among without underneath beneath past"
)
_BALLS = both_numbers(
    word_set("ball balloon frisbee football soccer_ball basketball volleyball tennis_ball baseball")
)
_BAGS = both_numbers(word_set("backpack suitcase purse handbag briefcase"))
_SEATED_IN = both_numbers(word_set("wheelchair stroller cart armchair"))
_SLOPES = both_numbers(word_set("ramp slope escalator slide"))
_HEIGHTS = word_set("rooftop rooftops")
_ROOTED = word_set("tree trees bush bushes statue statues fountain fountains piano pianos")
_INSIDES = kinds.ENCLOSURES - kinds.GROUNDS - kinds.TABLES - kinds.VEHICLES - kinds.MOUNTS


def fits(relation: Relation, component: str, foil: str) -> bool:
    """Whether a foil of an argument can do, or undergo, what the relation says.

    No horse wears glasses, and nobody swims in a street.

    Args:
        relation: The relation.
        component: The argument, "subject" or "object".
        foil: The text that takes the argument's place.
    """
    first, *rest = relation.predicate.split()
    last = [first, *rest][-1]
    verb = BASES.get(first, "" if not rest and not first.endswith("ing") else first)
    original = head_of(relation.subject if component == "subject" else relation.object)
    new = head_of(foil)
    if is_a(original, kinds.MOUNTS) and is_a(head_of(relation.subject), kinds.ROLES):
        # a snowboarder has a snowboard
        return False
    if component == "subject":
        return _can_do(verb, first, original, new, head_of(relation.object))
    if is_a(original, kinds.PEOPLE) and is_a(new, kinds.ANIMALS) and is_a(original, kinds.CHILDREN):
        return True
    if not _lies(last, original, new):
        return False
    if not _undergoes(verb or first, last, not rest, original, new):
        return False
    if new in ("bone", "bones") and not is_a(head_of(relation.subject), kinds.HUNTERS):
        return False
    if verb in _WATER_VERBS or original == "water":
        return is_a(new, kinds.WATERS)
    if verb in _SLIDING_VERBS:
        return False
    if verb == "ride":
        return is_a(new, kinds.MOUNTS, kinds.VEHICLES) and (
            not is_a(new, kinds.ANIMALS) or is_a(new, kinds.RIDEABLE)
        )
    if verb in ("climb", "scale"):
        return is_a(new, kinds.CLIMBABLE)
    return True


def _lies(preposition: str, original: str, new: str) -> bool:
    """Whether one can be so at a foil of a place.

    Nobody is in a rooftop or on a parking lot, and "on fire" names no place.
    """
    if preposition in ("in", "on", "at") and original in kinds.NO_PLACES:
        return False
    if preposition in ("outside", "outside of", "inside of"):
        return is_a(new, kinds.ENCLOSURES)
    if preposition in ("up", "down"):
        return is_a(new, kinds.LEVELS, kinds.CLIMBABLE, _SLOPES) and not is_a(new, kinds.FLATS)
    if new == "ice":
        return preposition in ("on", "onto", "across", "over", "near")
    if is_a(new, _HEIGHTS):
        return preposition in ("on", "onto", "off", "of", "from", "near", "over", "above", "at")
    if preposition in ("under", "underneath", "beneath"):
        return not is_a(new, kinds.GROUNDS)
    if preposition in ("in", "into", "inside"):
        dressed = is_a(new, kinds.CLOTHES) or new in ("glove", "gloves", "mitten", "mittens")
        return not is_a(new, kinds.FLATS) and (not dressed or is_a(original, kinds.CLOTHES))
    if preposition in ("on", "onto"):
        return not is_a(new, _INSIDES) and not is_a(new, _SEATED_IN)
    return True


def _undergoes(verb: str, last: str, direct: bool, original: str, new: str) -> bool:
    """Whether what is done to a thing can be done to its foil.

    Nobody holds a tree, or wears dishes.
    """
    if verb in _HANDLING and is_a(new, _ROOTED):
        return False
    if verb in _PLAYED or verb in _FIXED or (direct and verb and verb not in _TAKING):
        return False
    if original in ("camera", "cameras") and verb not in _HANDLING:
        return False
    if verb in ("kick", "hit"):
        return is_a(new, _BALLS)
    if verb == "play" and is_a(original, kinds.INSTRUMENTS):
        return is_a(new, kinds.INSTRUMENTS)
    if direct and verb in ("eat", "drink"):
        return is_a(new, kinds.FOODS)
    if (last == "in" or verb == "wear") and is_a(original, _BAGS):
        return False
    if is_a(original, kinds.CLOTHES) and (last == "in" or verb in ("wear", "remove")):
        return is_a(new, kinds.CLOTHES)
    if original in ("wave", "waves"):
        return verb == "ride" or last in ("on", "over", "off", "down")
    return True


def _can_do(verb: str, first: str, original: str, new: str, object_: str) -> bool:
    place = is_a(object_, _WHERE) and not is_a(object_, _SEATS)
    if is_a(original, kinds.PEOPLE) and is_a(new, kinds.ANIMALS):
        return place and (verb in _ANIMAL_VERBS or (not verb and first not in ("with", "by")))
    if is_a(original, kinds.ANIMALS) and is_a(object_, kinds.BODY_PARTS):
        return is_a(new, kinds.HUNTERS)
    if is_a(original, kinds.ROLES):
        return verb in _TELLING or (first in ("in", "with") and is_a(object_, kinds.CLOTHES))
    if is_a(original, kinds.ANIMALS) and verb in _MOUTH_VERBS:
        return is_a(new, kinds.HUNTERS)
    if is_a(original, kinds.ANIMALS) and verb in _WATER_VERBS:
        return is_a(new, kinds.HUNTERS) or new in (
            "duck",
            "goose",
            "swan",
            "ducks",
            "geese",
            "swans",
        )
    if is_a(original, kinds.VEHICLES) and verb:
        return verb in ("park", "drive", "stop", "travel", "pass", "race") and is_a(
            new, kinds.ENCLOSURES
        )
    if is_a(original, kinds.BEINGS):
        return True
    return not verb


def _named(foil: str, head: str, mentioned: frozenset[str]) -> bool:
    """Whether a head may be what the true head names, or what the caption names elsewhere."""
    return same_meaning(foil, head) or any(
        same_meaning(foil, noun) and not _of_other_age(foil, noun) for noun in mentioned
    )


def _of_other_age(first: str, second: str) -> bool:
    """Whether one is a man or woman and the other a boy or girl, whom a caption tells apart."""
    return (first in _GROWN and second in _YOUNG) or (first in _YOUNG and second in _GROWN)


def _replaced(phrase: Phrase, start: int, end: int, by: str) -> str:
    return " ".join([*phrase.words[:start], by, *phrase.words[end:]])
