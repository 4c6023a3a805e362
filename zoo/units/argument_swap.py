"""Exchanges the arguments of a relation (CS-CLIP, Appendices B.6 and C.1.2)."""

from zoo.units.record import Relation, RelationFoil
from zoo.units.rules.lexicon import is_symmetric

ARGUMENT_SWAP = "argument_swap"


def swap_arguments(relation: Relation) -> RelationFoil | None:
    """Returns the relation with its arguments exchanged, as a foil.

    Args:
        relation: The relation.

    Returns:
        The foil, or None if it would still be true: with a symmetric predicate, such as "next to",
        or with equal arguments.
    """
    subject, predicate, object_ = relation.subject, relation.predicate, relation.object
    if subject.lower() == object_.lower() or is_symmetric(predicate):
        return None
    return RelationFoil(object_, predicate, subject, ARGUMENT_SWAP)
