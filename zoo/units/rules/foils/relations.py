"""Foils of relations: another predicate, swapped arguments, another argument."""

from collections.abc import Iterator
from random import Random

from zoo.units.record import Entity, Relation, RelationFoil
from zoo.units.rules.foils.contraries import contrary_predicates
from zoo.units.rules.foils.fitting import fits
from zoo.units.rules.foils.swaps import can_swap
from zoo.units.rules.kinds import head_of
from zoo.units.rules.lexicon import is_symmetric

_PREDICATE_CHANGES = 2


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
