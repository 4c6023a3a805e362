"""Units of a caption: entities, relations and their foils, as in a units file."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EntityFoil:
    """A false variant of an entity.

    Args:
        text: The foil's text.
        edit: How it was made: object_change, attribute_change or another word.
    """

    text: str
    edit: str


@dataclass(frozen=True)
class Entity:
    """A noun phrase of the caption with its modifiers.

    Args:
        text: The noun phrase.
        foils: Its foils.
    """

    text: str
    foils: tuple[EntityFoil, ...] = ()


@dataclass(frozen=True)
class RelationFoil:
    """A false variant of a relation.

    Args:
        subject: The text of the subject.
        predicate: The text of the predicate.
        object: The text of the object.
        edit: How the foil was made: predicate_change, argument_swap, argument_change or another
            word.
        component: The changed component (subject, predicate or object); None if several changed.
        part: The changed part of an argument (head or attribute), or None if unknown.
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
        subject: The text of the entity that the relation starts from.
        predicate: The text of the predicate, such as "sitting on".
        object: The text of the entity that the relation goes to.
        foils: Its foils.
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
        entities: Its entities.
        relations: Its relations.
        source: How the units were made (extractor, tagger, versions).
    """

    caption_id: str
    image_id: str
    caption: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
