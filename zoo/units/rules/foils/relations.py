"""Foils of relations: another predicate, swapped arguments, another argument."""

from collections.abc import Iterator
from random import Random

from zoo.units.record import Entity, Relation, RelationFoil
from zoo.units.rules.foils.contraries import contrary_predicates
from zoo.units.rules.foils.fitting import fits_predicate
from zoo.units.rules.foils.swaps import can_swap
from zoo.units.rules.kinds import head_of
from zoo.units.rules.lexicon import is_symmetric

_PREDICATE_CHANGES = 2


def relation_foils(
    relation: Relation, subject: Entity, object_: Entity, rng: Random
) -> Iterator[RelationFoil]:
    """Yields predicate changes, the argument swap, and argument changes.

    Among predicate changes, the preposition's contrary comes first, then the verb's. An argument
    change replaces an argument with one of its foils: one with another head and one with another
    attribute per argument.

    Args:
        relation: The relation.
        subject: The entity of its subject, with foils.
        object_: The entity of its object, with foils.
        rng: Draws among the foils of an argument.
    """
    subject_text, predicate, object_text = relation.subject, relation.predicate, relation.object
    contraries = list(contrary_predicates(predicate, head_of(subject_text), head_of(object_text)))
    for contrary in contraries[:_PREDICATE_CHANGES]:
        yield RelationFoil(subject_text, contrary, object_text, "predicate_change", "predicate")
    # the filter drops and counts symmetric ones
    if is_symmetric(predicate) or can_swap(predicate, subject_text, object_text):
        yield RelationFoil(object_text, predicate, subject_text, "argument_swap")
    for part, edit in (("head", "object_change"), ("attribute", "attribute_change")):
        for component, entity in (("subject", subject), ("object", object_)):
            foils = [
                foil.text
                for foil in entity.foils
                if foil.edit == edit
                and (part == "attribute" or fits_predicate(relation, component, foil.text))
            ]
            if foils:
                ends = {
                    "subject": subject_text,
                    "object": object_text,
                    component: rng.choice(foils),
                }
                yield RelationFoil(
                    predicate=predicate,
                    edit="argument_change",
                    component=component,
                    part=part,
                    **ends,
                )
