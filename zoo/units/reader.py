"""Units files: reads JSONL, Parquet and CS-CLIP's published JSON, writes JSONL."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from zoo.errors import ZooError
from zoo.support.collector import collector_off
from zoo.support.files import write_atomically
from zoo.support.schema import Text, record
from zoo.support.text_files import json_line, numbered_lines, open_bytes
from zoo.units.parquet import SUFFIX, read_rows
from zoo.units.published import read_published
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

SUFFIXES = (".json", ".jsonl", SUFFIX)


_DECODER = msgspec.json.Decoder(UnitRecord)
_BLANK = re.compile(r'"\s*"')


class _EntityFoilFields(Struct):
    text: Text
    edit: Text


class _EntityFields(Struct):
    text: Text
    foils: list[_EntityFoilFields]


class _RelationFoilFields(Struct):
    subject: Text
    predicate: Text
    object: Text
    edit: Text
    component: Text | None = None
    part: Text | None = None


class _RelationFields(Struct):
    subject: Text
    predicate: Text
    object: Text
    foils: list[_RelationFoilFields]


class _UnitLine(Struct):
    """A line or row of a units file. Lists that are empty stand in it as such."""

    caption_id: Text
    image_id: Text
    caption: Text
    entities: list[_EntityFields]
    relations: list[_RelationFields]
    source: dict[str, Any] = {}


def read_units(path: str | Path) -> dict[str, UnitRecord]:
    """Returns the records by caption id, in file order.

    Args:
        path: A JSONL file (one record a line), a Parquet file (one record a row), a JSON file that
            holds one array of CS-CLIP's published records, or a folder of such files.

    Raises:
        ZooError: A file cannot be read, holds no units or is wrong somewhere, or a caption id comes
            twice. The error names file, line (row or entry, where there are no lines) and field of
            what is wrong.
    """
    with collector_off():
        return {record.caption_id: record for record in unit_records(path)}


def unit_records(path: str | Path) -> Iterator[UnitRecord]:
    """Yields the records in file order; see `read_units`."""
    places: dict[str, str] = {}
    for where, units in (found for file in unit_files(path) for found in _read_file(file)):
        if units.caption_id in places:
            raise ZooError(
                f"{where}: caption_id '{units.caption_id}' was given before, at "
                f"{places[units.caption_id]}: leave one of the two out"
            )
        places[units.caption_id] = where
        yield units
    if not places:
        raise ZooError(
            f"{path} holds no units: "
            f"`zoo units extract CAPTIONS --out {path}` makes them from captions"
        )


def unit_files(path: str | Path) -> list[Path]:
    """Returns the file itself, or the *.json, *.jsonl and *.parquet of a folder by name.

    Raises:
        ZooError: The path does not exist, or the folder has no such file.
    """
    path = Path(path)
    if path.exists() and not path.is_dir():
        return [path]
    if not path.exists():
        raise ZooError(
            f"the units file {path} does not exist: "
            f"`zoo units extract CAPTIONS --out {path}` makes one from captions"
        )
    files = sorted(f for f in path.iterdir() if f.suffix in SUFFIXES)
    if not files:
        raise ZooError(
            f"the folder {path} holds no {' and no '.join(f'*{s}' for s in SUFFIXES)}: name the "
            "folder of the units files"
        )
    return files


def write_units(records: Iterable[UnitRecord], path: str | Path) -> int:
    """Writes one record a line and returns their number.

    The file appears when it is whole, or not at all.
    """
    count = 0
    with write_atomically(Path(path)) as part, part.open("w", encoding="utf-8") as out:
        for units in records:
            out.write(json.dumps(to_json(units), ensure_ascii=False) + "\n")
            count += 1
    return count


def to_json(record: UnitRecord) -> dict[str, Any]:
    """Returns the record in the schema of a units file.

    What a relation foil leaves open is left out.
    """
    return {
        "caption_id": record.caption_id,
        "image_id": record.image_id,
        "caption": record.caption,
        "entities": [
            {"text": e.text, "foils": [vars(f) for f in e.foils]} for e in record.entities
        ],
        "relations": [
            {
                "subject": r.subject,
                "predicate": r.predicate,
                "object": r.object,
                "foils": [{k: v for k, v in vars(f).items() if v is not None} for f in r.foils],
            }
            for r in record.relations
        ],
        "source": record.source,
    }


def _read_file(file: Path) -> Iterator[tuple[str, UnitRecord]]:
    """Yields each record with 'FILE:LINE', 'FILE[ENTRY]' or 'FILE[ROW]'."""
    sources: dict[str, dict[str, Any]] = {}
    if file.suffix == SUFFIX:
        for where, row in read_rows(file):
            yield where, _record(row, where, sources)
        return
    try:
        with open_bytes(file) as content:
            head = content.read(4096).decode("utf-8-sig", errors="ignore")
    except OSError as error:
        raise ZooError(
            f"{file} cannot be read ({error.strerror}): give a units file that you may read"
        ) from error
    if head.lstrip().startswith("["):
        yield from read_published(file)
        return
    for number, line in numbered_lines(file):
        where = f"{file}:{number}"
        quick = _quick(line, sources)
        if quick is not None:
            yield where, quick
            continue
        value = json_line(line, where, "mend or remove the line")
        yield where, _record(value, where, sources)


def _quick(line: str, sources: dict[str, dict[str, Any]]) -> UnitRecord | None:
    """Reads a line in a fraction of the time; returns None where `_record` has to say what it is.

    That is where a key or text may be more than it looks like, is blank, absent or not known.
    """
    if "\\" in line or _BLANK.search(line):
        return None
    try:
        found = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    source = json.dumps(found.source, sort_keys=True)
    # the decoder keeps the last of two equal keys, passes over others, and fills in what is absent
    if line.count('":') != _keys(found) + source.count('":'):
        return None
    return replace(found, source=sources.setdefault(source, found.source))


def _keys(record: UnitRecord) -> int:
    """Returns how many keys a record has as a line, those of its source left out."""
    entities = sum(2 + 2 * len(entity.foils) for entity in record.entities)
    foils = [foil for relation in record.relations for foil in relation.foils]
    left_out = sum((foil.component is None) + (foil.part is None) for foil in foils)
    return 6 + entities + 4 * len(record.relations) + 6 * len(foils) - left_out


def _record(value: Any, where: str, sources: dict[str, dict[str, Any]]) -> UnitRecord:
    row = record(value, _UnitLine, where)
    return UnitRecord(
        row.caption_id,
        row.image_id,
        row.caption,
        tuple(
            Entity(e.text, tuple(EntityFoil(f.text, f.edit) for f in e.foils)) for e in row.entities
        ),
        tuple(
            Relation(
                r.subject,
                r.predicate,
                r.object,
                tuple(RelationFoil(**msgspec.structs.asdict(f)) for f in r.foils),
            )
            for r in row.relations
        ),
        # a source is the same in every line as a rule: one object for all of them
        sources.setdefault(json.dumps(row.source, sort_keys=True), row.source),
    )
