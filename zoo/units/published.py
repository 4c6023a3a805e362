"""Reads CS-CLIP's published units: one JSON array per file, with old or new field names.

These files have no argument changes. The public code creates them during sampling: it replaces the
argument with a foil of the entity. Here they are created on reading, so that a record is complete
and the half-truth conditions can be distinguished.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from zoo.errors import ZooError
from zoo.support.schema import Text, validate_record
from zoo.support.text_files import read_json
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

_SWAPS = ("swap", "subject_object_swap", "argument_swap")
_PART_OF_EDIT = {"object_change": "head", "attribute_change": "attribute"}
_COCO_NUMBER = re.compile(r"(\d{12})\.jpe?g$")
_UNKNOWN_EDIT = "entity_change"


class _PublishedEntityFoil(Struct):
    negative: Text
    change_type: str | None = None


class _PublishedRelationFoil(Struct):
    """A foil of a relation. Missing fields are the same as in the relation."""

    subject: str | None = None
    relation_type: str | None = None
    predicate: str | None = None
    object: str | None = None
    change_type: str | None = None


class _PublishedRelation(Struct):
    subject: Text
    object: Text
    relation_type: Text | None = None
    predicate: Text | None = None
    negatives: list[Text | _PublishedRelationFoil] | None = None


class _PublishedRecord(Struct):
    """A record. Where a field has two names, the second is from older files."""

    sample_id: Text
    original_caption: Text | None = None
    caption: Text | None = None
    image_path: str | None = None
    entities: list[Text] | None = None
    positive_components: list[Text] | None = None
    negative_entities: dict[str, Any] | None = None
    negative_components: dict[str, Any] | None = None
    relations: list[_PublishedRelation] | None = None
    negative_relations: list[_PublishedRelationFoil] | None = None


def read_published(file: Path) -> Iterator[tuple[str, UnitRecord]]:
    """Yields each record with its location, 'FILE[ENTRY]'.

    A record's caption_id is the published sample_id ("coco_17_85"). Its image_id is COCO's number
    if image_path contains it ("coco:391895"), otherwise the sample_id without its last part
    ("coco_17").

    Args:
        file: A file of published units, plain JSON.

    Raises:
        ZooError: The file does not have the published format. The error names the file, entry and
            field.
    """
    source = {"format": "cs_clip", "file": file.name}
    for i, row in enumerate(read_json(file)):
        location = f"{file}[{i}]"
        yield (
            location,
            _convert_record(validate_record(row, _PublishedRecord, location), location, source),
        )


def _convert_record(row: _PublishedRecord, location: str, source: dict[str, Any]) -> UnitRecord:
    entities = _convert_entities(row, location)
    foils_of = {e.text: e.foils for e in entities}
    relations = tuple(
        _convert_relation(r, location, f"relations[{i}]", foils_of, row.negative_relations or [])
        for i, r in enumerate(row.relations or [])
    )
    caption = _required_text(
        row.original_caption, row.caption, location, "original_caption"
    ).strip()
    image = _COCO_NUMBER.search(row.image_path or "")
    image_id = f"coco:{int(image[1])}" if image else row.sample_id.rpartition("_")[0]
    return UnitRecord(
        row.sample_id, image_id or row.sample_id, caption, entities, relations, source
    )


def _convert_entities(row: _PublishedRecord, location: str) -> tuple[Entity, ...]:
    """Returns the entities, including those that have foils but are not listed.

    The published extractor left some entities out of its list.
    """
    foils: dict[str, tuple[EntityFoil, ...]] = {}
    negatives = "negative_components" if row.negative_entities is None else "negative_entities"
    for name, options in (getattr(row, negatives) or {}).items():
        entity_foils = validate_record(
            options, list[Text | _PublishedEntityFoil], location, path=f"{negatives}.{name}"
        )
        foils[name.strip()] = tuple(map(_convert_entity_foil, entity_foils))
    listed = row.positive_components if row.entities is None else row.entities
    texts = [text.strip() for text in listed or []]
    return tuple(Entity(text, foils.get(text, ())) for text in dict.fromkeys([*texts, *foils]))


def _convert_entity_foil(foil: str | _PublishedEntityFoil) -> EntityFoil:
    if isinstance(foil, str):
        return EntityFoil(foil.strip(), _UNKNOWN_EDIT)
    return EntityFoil(foil.negative.strip(), foil.change_type or _UNKNOWN_EDIT)


def _convert_relation(
    row: _PublishedRelation,
    location: str,
    field_path: str,
    foils_of: dict[str, tuple[EntityFoil, ...]],
    loose_foils: list[_PublishedRelationFoil],
) -> Relation:
    """Converts a relation. Its foils are in `row` or, in older files, in the list of all foils."""
    subject, object_ = row.subject.strip(), row.object.strip()
    predicate = _normalise_predicate(
        _required_text(row.relation_type, row.predicate, location, f"{field_path}.relation_type")
    )
    relation = Relation(subject, predicate, object_)
    ends = {subject, object_}
    own_foils = row.negatives or [
        f for f in loose_foils if {_stripped_text(f.subject), _stripped_text(f.object)} == ends
    ]
    foils = [_convert_relation_foil(foil, relation) for foil in own_foils]
    for component, argument in (("subject", subject), ("object", object_)):
        for foil in foils_of.get(argument, ()):
            changed = {"subject": subject, "object": object_, component: foil.text}
            part = _PART_OF_EDIT.get(foil.edit)
            foils.append(
                RelationFoil(
                    predicate=predicate,
                    edit="argument_change",
                    component=component,
                    part=part,
                    **changed,
                )
            )
    return Relation(
        subject,
        predicate,
        object_,
        tuple(f for f in dict.fromkeys(foils) if f.text != relation.text),
    )


def _convert_relation_foil(row: str | _PublishedRelationFoil, relation: Relation) -> RelationFoil:
    """Converts a foil; missing fields come from the relation, and a plain text is a predicate."""
    if isinstance(row, str):
        return RelationFoil(
            relation.subject,
            _normalise_predicate(row),
            relation.object,
            "predicate_change",
            "predicate",
        )
    edit = row.change_type or "relation_change"
    if edit in _SWAPS:
        return RelationFoil(relation.object, relation.predicate, relation.subject, "argument_swap")
    foil = RelationFoil(
        _stripped_text(row.subject) or relation.subject,
        _normalise_predicate(row.relation_type or row.predicate or "") or relation.predicate,
        _stripped_text(row.object) or relation.object,
        edit,
    )
    changed = [
        c for c in ("subject", "predicate", "object") if getattr(foil, c) != getattr(relation, c)
    ]
    return replace(foil, component=changed[0]) if len(changed) == 1 else foil


def _required_text(first: str | None, second: str | None, location: str, field: str) -> str:
    """Returns the first value that is not None, for a field with two names."""
    text = second if first is None else first
    if text is None:
        raise ZooError(f"{location}: field '{field}' is missing: add it to the record")
    return text


def _stripped_text(text: str | None) -> str:
    return (text or "").strip()


def _normalise_predicate(text: str) -> str:
    return " ".join(text.replace("_", " ").split())
