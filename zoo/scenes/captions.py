"""Captions of a scene graph with their units, foils and attribute swaps.

A phrase is true of an object that has all attributes in the phrase. A relation or conjunction is
true of a scene if it holds for some two of its objects. Units are true in the scene, foils are
false.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from random import Random

from zoo.scenes.graph import (
    COLORS,
    MATERIALS,
    OPPOSITE,
    SHAPES,
    SIZES,
    ColorShape,
    SceneGraph,
    SceneObject,
)
from zoo.units.record import Entity, EntityFoil, Relation, RelationFoil, UnitRecord

VERSION = 1
SOURCE = {"extractor": "zoo.scenes.captions", "version": VERSION}  # of units
PER_SCENE = 5  # captions per scene, as in COCO: four relations and a conjunction
ENTITY_FOILS = 2  # of each kind, at most
VALUES: dict[str, tuple[str, ...]] = {"size": tuple(SIZES), "color": COLORS, "material": MATERIALS}
RELATION_TEMPLATES = ("a {0} {1} a {2}", "there is a {0} {1} a {2}", "a {0} is {1} a {2}")
CONJUNCTION_TEMPLATES = (
    "a {0} and a {2}",
    "there are a {0} and a {2}",
    "a scene with a {0} and a {2}",
)


@dataclass(frozen=True)
class ObjectPhrase:
    """A noun phrase about one object.

    Args:
        shape: The noun.
        color: The colour.
        size: The size; None if not mentioned.
        material: The material; None if not mentioned.
    """

    shape: str
    color: str
    size: str | None = None
    material: str | None = None

    def __str__(self) -> str:
        return " ".join(word for word in (self.size, self.color, self.material, self.shape) if word)

    @property
    def pair(self) -> ColorShape:
        """Its colour and shape."""
        return self.color, self.shape

    def true_of(self, object: SceneObject) -> bool:
        """Returns whether an object has all attributes in the phrase."""
        return all(
            value is None or value == getattr(object, name) for name, value in vars(self).items()
        )


@dataclass(frozen=True)
class SceneDescription:
    """A caption of a scene with its units.

    Attributes:
        record: The caption and its units.
        attribute_swap: The caption with the two colours exchanged; None if that is not false.
    """

    record: UnitRecord
    attribute_swap: str | None


def phrase_for_object(graph: SceneGraph, object: SceneObject) -> ObjectPhrase:
    """Returns the phrase of an object, with the attributes that are visible.

    It includes size and colour if they are listed in the graph, and material only for spheres: flat
    and straight metal surfaces have no highlight that distinguishes them from rubber.
    """
    size = object.size if "size" in graph.visible_attributes else None
    material = (
        object.material
        if "material" in graph.visible_attributes and object.shape == "sphere"
        else None
    )
    return ObjectPhrase(object.shape, object.color, size, material)


def statement_holds(
    graph: SceneGraph, subject: ObjectPhrase, predicate: str, object: ObjectPhrase
) -> bool:
    """Returns whether a statement holds for some two objects of a scene.

    Args:
        graph: The scene.
        subject: The phrase of the first object.
        predicate: A relation of `OPPOSITE`, or `and`.
        object: The phrase of the second object.
    """
    return any(
        subject.true_of(graph.objects[i])
        and object.true_of(graph.objects[j])
        and (predicate == "and" or graph.holds(i, predicate, j))
        for i, j in permutations(range(len(graph.objects)), 2)
    )


def describe_scene(
    graph: SceneGraph, image_id: str, avoid: frozenset[ColorShape] = frozenset()
) -> list[SceneDescription]:
    """Returns up to four relations and a conjunction as captions.

    They depend only on the arguments.

    Args:
        graph: The scene.
        image_id: The path of its image.
        avoid: Pairs of colour and shape that must not occur in foils and swaps, so that training
            texts never contain held-out pairs.
    """
    rng = Random(f"captions {graph.id} {graph.seed}")
    relations = list(graph.relations())
    statements = rng.sample(relations, min(PER_SCENE - 1, len(relations)))
    subject, object = rng.sample(range(len(graph.objects)), 2)
    statements.append((subject, "and", object))
    return [
        _describe_statement(graph, rng, image_id, f"{graph.id}-{k}", statement, avoid)
        for k, statement in enumerate(statements)
    ]


def false_phrases(
    graph: SceneGraph,
    true_phrase: ObjectPhrase,
    part: str,
    avoid: frozenset[ColorShape] = frozenset(),
    shapes: tuple[str, ...] = SHAPES,
) -> list[ObjectPhrase]:
    """Returns the phrases that differ from a phrase in one part and are true of no object.

    Args:
        graph: The scene.
        true_phrase: The phrase.
        part: The part that differs, `head` or `attribute`.
        avoid: Pairs of colour and shape to leave out.
        shapes: The available shapes.
    """
    changes = (
        ({"shape": shape} for shape in shapes)
        if part == "head"
        else _attribute_changes(true_phrase)
    )
    variants = (replace(true_phrase, **change) for change in changes)
    return [
        variant
        for variant in variants
        if variant.pair not in avoid and not any(map(variant.true_of, graph.objects))
    ]


def _attribute_changes(true_phrase: ObjectPhrase) -> Iterator[dict[str, str]]:
    return (
        {name: value}
        for name, values in VALUES.items()
        if getattr(true_phrase, name) is not None
        for value in values
    )


def _describe_statement(
    graph: SceneGraph,
    rng: Random,
    image_id: str,
    caption_id: str,
    statement: tuple[int, str, int],
    avoid: frozenset[ColorShape],
) -> SceneDescription:
    subject, object = (
        phrase_for_object(graph, graph.objects[i]) for i in (statement[0], statement[2])
    )
    predicate = statement[1]
    template = rng.choice(CONJUNCTION_TEMPLATES if predicate == "and" else RELATION_TEMPLATES)
    relation = (
        ()
        if predicate == "and"
        else (_relation_with_foils(graph, rng, subject, predicate, object, avoid),)
    )
    record = UnitRecord(
        caption_id,
        image_id,
        template.format(subject, predicate, object),
        tuple(entity_with_foils(graph, rng, named, avoid) for named in (subject, object)),
        relation,
        dict(SOURCE),
    )
    a, b = replace(subject, color=object.color), replace(object, color=subject.color)
    false = not statement_holds(graph, a, predicate, b) and avoid.isdisjoint((a.pair, b.pair))
    return SceneDescription(record, template.format(a, predicate, b) if false else None)


def entity_with_foils(
    graph: SceneGraph,
    rng: Random,
    true_phrase: ObjectPhrase,
    avoid: frozenset[ColorShape] = frozenset(),
    shapes: tuple[str, ...] = SHAPES,
) -> Entity:
    """Returns a phrase as a unit, with some of its false variants as foils; see `false_phrases`.

    Args:
        graph: The scene.
        rng: Random generator for the foils.
        true_phrase: The phrase.
        avoid: Pairs of colour and shape that must not occur in foils.
        shapes: The available shapes.
    """
    foils = []
    for part, edit in (("head", "object_change"), ("attribute", "attribute_change")):
        variants = false_phrases(graph, true_phrase, part, avoid, shapes)
        foils += [
            EntityFoil(str(variant), edit)
            for variant in rng.sample(variants, min(ENTITY_FOILS, len(variants)))
        ]
    return Entity(str(true_phrase), tuple(foils))


def _relation_with_foils(
    graph: SceneGraph,
    rng: Random,
    subject: ObjectPhrase,
    predicate: str,
    object: ObjectPhrase,
    avoid: frozenset[ColorShape],
) -> Relation:
    foils = []
    if not statement_holds(graph, subject, OPPOSITE[predicate], object):
        foils.append(
            RelationFoil(
                str(subject), OPPOSITE[predicate], str(object), "predicate_change", "predicate"
            )
        )
    if not statement_holds(graph, object, predicate, subject):
        foils.append(RelationFoil(str(object), predicate, str(subject), "argument_swap"))
    for part in ("head", "attribute"):
        for component, right in (("subject", subject), ("object", object)):
            for variant in rng.sample(
                variants := false_phrases(graph, right, part, avoid), min(1, len(variants))
            ):
                a, b = (variant, object) if component == "subject" else (subject, variant)
                foils.append(
                    RelationFoil(str(a), predicate, str(b), "argument_change", component, part)
                )
    return Relation(str(subject), predicate, str(object), tuple(foils))
