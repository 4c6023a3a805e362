"""Overlap: what two units files of the same captions have in common, unit by unit."""

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
    'word they are forms of the same words, "a", "an", "the", "is" and "are" aside; so are two '
    "foils of the same unit."
)
_ASIDE = frozenset({"a", "an", "the", "is", "are"})
_WORD = re.compile(r"\w+")


class _Said(Protocol):
    @property
    def text(self) -> str: ...


Said = TypeVar("Said", bound=_Said)


@dataclass
class Shared:
    """How much two files share of a kind.

    Attributes:
        both: How many are in both.
        first: How many are in the first alone.
        second: How many are in the second alone.
    """

    both: int = 0
    first: int = 0
    second: int = 0

    @property
    def total(self) -> int:
        """How many are in either."""
        return self.both + self.first + self.second


@dataclass(frozen=True)
class Disagreement:
    """A caption of which one file has a unit that the other has not.

    Attributes:
        record: The caption's record in the first file.
        both: The texts of the units in both, as the first file has them.
        first: Those of the units in the first alone.
        second: Those of the units in the second alone.
    """

    record: UnitRecord
    both: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


@dataclass
class UnitOverlap:
    """What two files have in common.

    Attributes:
        captions: How many captions are in both files, with the same text.
        first: How many are in the first alone.
        second: How many are in the second alone.
        other_text: How many have one id in both files and another text, so that their units are not
            compared.
        shared: How much is shared, by kind: `ENTITIES`, `RELATIONS` and `FOILS`.
        disagreements: The captions with a unit in one file alone.
    """

    captions: int = 0
    first: int = 0
    second: int = 0
    other_text: int = 0
    shared: dict[str, Shared] = field(
        default_factory=lambda: {kind: Shared() for kind in (ENTITIES, RELATIONS, FOILS)}
    )
    disagreements: list[Disagreement] = field(default_factory=list)


def overlap(first: Mapping[str, UnitRecord], second: Mapping[str, UnitRecord]) -> UnitOverlap:
    """Compares the units of two files by caption; `RULE` says which are the same.

    Args:
        first: The records of one file by caption id.
        second: Those of the other.

    Raises:
        ZooError: The files have no caption in common.
    """
    found = UnitOverlap(
        first=len(first.keys() - second.keys()), second=len(second.keys() - first.keys())
    )
    for caption_id, record in first.items():
        other = second.get(caption_id)
        if other is None:
            continue
        if other.caption.split() != record.caption.split():
            found.other_text += 1
            continue
        found.captions += 1
        _compare(record, other, found)
    if not found.captions:
        raise ZooError(
            f"the two units files have no caption in common (of {len(first):,} and {len(second):,} "
            "caption ids): give two files that were extracted from the same captions"
        )
    return found


def _compare(record: UnitRecord, other: UnitRecord, found: UnitOverlap) -> None:
    entities = match_statements(record.entities, other.entities)
    relations = match_statements(record.relations, other.relations)
    _count(found.shared[ENTITIES], entities)
    _count(found.shared[RELATIONS], relations)
    both: list[tuple[Entity | Relation, Entity | Relation]] = [*entities[0], *relations[0]]
    for unit, same in both:
        _count(found.shared[FOILS], match_statements(unit.foils, same.foils))
    texts = tuple(unit.text for unit, _ in both)
    alone = [tuple(unit.text for unit in (*entities[side], *relations[side])) for side in (1, 2)]
    if any(alone):
        found.disagreements.append(Disagreement(record, texts, *alone))


def match_statements(
    first: Iterable[Said], second: Iterable[Said]
) -> tuple[list[tuple[Said, Said]], list[Said], list[Said]]:
    """Pairs what has the same words.

    Args:
        first: Units or foils of one file.
        second: Those of the other.

    Returns:
        The pairs, what the first has alone, and what the second has alone.
    """
    pairs, alone, left = [], [], list(second)
    for said in first:
        same = next((other for other in left if same_words(said.text, other.text)), None)
        if same is None:
            alone.append(said)
        else:
            left.remove(same)
            pairs.append((said, same))
    return pairs, alone, left


def same_words(first: str, second: str) -> bool:
    """Whether two texts have forms of the same words in the same order."""
    words, others = _words(first), _words(second)
    return len(words) == len(others) and all(
        lemmas(word) & lemmas(other) for word, other in zip(words, others, strict=True)
    )


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in _ASIDE]


def _count(
    shared: Shared, found: tuple[Sequence[object], Sequence[object], Sequence[object]]
) -> None:
    shared.both += len(found[0])
    shared.first += len(found[1])
    shared.second += len(found[2])
