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

from zoo.errors import ZooError
from zoo.support.fields import list_field, object_field, text_field
from zoo.support.text_files import NotJson, json_value, opened
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

_SWAPS = ("swap", "subject_object_swap", "argument_swap")
_PART_OF_EDIT = {"object_change": "head", "attribute_change": "attribute"}
_COCO_NUMBER = re.compile(r"(\d{12})\.jpe?g$")
_BARE_EDIT = "entity_change"


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
    try:
        with opened(file) as content:
            rows = json_value(content.read().decode("utf-8-sig"))
    except NotJson as error:
        raise ZooError(
            f"{error.at(file)}: not JSON ({error}): the file may be cut short"
        ) from error
    except UnicodeDecodeError as error:
        raise ZooError(
            f"{file} is not UTF-8 text ({error.reason} at byte {error.start}): save it as UTF-8"
        ) from error
    source = {"format": "cs_clip", "file": file.name}
    for i, row in enumerate(rows):
        where = f"{file}[{i}]"
        yield where, _record(object_field(row, where), where, source)


def _record(row: dict[str, Any], where: str, source: dict[str, Any]) -> UnitRecord:
    caption_id = text_field(row, "sample_id", where)
    entities = _entities(row, where)
    foils_of = {e.text: e.foils for e in entities}
    loose = _loose_foils(row, where)
    relations = tuple(
        _relation(r, where, f"relations[{i}]", foils_of, loose)
        for i, r in enumerate(_maybe_list(row, "relations", where))
    )
    caption = text_field(row, _spelling(row, "original_caption", "caption"), where).strip()
    image = _COCO_NUMBER.search(_part(row, "image_path", where, ""))
    image_id = f"coco:{int(image[1])}" if image else caption_id.rpartition("_")[0] or caption_id
    return UnitRecord(caption_id, image_id, caption, entities, relations, source)


def _entities(row: dict[str, Any], where: str) -> tuple[Entity, ...]:
    """Reads the entities, also those that have foils but are not listed.

    The published extractor lost some entities from its list.
    """
    listed = _spelling(row, "entities", "positive_components")
    negatives = _spelling(row, "negative_entities", "negative_components")
    foils: dict[str, tuple[EntityFoil, ...]] = {}
    for name in object_field(row.get(negatives) or {}, where, negatives):
        path = f"{negatives}.{name}"
        options = enumerate(list_field(row[negatives], name, where, negatives))
        foils[name.strip()] = tuple(_entity_foil(f, where, f"{path}[{i}]") for i, f in options)
    texts = [
        _text(t, where, f"{listed}[{i}]") for i, t in enumerate(_maybe_list(row, listed, where))
    ]
    return tuple(Entity(text, foils.get(text, ())) for text in dict.fromkeys([*texts, *foils]))


def _entity_foil(foil: Any, where: str, path: str) -> EntityFoil:
    if isinstance(foil, str):
        return EntityFoil(_text(foil, where, path), _BARE_EDIT)
    edit = object_field(foil, where, path).get("change_type") or _BARE_EDIT
    return EntityFoil(text_field(foil, "negative", where, path).strip(), edit)


def _relation(
    row: Any,
    where: str,
    path: str,
    foils_of: dict[str, tuple[EntityFoil, ...]],
    loose: list[tuple[dict[str, Any], str]],
) -> Relation:
    subject, object_ = (text_field(row, k, where, path).strip() for k in ("subject", "object"))
    predicate = _words(text_field(row, _spelling(row, "relation_type", "predicate"), where, path))
    relation = Relation(subject, predicate, object_)
    own = [
        (f, f"{path}.negatives[{i}]")
        for i, f in enumerate(_maybe_list(row, "negatives", where, path))
    ]
    if not own:
        ends = {subject, object_}
        own = [
            (f, at)
            for f, at in loose
            if {_part(f, "subject", where, at), _part(f, "object", where, at)} == ends
        ]
    foils = [_relation_foil(f, relation, where, at) for f, at in own]
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


def _loose_foils(row: dict[str, Any], where: str) -> list[tuple[dict[str, Any], str]]:
    """Returns relation foils that stand beside the relations, as in older files.

    They belong to the relation between the same two entities.
    """
    foils = _maybe_list(row, "negative_relations", where)
    return [
        (object_field(f, where, f"negative_relations[{i}]"), f"negative_relations[{i}]")
        for i, f in enumerate(foils)
    ]


def _relation_foil(row: Any, relation: Relation, where: str, path: str) -> RelationFoil:
    """What a foil does not say is as in the relation. A bare text is another predicate."""
    if isinstance(row, str):
        return RelationFoil(
            relation.subject,
            _words(_text(row, where, path)),
            relation.object,
            "predicate_change",
            "predicate",
        )
    edit = object_field(row, where, path).get("change_type") or "relation_change"
    if edit in _SWAPS:
        return RelationFoil(relation.object, relation.predicate, relation.subject, "argument_swap")
    subject = _part(row, "subject", where, path) or relation.subject
    predicate = (
        _words(_part(row, _spelling(row, "relation_type", "predicate"), where, path))
        or relation.predicate
    )
    object_ = _part(row, "object", where, path) or relation.object
    foil = RelationFoil(subject, predicate, object_, edit)
    changed = [
        c for c in ("subject", "predicate", "object") if getattr(foil, c) != getattr(relation, c)
    ]
    return replace(foil, component=changed[0]) if len(changed) == 1 else foil


def _spelling(row: dict[str, Any], first: str, second: str) -> str:
    return second if first not in row and second in row else first


def _maybe_list(row: dict[str, Any], field: str, where: str, path: str = "") -> list[Any]:
    return list_field(row, field, where, path) if row.get(field) is not None else []


def _part(row: dict[str, Any], field: str, where: str, path: str) -> str:
    return text_field(row, field, where, path).strip() if row.get(field) else ""


def _text(value: Any, where: str, path: str) -> str:
    return text_field({path: value}, path, where).strip()


def _words(text: str) -> str:
    return " ".join(text.replace("_", " ").split())
