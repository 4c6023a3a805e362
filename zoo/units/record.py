"""Units of a caption: entities, relations and their foils, as read from and written to a units file. Free of torch."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class EntityFoil:
    """A wrong twin of an entity. edit: object_change, attribute_change or any other word."""

    text: str
    edit: str


@dataclass(frozen=True)
class Entity:
    """A noun phrase of the caption with its modifiers."""

    text: str
    foils: tuple[EntityFoil, ...] = ()


@dataclass(frozen=True)
class RelationFoil:
    """A wrong twin of a relation. edit: predicate_change, argument_swap, argument_change or any other word; component: subject,
    predicate or object, where one was changed; part: head or attribute, for a changed argument."""

    subject: str
    predicate: str
    object: str
    edit: str
    component: str | None = None
    part: str | None = None

    @property
    def text(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


@dataclass(frozen=True)
class Relation:
    """A directed relation between two entities of the caption."""

    subject: str
    predicate: str
    object: str
    foils: tuple[RelationFoil, ...] = ()

    @property
    def text(self) -> str:
        return f"{self.subject} {self.predicate} {self.object}"


@dataclass(frozen=True)
class UnitRecord:
    """The units of one caption. source: what made them (extractor, tagger, versions)."""

    caption_id: str
    image_id: str
    caption: str
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    source: dict[str, Any] = field(default_factory=dict)
