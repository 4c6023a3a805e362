"""Foils by rule: minimally edited wrong twins of noun phrases and relations (CS-CLIP, Appendix B.4 and B.5). Free of torch."""

from collections.abc import Iterator
from random import Random

from zoo.units.lexicon import (
    ATTRIBUTE_FOILS,
    BASES,
    BEINGS,
    CHILDREN,
    CLOTHING,
    COATS,
    CONTRARY_PHRASES,
    CONTRARY_PREPOSITIONS,
    CONTRARY_VERBS,
    INTRANSITIVE,
    NOUN_FOILS,
    NUMBERS,
    PARTICIPLES,
    PEOPLE,
    SINGULARS,
    TRANSITIVE,
    UNCOUNTED,
    names_actor,
    same_meaning,
)
from zoo.units.phrases import Phrase
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil

_PREDICATE_CHANGES = 2


def head_foils(phrase: Phrase, mentioned: frozenset[str], rng: Random) -> Iterator[EntityFoil]:
    """Yields foils with another head, in random order. mentioned: the words of the caption; what it names already makes no foil."""
    start, end = phrase.head
    counted = bool(NUMBERS & set(phrase.words))
    heads = [
        h
        for h in NOUN_FOILS.get(phrase.head_text, ())
        if not (counted and h in UNCOUNTED) and not _named(h, phrase.head_text, mentioned)
    ]
    if phrase.head_text in CHILDREN:
        heads = [h for h in heads if h in CHILDREN] or heads
    for head in rng.sample(heads, len(heads)):
        yield EntityFoil(_replaced(phrase, start, end, head), "object_change")


def attribute_foils(phrase: Phrase, rng: Random) -> Iterator[EntityFoil]:
    """Yields one foil for each attribute or number that has a contrary or alternatives, in random order."""
    start, end = phrase.head
    places = [
        i for i, word in enumerate(phrase.words) if word in ATTRIBUTE_FOILS and not start <= i < end
    ]
    for i in rng.sample(places, len(places)):
        others = _other_attributes(phrase, phrase.words[i])
        if others:
            yield EntityFoil(_replaced(phrase, i, i + 1, rng.choice(others)), "attribute_change")


def _other_attributes(phrase: Phrase, attribute: str) -> list[str]:
    """No elderly boys, no grey men, no green horses, and no grey and gray dogs."""
    head = phrase.head_text
    if (attribute == "young" and head in CHILDREN) or (attribute in COATS and head in PEOPLE):
        return []
    others = [
        a
        for a in ATTRIBUTE_FOILS[attribute]
        if not any(same_meaning(a, word) for word in phrase.words)
    ]
    return [a for a in others if a in COATS] or others if head in BEINGS else others


def relation_foils(
    relation: Relation, subject: Entity, object_: Entity, rng: Random
) -> Iterator[RelationFoil]:
    """Yields predicate changes (the preposition's contrary first, then the verb's), the argument swap, and argument changes.

    subject, object_: the entities of the arguments, whose foils are put in their places: a head and an attribute each.
    """
    before, predicate, after = relation.subject, relation.predicate, relation.object
    for contrary in list(contrary_predicates(predicate, after))[:_PREDICATE_CHANGES]:
        yield RelationFoil(before, contrary, after, "predicate_change", "predicate")
    yield RelationFoil(after, predicate, before, "argument_swap")
    for part, edit in (("head", "object_change"), ("attribute", "attribute_change")):
        for component, entity in (("subject", subject), ("object", object_)):
            foils = [foil.text for foil in entity.foils if foil.edit == edit]
            if foils:
                ends = {"subject": before, "object": after, component: rng.choice(foils)}
                yield RelationFoil(
                    predicate=predicate,
                    edit="argument_change",
                    component=component,
                    part=part,
                    **ends,
                )


def contrary_predicates(predicate: str, object_: str) -> Iterator[str]:
    """Yields contraries of a predicate, best first: of the phrase, of its preposition, of its verb."""
    if predicate in CONTRARY_PHRASES:
        yield CONTRARY_PHRASES[predicate]
        return
    words = predicate.split()
    for i in range(len(words)):
        preposition = " ".join(words[i:])
        if preposition in CONTRARY_PREPOSITIONS:
            worn = preposition == "in" and object_.split()[-1] in CLOTHING
            if not names_actor(words):
                yield (
                    "without"
                    if worn
                    else " ".join([*words[:i], CONTRARY_PREPOSITIONS[preposition]])
                )
            break
    verb = BASES.get(words[0])
    if verb in CONTRARY_VERBS and words[0] == PARTICIPLES[verb]:
        for contrary in CONTRARY_VERBS[verb]:
            if contrary not in (TRANSITIVE if len(words) > 1 else INTRANSITIVE):
                yield " ".join([PARTICIPLES[contrary], *words[1:]])


def _named(foil: str, head: str, mentioned: frozenset[str]) -> bool:
    """Whether a head is no foil: it means what the true head means, or the caption names it elsewhere."""
    return same_meaning(foil, head) or not mentioned.isdisjoint((foil, SINGULARS.get(foil, foil)))


def _replaced(phrase: Phrase, start: int, end: int, by: str) -> str:
    return " ".join([*phrase.words[:start], by, *phrase.words[end:]])
