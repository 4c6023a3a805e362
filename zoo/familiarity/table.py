"""The table of bindings in training captions: counted from units, saved as CSV."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.familiarity.bindings import Binding, unit_bindings
from zoo.familiarity.buckets import Label
from zoo.support.files import write_bytes
from zoo.support.text_files import NotJson, parse_json, sha256, text_lines
from zoo.units.record import UnitRecord

# Increase it when the definition of a binding changes.
VERSION = 1
COLUMNS = ("attr", "obj_lemma", "perfect_count", "close_count")
_REBUILD_ADVICE = "create the table again from its captions by `zoo bindings`"


@dataclass(frozen=True)
class BindingTable:
    """Counts of bindings in training captions.

    Attributes:
        perfect_close_counts: By binding, the number of components that have only this attribute and
            object (perfect), and of those in which the object has further attributes (close).
        about: The description of the captions and the extraction.
    """

    perfect_close_counts: dict[Binding, tuple[int, int]]
    about: dict[str, Any]

    def familiarity_label(self, binding: Binding) -> Label:
        """Returns the label of a binding."""
        perfect, close = self.perfect_close_counts.get(binding, (0, 0))
        return "perfect" if perfect else "close" if close else "none"


def count_bindings(records: Iterable[UnitRecord], about: dict[str, Any]) -> BindingTable:
    """Counts the bindings of captions.

    Args:
        records: Units of the captions.
        about: The description of the captions and the extraction.

    Raises:
        ZooError: No caption has a binding.
    """
    perfect, close = Counter[Binding](), Counter[Binding]()
    captions = 0
    for record in records:
        captions += 1
        for bindings in unit_bindings(record):
            (perfect if len(bindings) == 1 else close).update(bindings)
    if not perfect and not close:
        raise ZooError(
            f"{about['captions']}: none of the {captions:,} captions gives an attribute to an "
            "object: use captions such as 'a red car', or a table of `zoo bindings`"
        )
    counts = {b: (perfect[b], close[b]) for b in sorted({*perfect, *close})}
    return BindingTable(counts, {"version": VERSION, **about, "n": captions})


def to_csv(table: BindingTable, with_description: bool = True) -> bytes:
    """Returns the table as CSV, one binding per line.

    Args:
        table: The table.
        with_description: Whether the first line, after a #, describes the captions and the
            extraction. The table released by BindSplit has no such line.
    """
    buffer = io.StringIO(newline="")
    if with_description:
        buffer.write(f"# {json.dumps(table.about, ensure_ascii=False)}\n")
    rows = csv.writer(buffer, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows((*binding, *counts) for binding, counts in table.perfect_close_counts.items())
    return buffer.getvalue().encode()


def write_binding_table(table: BindingTable, path: Path) -> None:
    """Writes the table atomically; raises ZooError if it cannot be written."""
    write_bytes(path, to_csv(table))


def is_binding_table(path: Path) -> bool:
    """Returns whether a file begins like a table of bindings; raises ZooError if unreadable."""
    if path.suffix.lower() != ".csv":
        return False
    first_line = next(text_lines(path), "").strip()
    return first_line.startswith("# {") or first_line.split(",") == [*COLUMNS]


def read_binding_table(path: Path) -> BindingTable:
    """Reads a table written by `write_binding_table`, or one in the format of BindSplit's release.

    Raises:
        ZooError: The file has another version or is invalid.
    """
    lines = list(text_lines(path))
    description: dict[str, Any] = {"version": VERSION, "captions": "unknown"}
    start = 0
    if lines and lines[0].startswith("# "):
        description, start = _parse_description(lines[0][2:], path), 1
    if description["version"] != VERSION:
        raise ZooError(
            f"{path} is a table of bindings of version {description['version']}, but this version "
            f"of zoo uses version {VERSION}: {_REBUILD_ADVICE}"
        )
    counts: dict[Binding, tuple[int, int]] = {}
    rows = csv.reader(lines[start:])
    if next(rows, None) != [*COLUMNS]:
        raise ZooError(
            f"{path}:{start + 1} does not have the columns {', '.join(COLUMNS)}: {_REBUILD_ADVICE}"
        )
    for row in rows:
        place = f"{path}:{start + rows.line_num}"
        try:
            attribute, noun, perfect, close = row
            numbers = int(perfect), int(close)
            if min(numbers) < 0:
                raise ValueError("a count is below 0")
            counts[Binding(attribute, noun)] = numbers
        except ValueError as error:
            raise ZooError(
                f"{place} is not a binding with two counts ({error}): {_REBUILD_ADVICE}"
            ) from error
    if not counts:
        raise ZooError(f"{path} has no binding: {_REBUILD_ADVICE}")
    return BindingTable(counts, {**description, "table": path.name, "sha256": sha256(path)})


def _parse_description(line: str, path: Path) -> dict[str, Any]:
    try:
        header = parse_json(line)
        header["version"]
    except (NotJson, KeyError, TypeError) as error:
        raise ZooError(
            f"{path}:1 does not state the version of the table ({error}): {_REBUILD_ADVICE}"
        ) from error
    checked: dict[str, Any] = header
    return checked
