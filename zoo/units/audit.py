"""Manual audit: writes a sheet of units and foils to judge by hand, and counts the verdicts."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random

from zoo.errors import ZooError, suggest_names
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

OK = "ok"
# verdicts on a unit; "false": the caption does not state it
UNIT_VERDICTS = (OK, "false")
# verdicts on a foil: it is also true of the image, no such image would show it, it makes
# no sense, it is not grammatical, or it is a swap that no image could show
FOIL_VERDICTS = (OK, "still_true", "implausible", "nonsense", "broken", "absurd_swap")
SWAP = "argument_swap"


@dataclass(frozen=True)
class SheetRow:
    """One row of a sheet: a unit, one of its foils, and the verdicts on both.

    Args:
        number: The row's position in the draw, from 1.
        caption_id: The id of the caption in the units file.
        caption: The caption that contains the unit.
        kind: "entity" or "relation".
        unit: The unit's text.
        foil: The foil's text.
        edit: How the foil was made, such as "object_change".
        unit_verdict: One of `UNIT_VERDICTS`, or empty if not judged yet.
        foil_verdict: One of `FOIL_VERDICTS`, or empty if not judged yet.
        note: The annotator's comment.
        missed_entities: The number of entities of the caption that are not among its units, in the
            first row of a caption of which the sheet has all units; otherwise empty.
        missed_relations: The number of its relations that are not among its units.
    """

    number: str
    caption_id: str
    caption: str
    kind: str
    unit: str
    foil: str
    edit: str
    unit_verdict: str = ""
    foil_verdict: str = ""
    note: str = ""
    missed_entities: str = ""
    missed_relations: str = ""

    @property
    def is_judged(self) -> bool:
        """Whether the unit has a verdict, and the foil too if there is one."""
        return bool(self.unit_verdict and (self.foil_verdict or not self.foil))


_UnitWithFoils = tuple[Entity | Relation, list[EntityFoil | RelationFoil]]
# of a sheet that has all units of its captions
CAPTION_COLUMNS = tuple(field.name for field in fields(SheetRow))
COLUMNS = CAPTION_COLUMNS[: CAPTION_COLUMNS.index("missed_entities")]


def draw_sheet_rows(
    records: Mapping[str, UnitRecord], n: int, seed: int, edit: str | None = None
) -> list[SheetRow]:
    """Draws units that have foils, at most one per caption.

    If a caption has both entities and relations, the kind drawn less often so far is taken.

    Args:
        records: The records of a units file by caption id.
        n: The maximum number of rows.
        seed: The random seed.
        edit: The only edit to draw, or None for all.

    Returns:
        The rows of a sheet, without verdicts.

    Raises:
        ZooError: No foil has the edit `edit`, or the records have no foils.
    """
    rng = Random(seed)
    rows: list[SheetRow] = []
    n_by_kind: Counter[str] = Counter()
    for record in rng.sample(list(records.values()), len(records)):
        if len(rows) == n:
            break
        units: dict[str, list[_UnitWithFoils]] = {
            "entity": list(_units_with_foils(record.entities, edit)),
            "relation": list(_units_with_foils(record.relations, edit)),
        }
        for kind in sorted(units, key=lambda kind: n_by_kind[kind]):
            if units[kind]:
                unit, foils = rng.choice(units[kind])
                foil = rng.choice(foils)
                cells = (record.caption_id, record.caption, kind, unit.text, foil.text, foil.edit)
                rows.append(SheetRow(str(len(rows) + 1), *cells))
                n_by_kind[kind] += 1
                break
    if not rows:
        edits = {foil.edit for record in records.values() for foil in _all_foils(record)}
        if edit is None or not edits:
            raise ZooError("the units file has no foils to judge: give a units file with foils")
        raise ZooError(
            f"--edit {edit}: no foil in the units file has this edit{suggest_names(edit, edits)}: "
            f"choose among {', '.join(sorted(edits))}"
        )
    return rows


def draw_caption_rows(records: Mapping[str, UnitRecord], n: int, seed: int) -> list[SheetRow]:
    """Draws captions, with all their units and one foil of each unit that has any.

    Args:
        records: The records of a units file by caption id.
        n: The maximum number of captions.
        seed: The random seed.

    Returns:
        The rows of a sheet, without verdicts. A caption without units has one row.

    Raises:
        ZooError: The units file is empty.
    """
    if not records:
        raise ZooError("the units file has no captions to judge: give a units file with captions")
    rng = Random(seed)
    rows: list[SheetRow] = []
    for record in rng.sample(list(records.values()), min(n, len(records))):
        cells = [
            *(("entity", unit.text, *_draw_foil(unit.foils, rng)) for unit in record.entities),
            *(("relation", unit.text, *_draw_foil(unit.foils, rng)) for unit in record.relations),
        ]
        for unit_cells in cells or [("none", "", "", "")]:
            number = str(len(rows) + 1)
            rows.append(SheetRow(number, record.caption_id, record.caption, *unit_cells))
    return rows


def _draw_foil(foils: Sequence[EntityFoil | RelationFoil], rng: Random) -> tuple[str, str]:
    """Returns the text and edit of one of the foils, or two empty texts."""
    if not foils:
        return "", ""
    foil = rng.choice(foils)
    return foil.text, foil.edit


def _all_foils(record: UnitRecord) -> Iterator[EntityFoil | RelationFoil]:
    for entity in record.entities:
        yield from entity.foils
    for relation in record.relations:
        yield from relation.foils


def _units_with_foils(
    units: Iterable[Entity | Relation], edit: str | None
) -> Iterator[_UnitWithFoils]:
    """Yields each unit that has foils of an edit, with these foils."""
    for unit in units:
        foils = [foil for foil in unit.foils if edit in (None, foil.edit)]
        if foils:
            yield unit, foils


def write_sheet(rows: Iterable[SheetRow], path: Path, columns: Sequence[str] = COLUMNS) -> None:
    """Writes a sheet as CSV; an existing file is not overwritten, since it may contain verdicts.

    Args:
        rows: The rows of the sheet.
        path: The file to write; missing parent folders are created.
        columns: Its columns, `COLUMNS` or `CAPTION_COLUMNS`.

    Raises:
        ZooError: The file exists, or it cannot be written.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(map(asdict, rows))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "x", encoding="utf-8", newline="") as file:
            try:
                file.write(text.getvalue())
                file.flush()
            except OSError:
                path.unlink()
                raise
    except FileExistsError as error:
        raise ZooError(
            f"{path} already exists and may contain verdicts: "
            "choose another file with --out, or delete this one"
        ) from error
    except OSError as error:
        raise ZooError(
            f"{path} could not be written ({error.strerror or error}): "
            "give --out a writable folder with free disk space"
        ) from error


def read_sheet(path: Path) -> list[SheetRow]:
    """Reads the rows of a sheet.

    Raises:
        ZooError: The file is not a sheet or cannot be read. The error names the file, line and
            column.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = tuple(next(reader, ()))
            if header not in (COLUMNS, CAPTION_COLUMNS):
                raise ZooError(
                    f"{path} is not a sheet written by `zoo units audit`: "
                    f"its first line must be {','.join(COLUMNS)}"
                )
            return [
                _parse_row(header, cells, f"{path}:{reader.line_num}") for cells in reader if cells
            ]
    except UnicodeDecodeError as error:
        raise ZooError(f"{path} is not UTF-8 text: save the sheet as UTF-8 CSV") from error
    except OSError as error:
        raise ZooError(
            f"{path} cannot be read ({error.strerror or error}): "
            "give a sheet written by `zoo units audit UNITS.jsonl`"
        ) from error
    except csv.Error as error:
        raise ZooError(f"{path}:{reader.line_num}: invalid CSV ({error}): fix the line") from error


def _parse_row(columns: tuple[str, ...], cells: list[str], location: str) -> SheetRow:
    if len(cells) != len(columns):
        raise ZooError(
            f"{location} has {len(cells)} columns instead of {len(columns)}: "
            "put quotation marks around cells that contain a comma"
        )
    row = dict(zip(columns, cells, strict=True))
    for column in columns[len(COLUMNS) :]:
        row[column] = row[column].strip()
        if row[column] and not row[column].isdecimal():
            raise ZooError(
                f"{location}: {column} '{row[column]}' is not a number: give the number of missed "
                "units of the caption, or leave it empty"
            )
    for column, choices in (("unit_verdict", UNIT_VERDICTS), ("foil_verdict", FOIL_VERDICTS)):
        row[column] = row[column].strip().lower()
        _check_verdict(row[column], choices, f"{location}: {column}")
    if row["foil_verdict"] == "absurd_swap" and row["edit"] != SWAP:
        raise ZooError(
            f"{location}: foil_verdict absurd_swap applies only to swaps, but the edit is "
            f"{row['edit']}: use nonsense instead"
        )
    return SheetRow(**row)


def _check_verdict(verdict: str, choices: Collection[str], location: str) -> None:
    if verdict and verdict not in choices:
        raise ZooError(
            f"{location} '{verdict}' is not a verdict{suggest_names(verdict, choices)}: "
            f"use {', '.join(choices)}, or leave it empty"
        )


@dataclass(frozen=True)
class VerdictShare:
    """How often a verdict was given.

    Attributes:
        verdict: The verdict, one of `UNIT_VERDICTS` or `FOIL_VERDICTS`.
        group: What was judged, such as "units" or "foils of entities".
        count: How many of them have the verdict.
        n: How many of them were judged.
    """

    verdict: str
    group: str
    count: int
    n: int


def verdict_shares(rows: Iterable[SheetRow]) -> list[VerdictShare]:
    """Counts the verdicts other than ok.

    Args:
        rows: The rows of one or more sheets.

    Returns:
        The share of false units among units, of units with any error, and of missed units among
        those of the captions; and the share of each verdict among foils, foils of entities, foils
        of relations and swaps. Groups without any verdict are left out.
    """
    rows = list(rows)
    all_shares = [_count_verdict("false", "units", [row.unit_verdict for row in rows])]
    judged = [row for row in rows if row.is_judged]
    n_errors = sum(row.unit_verdict != OK or row.foil_verdict not in (OK, "") for row in judged)
    all_shares.append(VerdictShare("any error", "units", n_errors, len(judged)))
    for kind, column in (("entity", "missed_entities"), ("relation", "missed_relations")):
        numbers = {row.caption_id: getattr(row, column) for row in rows if getattr(row, column)}
        true_units = [
            row
            for row in rows
            if row.caption_id in numbers and row.kind == kind and row.unit_verdict == OK
        ]
        n_missed = sum(map(int, numbers.values()))
        all_shares.append(
            VerdictShare(
                "missed", column.removeprefix("missed_"), n_missed, n_missed + len(true_units)
            )
        )
    groups = {
        "foils": rows,
        "foils of entities": [row for row in rows if row.kind == "entity"],
        "foils of relations": [row for row in rows if row.kind == "relation"],
        "swaps": [row for row in rows if row.edit == SWAP],
    }
    for group_name, group in groups.items():
        verdicts = [row.foil_verdict for row in group]
        all_shares += [
            _count_verdict(verdict, group_name, verdicts)
            for verdict in FOIL_VERDICTS
            if verdict != OK
            and not (verdict == "absurd_swap" and group_name == "foils of entities")
        ]
    return [share for share in all_shares if share.n]


def _count_verdict(verdict: str, group_name: str, verdicts: Collection[str]) -> VerdictShare:
    return VerdictShare(
        verdict, group_name, sum(v == verdict for v in verdicts), sum(bool(v) for v in verdicts)
    )
