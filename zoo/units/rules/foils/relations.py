"""Foils of relations: another predicate, swapped arguments, another argument."""

from collections.abc import Iterator
from functools import partial
from random import Random

from zoo.units.record import Entity, Relation, RelationFoil
from zoo.units.rules.corpus_counts import CorpusCounts
from zoo.units.rules.foils.contradictions import CONTRADICTIONS, contradiction
from zoo.units.rules.foils.exchange import draw_exchanged
from zoo.units.rules.foils.heads import fits_phrase, replace_head
from zoo.units.rules.foils.swaps import can_swap
from zoo.units.rules.kinds import noun_class
from zoo.units.rules.lexicon import is_symmetric, other_heads
from zoo.units.rules.phrases.phrase import Phrase


def relation_foils(
    relation: Relation,
    subject: tuple[Phrase, Entity],
    object_: tuple[Phrase, Entity],
    mentioned: frozenset[str],
    counts: CorpusCounts,
    rng: Random,
) -> Iterator[RelationFoil]:
    """Yields predicate changes, the argument swap, and argument changes.

    Predicates and heads of arguments are drawn from those that the corpus has in the same context,
    so that a text alone does not give a foil away. One predicate has a contradicting verb, and one
    a contradicting preposition. Changed attributes are those of the arguments' entities.

    Args:
        relation: The relation.
        subject: The phrase of its subject, and its entity with foils.
        object_: The phrase of its object, and its entity with foils.
        mentioned: The nouns of the caption, which are not used as foils.
        counts: The counts of a corpus.
        rng: Draws the foils.
    """
    texts = {"subject": relation.subject, "object": relation.object}
    predicate = relation.predicate
    subject_head, object_head = subject[0].head_text, object_[0].head_text
    predicates = counts.predicates_between(subject_head, object_head)
    for kind in CONTRADICTIONS:

        def alternatives(true: str, kind: str = kind) -> list[str]:
            return [p for p in predicates if contradiction(true, p, object_head) == kind]

        drawn = draw_exchanged(predicate, alternatives, predicates, rng)
        if drawn:
            yield RelationFoil(
                relation.subject, drawn, relation.object, "predicate_change", "predicate"
            )
    # the filter drops and counts symmetric ones
    if is_symmetric(predicate) or can_swap(predicate, relation.subject, relation.object):
        yield RelationFoil(relation.object, predicate, relation.subject, "argument_swap")
    heads_by_component = {
        "subject": counts.subjects.get((predicate, noun_class(object_head)), {}),
        "object": counts.objects.get((noun_class(subject_head), predicate), {}),
    }
    change = partial(RelationFoil, predicate=predicate, edit="argument_change")
    for component, (phrase, _) in (("subject", subject), ("object", object_)):
        heads = heads_by_component[component]
        head = draw_exchanged(phrase.head_text, other_heads, heads, rng)
        if head and fits_phrase(head, phrase, mentioned):
            changed = texts | {component: replace_head(phrase, head)}
            yield change(component=component, part="head", **changed)
    for component, (_, entity) in (("subject", subject), ("object", object_)):
        foils = [foil.text for foil in entity.foils if foil.edit == "attribute_change"]
        if foils:
            changed = texts | {component: rng.choice(foils)}
            yield change(component=component, part="attribute", **changed)
