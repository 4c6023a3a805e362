"""ExchangedPairs: a scene, and the same scene with one attribute exchanged, each with a caption.

The design follows BiSCoR-Ctrl (Role of Inference, section 3.1): camera, lamps and positions are the
same, and each caption is true of only one of the two images.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from zoo.scenes.captions import SOURCE, SceneDescription
from zoo.scenes.collection import Scene, SceneCollection, image_id
from zoo.scenes.graph import (
    ALL_SHAPES,
    COLORS,
    MATERIALS,
    SIZES,
    Look,
    SceneGraph,
    choose_framing,
    has_fully_visible_objects,
    sample_scene_of_looks,
)
from zoo.units.record import Entity, UnitRecord

KINDS = ("color", "size", "material", "quantity")
SWAPPED = "_swapped"  # suffix of the second image's name
CLOSE_RESOLUTION = 64  # the resolution of a layout whose objects fill the frame
# straight metal surfaces have no highlight that distinguishes them from rubber, and cause specks
ROUND_SHAPES = ("sphere", "torus", "capsule", "cone")
COUNTS = ((2, 3), (2, 4), (3, 2), (4, 2))
NUMBERS = {2: "two", 3: "three", 4: "four"}
PLURALS = {"torus": "tori"}


class ExchangedPairs(SceneCollection):
    """Layouts of the four kinds in turn, with one split per kind and two scenes per layout.

    Args:
        seed: The random seed.
        size: The side of an image, in pixels.
    """

    splits = KINDS

    def __init__(self, seed: int = 0, size: int = 96) -> None:
        super().__init__(seed, size)

    def extra_settings(self) -> dict[str, Any]:
        """Returns the kind of the collection."""
        return {"kind": "pairs"}

    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the scenes of the first n layouts, two each."""
        for index in range(n_layouts):
            kind = KINDS[index % len(KINDS)]
            rng = Random(f"pairs {self.seed} {index}")
            scenes = (_sample_count_pair if kind == "quantity" else _sample_attribute_pair)(
                rng, index, kind
            )
            texts = [
                " and ".join(f"a {p}" if kind != "quantity" else p for p in phrases)
                for _, phrases in scenes
            ]
            for k, (graph, phrases) in enumerate(scenes):
                image = image_id(index, SWAPPED if k else "")
                entities = tuple(Entity(phrase, ()) for phrase in phrases)
                record = UnitRecord(f"{graph.id}-{k}", image, texts[k], entities, (), dict(SOURCE))
                yield Scene(image, graph, kind, [SceneDescription(record, texts[1 - k])])


Exchange = Callable[[SceneGraph], SceneGraph]
SceneWithPhrases = tuple[SceneGraph, tuple[str, str]]


def _sample_attribute_pair(
    rng: Random, index: int, kind: str
) -> tuple[SceneWithPhrases, SceneWithPhrases]:
    """Returns a scene of two objects and the same with one attribute exchanged, with phrases."""
    shapes = rng.sample(ROUND_SHAPES if kind == "material" else ALL_SHAPES, 2)
    colors = rng.sample(COLORS, 2)
    sizes = rng.sample(list(SIZES), 2) if kind == "size" else ["large", "large"]
    materials = rng.sample(MATERIALS, 2) if kind == "material" else ["rubber", "rubber"]
    looks = [
        Look(color, shape, (size,), (material,))
        for color, shape, size, material in zip(colors, shapes, sizes, materials, strict=True)
    ]
    graph = _sample_exchangeable_scene(
        rng, index, looks, lambda graph: _swap_attribute_values(graph, kind)
    )
    values = [getattr(o, kind) for o in graph.objects]
    (a, b), (first_shape, second_shape) = values, shapes
    return (
        (graph, (f"{a} {first_shape}", f"{b} {second_shape}")),
        (_swap_attribute_values(graph, kind), (f"{b} {first_shape}", f"{a} {second_shape}")),
    )


def _swap_attribute_values(graph: SceneGraph, kind: str) -> SceneGraph:
    first_object, second_object = graph.objects
    return replace(
        graph,
        objects=(
            first_object.with_changes(**{kind: getattr(second_object, kind)}),
            second_object.with_changes(**{kind: getattr(first_object, kind)}),
        ),
    )


def _sample_count_pair(
    rng: Random, index: int, kind: str
) -> tuple[SceneWithPhrases, SceneWithPhrases]:
    """Returns a scene of two groups of equal objects and the same with their counts exchanged."""
    n, m = rng.choice(COUNTS)
    groups = list(zip(rng.sample(COLORS, 2), rng.sample(ALL_SHAPES, 2), strict=True))
    # objects between the smaller and the larger count change their group
    members = [groups[0]] * min(n, m) + [groups[n < m]] * abs(n - m) + [groups[1]] * min(n, m)
    looks = [Look(*group, ("large",), ("rubber",)) for group in members]

    def exchange(graph: SceneGraph) -> SceneGraph:
        color, shape = groups[n > m]
        return replace(
            graph,
            objects=tuple(
                o.with_changes(color=color, shape=shape) if min(n, m) <= i < max(n, m) else o
                for i, o in enumerate(graph.objects)
            ),
        )

    graph = _sample_exchangeable_scene(rng, index, looks, exchange)
    return (
        (graph, (_group_phrase(n, *groups[0]), _group_phrase(m, *groups[1]))),
        (exchange(graph), (_group_phrase(m, *groups[0]), _group_phrase(n, *groups[1]))),
    )


def _group_phrase(n: int, color: str, shape: str) -> str:
    return f"{NUMBERS[n]} {color} {PLURALS.get(shape, f'{shape}s')}"


def _sample_exchangeable_scene(
    rng: Random, index: int, looks: list[Look], exchange: Exchange
) -> SceneGraph:
    """Returns a scene whose objects are separate, before and after the exchange."""
    frame = choose_framing(CLOSE_RESOLUTION, len(looks))
    graph = sample_scene_of_looks(
        rng,
        index,
        frame,
        looks,
        has_fully_visible_objects,
        lambda graph: has_fully_visible_objects(exchange(graph)),
    )
    assert graph is not None, "there is room for six"
    return graph
