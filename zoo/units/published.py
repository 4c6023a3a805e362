"""CS-CLIP's published units: a JSON array a file, in either spelling that its public code has used.

Argument changes are not in these files. The public code makes them while it samples: it puts a
foil of the entity in the argument's place. They are made here instead, so that a record is
complete and the half-truth conditions can be told apart.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import Struct

from zoo.errors import ZooError
from zoo.support.schema import Text, record
from zoo.support.text_files import read_json
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

_SWAPS = ("swap", "subject_object_swap", "argument_swap")
_PART_OF_EDIT = {"object_change": "head", "attribute_change": "attribute"}
_COCO_NUMBER = re.compile(r"(\d{12})\.jpe?g$")
_BARE_EDIT = "entity_change"


class _PublishedEntityFoil(Struct):
    negative: Text
    change_type: str | None = None


class _PublishedRelationFoil(Struct):
    """A relation, of which what is left out is as in the relation that it belongs to."""

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
    """A record. The second of two names of a field is that of older files."""

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
    """Yields each record with the place where it stands, 'FILE[ENTRY]'.

    A record's caption_id is the published sample_id ("coco_17_85"). Its image_id is COCO's number
    where image_path has it ("coco:391895"), else the sample_id without its last part ("coco_17").

    Args:
        file: A file of published units, plain JSON.

    Raises:
        ZooError: The file is not as published. The error names file, entry and field of what is
            wrong.
    """
    source = {"format": "cs_clip", "file": file.name}
    for i, row in enumerate(read_json(file)):
        where = f"{file}[{i}]"
        yield where, _record(record(row, _PublishedRecord, where), where, source)


def _record(row: _PublishedRecord, where: str, source: dict[str, Any]) -> UnitRecord:
    entities = _entities(row, where)
    foils_of = {e.text: e.foils for e in entities}
    relations = tuple(
        _relation(r, where, f"relations[{i}]", foils_of, row.negative_relations or [])
        for i, r in enumerate(row.relations or [])
    )
    caption = _either(row.original_caption, row.caption, where, "original_caption").strip()
    image = _COCO_NUMBER.search(row.image_path or "")
    image_id = f"coco:{int(image[1])}" if image else row.sample_id.rpartition("_")[0]
    return UnitRecord(
        row.sample_id, image_id or row.sample_id, caption, entities, relations, source
    )


def _entities(row: _PublishedRecord, where: str) -> tuple[Entity, ...]:
    """Reads the entities, also those that have foils but are not listed.

    The published extractor lost some entities from its list.
    """
    foils: dict[str, tuple[EntityFoil, ...]] = {}
    negatives = "negative_components" if row.negative_entities is None else "negative_entities"
    for name, options in (getattr(row, negatives) or {}).items():
        made = record(options, list[Text | _PublishedEntityFoil], where, path=f"{negatives}.{name}")
        foils[name.strip()] = tuple(map(_entity_foil, made))
    listed = row.positive_components if row.entities is None else row.entities
    texts = [text.strip() for text in listed or []]
    return tuple(Entity(text, foils.get(text, ())) for text in dict.fromkeys([*texts, *foils]))


def _entity_foil(foil: str | _PublishedEntityFoil) -> EntityFoil:
    if isinstance(foil, str):
        return EntityFoil(foil.strip(), _BARE_EDIT)
    return EntityFoil(foil.negative.strip(), foil.change_type or _BARE_EDIT)


def _relation(
    row: _PublishedRelation,
    where: str,
    path: str,
    foils_of: dict[str, tuple[EntityFoil, ...]],
    loose: list[_PublishedRelationFoil],
) -> Relation:
    """Makes a relation, whose foils stand in it or, in older files, loose beside all relations."""
    subject, object_ = row.subject.strip(), row.object.strip()
    predicate = _words(_either(row.relation_type, row.predicate, where, f"{path}.relation_type"))
    relation = Relation(subject, predicate, object_)
    ends = {subject, object_}
    own = row.negatives or [f for f in loose if {_part(f.subject), _part(f.object)} == ends]
    foils = [_relation_foil(foil, relation) for foil in own]
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


def _relation_foil(row: str | _PublishedRelationFoil, relation: Relation) -> RelationFoil:
    """What a foil does not say is as in the relation. A bare text is another predicate."""
    if isinstance(row, str):
        return RelationFoil(
            relation.subject, _words(row), relation.object, "predicate_change", "predicate"
        )
    edit = row.change_type or "relation_change"
    if edit in _SWAPS:
        return RelationFoil(relation.object, relation.predicate, relation.subject, "argument_swap")
    foil = RelationFoil(
        _part(row.subject) or relation.subject,
        _words(row.relation_type or row.predicate or "") or relation.predicate,
        _part(row.object) or relation.object,
        edit,
    )
    changed = [
        c for c in ("subject", "predicate", "object") if getattr(foil, c) != getattr(relation, c)
    ]
    return replace(foil, component=changed[0]) if len(changed) == 1 else foil


def _either(first: str | None, second: str | None, where: str, field: str) -> str:
    """Returns a field of two names, of which one is there."""
    found = second if first is None else first
    if found is None:
        raise ZooError(f"{where}: field '{field}' is missing: mend the record")
    return found


def _part(text: str | None) -> str:
    return (text or "").strip()


def _words(text: str) -> str:
    return " ".join(text.replace("_", " ").split())
