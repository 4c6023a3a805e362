"""The table of bindings that training captions have: counted from units, kept as CSV and shared."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.familiarity.bindings import Binding, of_units
from zoo.familiarity.buckets import Label
from zoo.support.files import write_bytes
from zoo.support.text_files import NotJson, json_value, sha256, text_lines
from zoo.units.record import UnitRecord

# A change of what counts as one binding raises it.
VERSION = 1
COLUMNS = ("attr", "obj_lemma", "perfect_count", "close_count")
_MEND = "make the table again from its captions by `zoo bindings`"


@dataclass(frozen=True)
class BindingTable:
    """How often training captions have each binding.

    Attributes:
        counts: By binding, the number of components that are this attribute and object alone
            (perfect), and of those that give the object further attributes (close).
        about: What the table was made of.
    """

    counts: dict[Binding, tuple[int, int]]
    about: dict[str, Any]

    def label(self, binding: Binding) -> Label:
        """Returns how training captions have a binding."""
        perfect, close = self.counts.get(binding, (0, 0))
        return "perfect" if perfect else "close" if close else "none"


def count(records: Iterable[UnitRecord], about: dict[str, Any]) -> BindingTable:
    """Counts the bindings of captions.

    Args:
        records: Units of the captions.
        about: What they were made of.

    Raises:
        ZooError: No caption gives an object an attribute.
    """
    perfect, close = Counter[Binding](), Counter[Binding]()
    captions = 0
    for record in records:
        captions += 1
        for bindings in of_units(record):
            (perfect if len(bindings) == 1 else close).update(bindings)
    if not perfect and not close:
        raise ZooError(
            f"{about['captions']} gives no object an attribute in its {captions:,} captions: name "
            "captions such as 'a red car', or a table that `zoo bindings` made of some"
        )
    counts = {b: (perfect[b], close[b]) for b in sorted({*perfect, *close})}
    return BindingTable(counts, {"version": VERSION, **about, "n": captions})


def to_csv(table: BindingTable, says: bool = True) -> bytes:
    """Returns the table as CSV, a binding a line.

    Args:
        table: The table.
        says: Whether a first line, behind a #, says what it was made of. The table that BindSplit
            releases has none.
    """
    out = io.StringIO(newline="")
    if says:
        out.write(f"# {json.dumps(table.about, ensure_ascii=False)}\n")
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows((*binding, *counts) for binding, counts in table.counts.items())
    return out.getvalue().encode()


def write(table: BindingTable, path: Path) -> None:
    """Writes the table, whole or not at all; raises ZooError where it cannot be written."""
    write_bytes(path, to_csv(table))


def is_table(path: Path) -> bool:
    """Tells whether a file begins as a table of bindings does; raises ZooError if unreadable."""
    if path.suffix.lower() != ".csv":
        return False
    first = next(text_lines(path), "").strip()
    return first.startswith("# {") or first.split(",") == [*COLUMNS]


def read(path: Path) -> BindingTable:
    """Reads a table that `write` wrote, or one in the form that BindSplit releases.

    Raises:
        ZooError: The file is of another version, or is wrong somewhere.
    """
    lines = list(text_lines(path))
    about: dict[str, Any] = {"version": VERSION, "captions": "unknown"}
    start = 0
    if lines and lines[0].startswith("# "):
        about, start = _parse_header(lines[0][2:], path), 1
    if about["version"] != VERSION:
        raise ZooError(
            f"{path} is a table of bindings of version {about['version']}, and this zoo counts by "
            f"version {VERSION}: {_MEND}"
        )
    counts: dict[Binding, tuple[int, int]] = {}
    rows = csv.reader(lines[start:])
    if next(rows, None) != [*COLUMNS]:
        raise ZooError(
            f"{path}:{start + 1} does not name the columns {', '.join(COLUMNS)}: {_MEND}"
        )
    for row in rows:
        where = f"{path}:{start + rows.line_num}"
        try:
            attribute, noun, perfect, close = row
            numbers = int(perfect), int(close)
            if min(numbers) < 0:
                raise ValueError("a count is below 0")
            counts[Binding(attribute, noun)] = numbers
        except ValueError as error:
            raise ZooError(f"{where} is no binding with two counts ({error}): {_MEND}") from error
    if not counts:
        raise ZooError(f"{path} holds no binding: {_MEND}")
    return BindingTable(counts, {**about, "table": path.name, "sha256": sha256(path)})


def _parse_header(line: str, path: Path) -> dict[str, Any]:
    try:
        about = json_value(line)
        about["version"]
    except (NotJson, KeyError, TypeError) as error:
        raise ZooError(
            f"{path}:1 does not say of which version the table is ({error}): {_MEND}"
        ) from error
    found: dict[str, Any] = about
    return found
