"""Filters for foils (CS-CLIP, Appendix B.6).

They drop duplicates, near-synonyms, foils with several edits, and swaps of symmetric predicates.
"""

from collections.abc import Collection

from zoo.units.record import Relation, RelationFoil
from zoo.units.rules.lexicon import ATTRIBUTE_FOILS, NOUN_FOILS, is_symmetric, same_meaning

DUPLICATE = "duplicate"
NEAR_SYNONYM = "near_synonym"
MULTIPLE_EDITS = "multiple_edits"
SYMMETRIC_SWAP = "symmetric_swap"


def phrase_fault(original: str, foil: str, compounds: Collection[str] = ()) -> str | None:
    """Returns why a noun phrase is no foil of another.

    A foil differs in one word or compound, which means something else.

    Args:
        original: The phrase.
        foil: What may be its foil.
        compounds: Compounds of the phrase that no list knows ("nose ring").

    Returns:
        The name of the filter that drops it, or None where it is a foil.
    """
    before, after = changed_words(original, foil)
    if not before and not after:
        return DUPLICATE
    if not (_is_component(before) or " ".join(before) in compounds) or not _is_component(after):
        return MULTIPLE_EDITS
    return NEAR_SYNONYM if same_meaning(" ".join(before), " ".join(after)) else None


def relation_fault(
    original: Relation, foil: RelationFoil, compounds: Collection[str] = ()
) -> str | None:
    """Returns why a relation is no foil of another.

    In a foil one component differs, or the arguments are swapped.

    Args:
        original: The relation.
        foil: What may be its foil.
        compounds: Compounds of its arguments that no list knows.

    Returns:
        The name of the filter that drops it, or None where it is a foil.
    """
    changed = [
        c
        for c in ("subject", "predicate", "object")
        if getattr(original, c).lower() != getattr(foil, c).lower()
    ]
    if not changed:
        return DUPLICATE
    if (foil.subject.lower(), foil.object.lower()) == (
        original.object.lower(),
        original.subject.lower(),
    ) and "predicate" not in changed:
        return SYMMETRIC_SWAP if is_symmetric(original.predicate) else None
    if len(changed) > 1:
        return MULTIPLE_EDITS
    if changed == ["predicate"]:
        before, after = changed_words(original.predicate, foil.predicate)
        return NEAR_SYNONYM if same_meaning(" ".join(before), " ".join(after)) else None
    return phrase_fault(getattr(original, changed[0]), getattr(foil, changed[0]), compounds)


def changed_words(original: str, foil: str) -> tuple[list[str], list[str]]:
    """Returns the words of both without those that both begin or end with.

    Case does not matter.
    """
    before, after = original.lower().split(), foil.lower().split()
    while before and after and before[0] == after[0]:
        before, after = before[1:], after[1:]
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    return before, after


def _is_component(words: list[str]) -> bool:
    return len(words) == 1 or " ".join(words) in NOUN_FOILS or " ".join(words) in ATTRIBUTE_FOILS
