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


def phrase_fault(
    original: str,
    foil: str,
    compounds: Collection[str] = (),
    foil_compounds: Collection[str] = (),
) -> str | None:
    """Returns why a noun phrase is not a valid foil of another.

    A valid foil differs in one word or compound with another meaning.

    Args:
        original: The phrase.
        foil: The candidate foil.
        compounds: Compounds of the phrase that are in no word list ("nose ring").
        foil_compounds: Compounds of foils that are in no word list.

    Returns:
        The name of the filter that drops it, or None if it is valid.
    """
    removed, added = changed_words(original, foil)
    if not removed and not added:
        return DUPLICATE
    if not (_is_word_or_compound(removed) or " ".join(removed) in compounds) or not (
        _is_word_or_compound(added) or " ".join(added) in foil_compounds
    ):
        return MULTIPLE_EDITS
    return NEAR_SYNONYM if same_meaning(" ".join(removed), " ".join(added)) else None


def relation_fault(
    original: Relation,
    foil: RelationFoil,
    compounds: Collection[str] = (),
    foil_compounds: Collection[str] = (),
) -> str | None:
    """Returns why a relation is not a valid foil of another.

    In a valid foil one component differs, or the arguments are swapped.

    Args:
        original: The relation.
        foil: The candidate foil.
        compounds: Compounds of its arguments that are in no word list.
        foil_compounds: Compounds of foils that are in no word list.

    Returns:
        The name of the filter that drops it, or None if it is valid.
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
        removed, added = changed_words(original.predicate, foil.predicate)
        return NEAR_SYNONYM if same_meaning(" ".join(removed), " ".join(added)) else None
    return phrase_fault(
        getattr(original, changed[0]), getattr(foil, changed[0]), compounds, foil_compounds
    )


def changed_words(original: str, foil: str) -> tuple[list[str], list[str]]:
    """Returns the words of both texts without their common start and end, ignoring case."""
    removed, added = original.lower().split(), foil.lower().split()
    while removed and added and removed[0] == added[0]:
        removed, added = removed[1:], added[1:]
    while removed and added and removed[-1] == added[-1]:
        removed, added = removed[:-1], added[:-1]
    return removed, added


def _is_word_or_compound(words: list[str]) -> bool:
    return len(words) == 1 or " ".join(words) in NOUN_FOILS or " ".join(words) in ATTRIBUTE_FOILS
