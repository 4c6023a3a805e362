"""Audit: a sheet of units and foils that people judge by hand, and the count of their verdicts."""

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random

from zoo.errors import ZooError, suggest_names
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

OK = "ok"
# of a unit: false where the caption does not say it
UNIT_VERDICTS = (OK, "false")
# of a foil: it is true of the image as well, its words name nothing, it is no English, or it is a
# swap that no image could show
FOIL_VERDICTS = (OK, "still_true", "nonsense", "broken", "absurd_swap")
SWAP = "argument_swap"


@dataclass(frozen=True)
class SheetRow:
    """A line of a sheet: a unit with one of its foils, and what a judge says of both.

    Args:
        number: The line's place in the draw, from 1.
        caption_id: The id of the caption in the units file.
        caption: The caption that the unit was found in.
        kind: "entity" or "relation".
        unit: The unit's text.
        foil: The foil's text.
        edit: How the foil was made, such as "object_change".
        unit_verdict: One of `UNIT_VERDICTS`, or empty where it is not judged yet.
        foil_verdict: One of `FOIL_VERDICTS`, or empty where it is not judged yet.
        note: Anything that the judge wants to add.
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


_WithFoils = tuple[Entity | Relation, list[EntityFoil | RelationFoil]]
COLUMNS = tuple(field.name for field in fields(SheetRow))


def draw(
    records: Mapping[str, UnitRecord], n: int, seed: int, edit: str | None = None
) -> list[SheetRow]:
    """Draws units with a foil, one from a caption.

    Entities and relations take turns, where there are both.

    Args:
        records: The records of a units file by caption id.
        n: How many to draw at most.
        seed: Settles the draw.
        edit: The only edit to draw, or None for all.

    Returns:
        The lines of a sheet, without verdicts.

    Raises:
        ZooError: No foil was made by `edit`, or there is none at all.
    """
    rng = Random(seed)
    rows: list[SheetRow] = []
    drawn: Counter[str] = Counter()
    for record in rng.sample(list(records.values()), len(records)):
        if len(rows) == n:
            break
        units: dict[str, list[_WithFoils]] = {
            "entity": list(_pairs(record.entities, edit)),
            "relation": list(_pairs(record.relations, edit)),
        }
        for kind in sorted(units, key=lambda kind: drawn[kind]):
            if units[kind]:
                unit, foils = rng.choice(units[kind])
                foil = rng.choice(foils)
                named = (record.caption_id, record.caption, kind, unit.text, foil.text, foil.edit)
                rows.append(SheetRow(str(len(rows) + 1), *named))
                drawn[kind] += 1
                break
    if not rows:
        edits = {foil.edit for record in records.values() for foil in _foils(record)}
        if edit is None or not edits:
            raise ZooError("the units file holds no foil to judge: name one that holds foils")
        raise ZooError(
            f"--edit {edit}: no foil in the units file has this edit{suggest_names(edit, edits)}: "
            f"choose among {', '.join(sorted(edits))}"
        )
    return rows


def _foils(record: UnitRecord) -> Iterator[EntityFoil | RelationFoil]:
    for entity in record.entities:
        yield from entity.foils
    for relation in record.relations:
        yield from relation.foils


def _pairs(units: Iterable[Entity | Relation], edit: str | None) -> Iterator[_WithFoils]:
    """Yields the units that have foils of that edit, with these foils."""
    for unit in units:
        foils = [foil for foil in unit.foils if edit in (None, foil.edit)]
        if foils:
            yield unit, foils


def write_sheet(rows: Iterable[SheetRow], path: Path) -> None:
    """Writes a sheet as CSV, and never over a file, which may hold verdicts.

    Args:
        rows: The lines of the sheet.
        path: The file to write; its folders are made.

    Raises:
        ZooError: The file exists, or it cannot be written.
    """
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS)
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
            f"{path} exists and may hold verdicts: "
            "name another sheet by --out, or remove it yourself"
        ) from error
    except OSError as error:
        raise ZooError(
            f"{path} could not be written ({error.strerror or error}): "
            "give --out a folder with room that you may write to"
        ) from error


def read_sheet(path: Path) -> list[SheetRow]:
    """Returns the lines of a sheet.

    Raises:
        ZooError: The file is no sheet or cannot be read. The error names file, line and column of
            what is wrong.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            header = tuple(next(reader, ()))
            if header != COLUMNS:
                raise ZooError(
                    f"{path} is no sheet of `zoo units audit`: "
                    f"its first line must be {','.join(COLUMNS)}"
                )
            return [_row(cells, f"{path}:{reader.line_num}") for cells in reader if cells]
    except UnicodeDecodeError as error:
        raise ZooError(f"{path} is not UTF-8 text: save the sheet as UTF-8 CSV") from error
    except OSError as error:
        raise ZooError(
            f"{path} cannot be read ({error.strerror or error}): "
            "name a sheet that `zoo units audit UNITS.jsonl` wrote"
        ) from error
    except csv.Error as error:
        raise ZooError(f"{path}:{reader.line_num}: no CSV ({error}): mend the line") from error


def _row(cells: list[str], where: str) -> SheetRow:
    if len(cells) != len(COLUMNS):
        raise ZooError(
            f"{where} has {len(cells)} columns for {len(COLUMNS)}: "
            "put quotation marks around a cell that holds a comma"
        )
    row = dict(zip(COLUMNS, cells, strict=True))
    for column, known in (("unit_verdict", UNIT_VERDICTS), ("foil_verdict", FOIL_VERDICTS)):
        row[column] = row[column].strip().lower()
        _check(row[column], known, f"{where}: {column}")
    if row["foil_verdict"] == "absurd_swap" and row["edit"] != SWAP:
        raise ZooError(
            f"{where}: foil_verdict absurd_swap is for swaps, and the foil's edit is "
            f"{row['edit']}: write nonsense"
        )
    return SheetRow(**row)


def _check(verdict: str, known: Collection[str], where: str) -> None:
    if verdict and verdict not in known:
        raise ZooError(
            f"{where} '{verdict}' is no verdict{suggest_names(verdict, known)}: "
            f"write {', '.join(known)}, or nothing"
        )


@dataclass(frozen=True)
class Share:
    """How often a verdict fell.

    Attributes:
        verdict: The verdict, one of `UNIT_VERDICTS` or `FOIL_VERDICTS`.
        of: What was judged, such as "units" or "foils of entities".
        count: How many of them have the verdict.
        n: How many of them were judged.
    """

    verdict: str
    of: str
    count: int
    n: int


def shares(rows: Iterable[SheetRow]) -> list[Share]:
    """Counts the verdicts other than ok.

    Args:
        rows: The lines of one sheet or of several.

    Returns:
        The share of false units among units, and the share of each verdict among foils, foils of
        entities, foils of relations and swaps. Where nothing is judged yet there is no share.
    """
    rows = list(rows)
    found = [_share("false", "units", [row.unit_verdict for row in rows])]
    groups = {
        "foils": rows,
        "foils of entities": [row for row in rows if row.kind == "entity"],
        "foils of relations": [row for row in rows if row.kind == "relation"],
        "swaps": [row for row in rows if row.edit == SWAP],
    }
    for of, group in groups.items():
        verdicts = [row.foil_verdict for row in group]
        found += [
            _share(verdict, of, verdicts)
            for verdict in FOIL_VERDICTS
            if verdict != OK and not (verdict == "absurd_swap" and of == "foils of entities")
        ]
    return [share for share in found if share.n]


def _share(verdict: str, of: str, verdicts: Collection[str]) -> Share:
    return Share(verdict, of, sum(v == verdict for v in verdicts), sum(bool(v) for v in verdicts))
