"""Overlap of two units files of the same captions, unit by unit."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from zoo.errors import ZooError
from zoo.language.lemmas import lemmas
from zoo.units.record import Entity, Relation, UnitRecord

ENTITIES, RELATIONS, FOILS = "entities", "relations", "foils of units in both"
RULE = (
    "Two units of a caption are the same if both are entities or both are relations, and word by "
    'word they are forms of the same words. "a", "an", "the", "is" and "are" are ignored. Foils of '
    "the same unit are compared in the same way."
)
_IGNORED_WORDS = frozenset({"a", "an", "the", "is", "are"})
_WORD = re.compile(r"\w+")


class _HasText(Protocol):
    @property
    def text(self) -> str: ...


UnitOrFoil = TypeVar("UnitOrFoil", bound=_HasText)


@dataclass
class SharedCounts:
    """How many units of one kind two files share.

    Attributes:
        n_both: The number in both files.
        n_first_only: The number in the first file only.
        n_second_only: The number in the second file only.
    """

    n_both: int = 0
    n_first_only: int = 0
    n_second_only: int = 0

    @property
    def total(self) -> int:
        """The number in at least one file."""
        return self.n_both + self.n_first_only + self.n_second_only


@dataclass(frozen=True)
class Disagreement:
    """A caption for which one file has a unit that the other does not have.

    Attributes:
        record: The caption's record in the first file.
        both: The texts of the units in both files, as spelled in the first.
        first: The texts of the units in the first file only.
        second: The texts of the units in the second file only.
    """

    record: UnitRecord
    both: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass
class UnitOverlap:
    """The overlap of two units files.

    Attributes:
        n_compared: The number of captions in both files with the same text.
        n_first_only: The number of captions in the first file only.
        n_second_only: The number of captions in the second file only.
        n_different_text: The number of caption ids with different texts in the two files, whose
            units are not compared.
        shared: The numbers of shared units by kind: `ENTITIES`, `RELATIONS` and `FOILS`.
        disagreements: The captions with a unit in only one file.
    """

    n_compared: int = 0
    n_first_only: int = 0
    n_second_only: int = 0
    n_different_text: int = 0
    shared: dict[str, SharedCounts] = field(
        default_factory=lambda: {kind: SharedCounts() for kind in (ENTITIES, RELATIONS, FOILS)}
    )
    disagreements: list[Disagreement] = field(default_factory=list)


def compare_units(first: Mapping[str, UnitRecord], second: Mapping[str, UnitRecord]) -> UnitOverlap:
    """Compares the units of two files by caption; `RULE` defines which units are the same.

    Args:
        first: The records of one file by caption id.
        second: The records of the other file by caption id.

    Raises:
        ZooError: The files have no caption in common.
    """
    result = UnitOverlap(
        n_first_only=len(first.keys() - second.keys()),
        n_second_only=len(second.keys() - first.keys()),
    )
    for caption_id, record in first.items():
        second_record = second.get(caption_id)
        if second_record is None:
            continue
        if second_record.caption.split() != record.caption.split():
            result.n_different_text += 1
            continue
        result.n_compared += 1
        _add_comparison(record, second_record, result)
    if not result.n_compared:
        raise ZooError(
            f"the two units files have no caption in common (of {len(first):,} and {len(second):,} "
            "caption ids): give two files extracted from the same captions"
        )
    return result


def _add_comparison(record: UnitRecord, second_record: UnitRecord, result: UnitOverlap) -> None:
    entities = match_units(record.entities, second_record.entities)
    relations = match_units(record.relations, second_record.relations)
    _add_matches(result.shared[ENTITIES], entities)
    _add_matches(result.shared[RELATIONS], relations)
    unit_pairs: list[tuple[Entity | Relation, Entity | Relation]] = [*entities[0], *relations[0]]
    for unit, second_unit in unit_pairs:
        _add_matches(result.shared[FOILS], match_units(unit.foils, second_unit.foils))
    texts = tuple(unit.text for unit, _ in unit_pairs)
    unmatched = [
        tuple(unit.text for unit in (*entities[side], *relations[side])) for side in (1, 2)
    ]
    if any(unmatched):
        result.disagreements.append(Disagreement(record, texts, *unmatched))


def match_units(
    first: Iterable[UnitOrFoil], second: Iterable[UnitOrFoil]
) -> tuple[list[tuple[UnitOrFoil, UnitOrFoil]], list[UnitOrFoil], list[UnitOrFoil]]:
    """Pairs units or foils that have the same words.

    Args:
        first: Units or foils of one file.
        second: Units or foils of the other file.

    Returns:
        The pairs, those in the first only, and those in the second only.
    """
    pairs, first_only, second_only = [], [], list(second)
    for item in first:
        match = next(
            (candidate for candidate in second_only if have_same_lemmas(item.text, candidate.text)),
            None,
        )
        if match is None:
            first_only.append(item)
        else:
            second_only.remove(match)
            pairs.append((item, match))
    return pairs, first_only, second_only


def have_same_lemmas(first: str, second: str) -> bool:
    """Returns whether two texts have forms of the same words in the same order."""
    first_words, second_words = _compared_words(first), _compared_words(second)
    return len(first_words) == len(second_words) and all(
        lemmas(a) & lemmas(b) for a, b in zip(first_words, second_words, strict=True)
    )


def _compared_words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _IGNORED_WORDS]


def _add_matches(
    shared: SharedCounts, matches: tuple[Sequence[object], Sequence[object], Sequence[object]]
) -> None:
    shared.n_both += len(matches[0])
    shared.n_first_only += len(matches[1])
    shared.n_second_only += len(matches[2])
