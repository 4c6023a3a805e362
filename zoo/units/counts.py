"""Counts: how many units and foils there are, by kind, and what an extractor dropped."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zoo.support.files import write_bytes
from zoo.units.record import Entity, Relation, UnitRecord

KINDS = ("entities", "relations")


def with_a_foil(kind: str) -> str:
    """Returns what `Counts.having` calls captions that have such a unit with a foil."""
    return f"{kind} with a foil"


@dataclass
class Counts:
    """What is in units files.

    Attributes:
        captions: How many captions there are.
        failed: How many of them are kept with an error.
        having: How many of them have entities, relations, or such with a foil.
        units: How many entities and relations there are.
        foils: How many foils there are, by edit.
        dropped: How many units and foils the extractor dropped, by reason.
    """

    captions: int = 0
    failed: int = 0
    having: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    foils: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    def count_records(self, records: Iterable[UnitRecord]) -> Iterator[UnitRecord]:
        """Yields the records, and counts the units and foils of each."""
        for record in records:
            self.captions += 1
            self.failed += "error" in record.source
            both: tuple[Sequence[Entity | Relation], ...] = record.entities, record.relations
            for kind, units in zip(KINDS, both, strict=True):
                self.units[kind] += len(units)
                self.having[kind] += bool(units)
                self.having[with_a_foil(kind)] += any(unit.foils for unit in units)
                self.foils.update(foil.edit for unit in units for foil in unit.foils)
            yield record

    def holds(self, other: "Counts") -> bool:
        """Whether the other counts say the same, but for what was dropped."""
        return replace(self, dropped=other.dropped) == other

    def text(self) -> str:
        """Returns the counts as JSON."""
        return json.dumps(vars(self))


def counts_of(text: str | bytes) -> Counts:
    """Returns the counts that `Counts.text` gave.

    Raises:
        ValueError: The text is of something else.
    """
    given: dict[str, Any] = json.loads(text)
    try:
        counted = (Counter[str](given[name]) for name in ("having", "units", "foils", "dropped"))
        return Counts(given["captions"], given["failed"], *counted)
    except (KeyError, TypeError) as error:
        raise ValueError(str(error)) from error


def keep_beside(counts: Counts, units: Path) -> None:
    """Keeps what was counted beside a units file, under its name and `.counts`.

    Args:
        counts: The counts.
        units: The units file.
    """
    write_bytes(counts_file(units), counts.text().encode())


def kept_beside(units: Path) -> Counts | None:
    """Returns what was kept beside a units file, None where nothing can be read there."""
    try:
        return counts_of(counts_file(units).read_bytes())
    except (OSError, ValueError):
        return None


def counts_file(units: Path) -> Path:
    """Returns the file that holds what was counted of a units file."""
    return units.with_name(f"{units.name}.counts")
