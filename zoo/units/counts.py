"""Counts of units and foils by kind, and of what an extractor dropped."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zoo.support.files import write_bytes
from zoo.units.record import Entity, Relation, UnitRecord

KINDS = ("entities", "relations")


def captions_with_foil_key(kind: str) -> str:
    """Returns the key in `Counts.captions_with` of captions with a foil of this kind of unit."""
    return f"{kind} with a foil"


@dataclass
class Counts:
    """The contents of units files in numbers.

    Attributes:
        captions: The number of captions.
        failed: The number of captions recorded with an error.
        captions_with: The number of captions that have entities, relations, or those with a foil.
        units: The number of entities and of relations.
        foils: The number of foils by edit.
        dropped: The number of units and foils that the extractor dropped, by reason.
    """

    captions: int = 0
    failed: int = 0
    captions_with: Counter[str] = field(default_factory=Counter)
    units: Counter[str] = field(default_factory=Counter)
    foils: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, name) + getattr(other, name) for name in vars(self)))

    def count_records(self, records: Iterable[UnitRecord]) -> Iterator[UnitRecord]:
        """Yields the records unchanged while it counts their units and foils."""
        for record in records:
            self.captions += 1
            self.failed += "error" in record.source
            kinds: tuple[Sequence[Entity | Relation], ...] = record.entities, record.relations
            for kind, units in zip(KINDS, kinds, strict=True):
                self.units[kind] += len(units)
                self.captions_with[kind] += bool(units)
                self.captions_with[captions_with_foil_key(kind)] += any(
                    unit.foils for unit in units
                )
                self.foils.update(foil.edit for unit in units for foil in unit.foils)
            yield record

    def equals_except_dropped(self, other: "Counts") -> bool:
        """Returns whether other counts are equal, apart from `dropped`."""
        return replace(self, dropped=other.dropped) == other

    def to_json(self) -> str:
        """Returns the counts as JSON."""
        return json.dumps(vars(self))


def parse_counts(text: str | bytes) -> Counts:
    """Parses the output of `Counts.to_json`.

    Raises:
        ValueError: The text does not contain counts.
    """
    fields: dict[str, Any] = json.loads(text)
    try:
        names = "captions_with", "units", "foils", "dropped"
        counters = (Counter[str](fields[name]) for name in names)
        return Counts(fields["captions"], fields["failed"], *counters)
    except (KeyError, TypeError) as error:
        raise ValueError(str(error)) from error


def write_counts(counts: Counts, units: Path) -> None:
    """Writes the counts to `NAME.counts` next to a units file.

    Args:
        counts: The counts.
        units: The units file.
    """
    write_bytes(counts_path(units), counts.to_json().encode())


def read_counts_file(units: Path) -> Counts | None:
    """Returns the counts stored next to a units file, or None if they cannot be read."""
    try:
        return parse_counts(counts_path(units).read_bytes())
    except (OSError, ValueError):
        return None


def counts_path(units: Path) -> Path:
    """Returns the path of the counts of a units file."""
    return units.with_name(f"{units.name}.counts")
