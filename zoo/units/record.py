"""Units of a caption: entities, relations and their foils, as in a units file."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EntityFoil:
    """A foil of an entity: the entity with a small change that makes it wrong.

    Args:
        text: The foil's text.
        edit: The kind of change: `object_change`, `attribute_change` or another name.
    """

    text: str
    edit: str


@dataclass(frozen=True)
class Entity:
    """An entity: a noun phrase of the caption with its modifiers.

    Args:
        text: The noun phrase.
        foils: The foils of the entity.
    """

    text: str
    foils: tuple[EntityFoil, ...] = ()


@dataclass(frozen=True)
class RelationFoil:
    """A foil of a relation: the relation with a small change that makes it wrong.

    Args:
        subject: The text of the subject.
        predicate: The text of the predicate.
        object: The text of the object.
        edit: The kind of change: `predicate_change`, `argument_swap`, `argument_change` or another
            name. The arguments of a relation are its subject and its object.
        component: The changed component (subject, predicate or object); None if several changed.
        part: The changed part of an argument (head or attribute); None if unknown.
    """

    subject: str
    predicate: str
    object: str
    edit: str
    component: str | None = None
    part: str | None = None

    @property
    def text(self) -> str:
        """Subject, predicate and object, joined by spaces."""
        return f"{self.subject} {self.predicate} {self.object}"


@dataclass(frozen=True)
class Relation:
    """A directed relation between two entities of the caption.

    Args:
        subject: The text of the first entity, such as "two cats".
        predicate: The text of the predicate, such as "sitting on".
        object: The text of the second entity, such as "grey sofa".
        foils: The foils of the relation.
    """

    subject: str
    predicate: str
    object: str
    foils: tuple[RelationFoil, ...] = ()

    @property
    def text(self) -> str:
        """Subject, predicate and object, joined by spaces."""
        return f"{self.subject} {self.predicate} {self.object}"


@dataclass(frozen=True)
class UnitRecord:
    """The units of one caption.

    Args:
        caption_id: The caption's id, unique within a units file.
        image_id: The id of the caption's image.
        caption: The caption.
        entities: The entities in the caption.
        relations: The relations in the caption.
        source: How the units were made (extractor, tagger, versions).
    """

    caption_id: str
    image_id: str
    caption: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
