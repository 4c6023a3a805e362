"""Reads units files (JSONL, Parquet, CS-CLIP's published JSON) and writes JSONL."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from zoo.errors import ZooError
from zoo.support.files import write_atomically
from zoo.support.garbage_collection import collector_off
from zoo.support.schema import Text, validate_record
from zoo.support.text_files import numbered_lines, open_bytes, parse_json_line
from zoo.units.parquet import SUFFIX, read_unit_rows
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
    """A line or row of a units file; empty lists must be present."""

    caption_id: Text
    image_id: Text
    caption: Text
    entities: list[_EntityFields]
    relations: list[_RelationFields]
    source: dict[str, Any] = {}


def read_units(path: str | Path) -> dict[str, UnitRecord]:
    """Returns the records by caption id, in file order.

    Args:
        path: A JSONL file (one record per line), a Parquet file (one record per row), a JSON array
            of CS-CLIP's published records, or a folder of such files.

    Raises:
        ZooError: A file cannot be read, has no units or is invalid, or a caption id appears twice.
            The error names the file, the line, row or entry, and the field.
    """
    with collector_off():
        return {record.caption_id: record for record in unit_records(path)}


def unit_records(path: str | Path) -> Iterator[UnitRecord]:
    """Yields the records in file order; see `read_units`."""
    locations: dict[str, str] = {}
    for location, units in (
        located_record for file in unit_files(path) for located_record in _read_file(file)
    ):
        if units.caption_id in locations:
            raise ZooError(
                f"{location}: caption_id '{units.caption_id}' already appears at "
                f"{locations[units.caption_id]}: remove one of the two"
            )
        locations[units.caption_id] = location
        yield units
    if not locations:
        raise ZooError(
            f"{path} has no units: "
            f"`zoo units extract CAPTIONS --out {path}` extracts them from captions"
        )


def unit_files(path: str | Path) -> list[Path]:
    """Returns the file itself, or the *.json, *.jsonl and *.parquet files of a folder, sorted.

    Raises:
        ZooError: The path does not exist, or the folder has no such file.
    """
    path = Path(path)
    if path.exists() and not path.is_dir():
        return [path]
    if not path.exists():
        raise ZooError(
            f"the units file {path} does not exist: "
            f"`zoo units extract CAPTIONS --out {path}` creates it from captions"
        )
    files = sorted(f for f in path.iterdir() if f.suffix in SUFFIXES)
    if not files:
        raise ZooError(
            f"the folder {path} has no {' or '.join(f'*{s}' for s in SUFFIXES)} files: give the "
            "folder of the units files"
        )
    return files


def write_units(records: Iterable[UnitRecord], path: str | Path) -> int:
    """Writes one record per line and returns the number of records.

    The file appears only when it is complete.
    """
    count = 0
    with write_atomically(Path(path)) as part, part.open("w", encoding="utf-8") as stream:
        for units in records:
            stream.write(json.dumps(record_to_dict(units), ensure_ascii=False) + "\n")
            count += 1
    return count


def record_to_dict(record: UnitRecord) -> dict[str, Any]:
    """Returns the record in the schema of a units file.

    Unknown fields of relation foils are left out.
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
    """Yields each record with its location: 'FILE:LINE', 'FILE[ENTRY]' or 'FILE[ROW]'."""
    sources: dict[str, dict[str, Any]] = {}
    if file.suffix == SUFFIX:
        for location, row in read_unit_rows(file):
            yield location, _validate_record(row, location, sources)
        return
    try:
        with open_bytes(file) as content:
            head = content.read(4096).decode("utf-8-sig", errors="ignore")
    except OSError as error:
        raise ZooError(
            f"{file} cannot be read ({error.strerror}): give a readable units file"
        ) from error
    if head.lstrip().startswith("["):
        yield from read_published(file)
        return
    for number, line in numbered_lines(file):
        location = f"{file}:{number}"
        units = _decode_quickly(line, sources)
        if units is not None:
            yield location, units
            continue
        value = parse_json_line(line, location, "fix or remove the line")
        yield location, _validate_record(value, location, sources)


def _decode_quickly(line: str, shared_sources: dict[str, dict[str, Any]]) -> UnitRecord | None:
    """Decodes a line quickly; returns None if it needs the full checks of `_validate_record`.

    That is the case if a key or text has an escape or is blank, missing or unknown.
    """
    if "\\" in line or _BLANK.search(line):
        return None
    try:
        units = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    source = json.dumps(units.source, sort_keys=True)
    # the decoder accepts duplicate, unknown and missing keys, which change the number of keys
    if line.count('":') != _count_json_keys(units) + source.count('":'):
        return None
    return replace(units, source=shared_sources.setdefault(source, units.source))


def _count_json_keys(record: UnitRecord) -> int:
    """Returns the number of keys in a record's JSON line, without those of its source."""
    entities = sum(2 + 2 * len(entity.foils) for entity in record.entities)
    foils = [foil for relation in record.relations for foil in relation.foils]
    left_out = sum((foil.component is None) + (foil.part is None) for foil in foils)
    return 6 + entities + 4 * len(record.relations) + 6 * len(foils) - left_out


def _validate_record(value: Any, location: str, sources: dict[str, dict[str, Any]]) -> UnitRecord:
    row = validate_record(value, _UnitLine, location)
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
        # most lines have the same source: share one object
        sources.setdefault(json.dumps(row.source, sort_keys=True), row.source),
    )
