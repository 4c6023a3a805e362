"""World: scenes of everyday objects with five captions each, and pairs of such scenes."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.scenes.captions import SceneDescription
from zoo.scenes.collection import (
    CaptionFoil,
    Graph,
    Renderer,
    Scene,
    SceneCollection,
    image_id,
)
from zoo.scenes.world.captions import TEMPLATES, WorldCaption, describe
from zoo.scenes.world.foils import (
    caption_foils,
    swap_attributes,
    swap_objects,
    unit_record,
)
from zoo.scenes.world.graph import WorldGraph
from zoo.scenes.world.kinds import PAIR_KINDS, SIZES, WOODEN
from zoo.scenes.world.layout import is_clear, sample_graph, scale_at, zoom_of
from zoo.scenes.world.painter import paint, painter_version
from zoo.scenes.world.phrases import Phrase, can_have

VERSION = 4
SWAPPED = "_swapped"  # suffix of the second image's name
PAIR_TRIES = 2000


def _render(graph: Any, size: int, samples: int) -> NDArray[np.uint8]:
    return paint(graph, size)


def _use_one_thread() -> None:
    """Does nothing: Pillow and NumPy use one thread here."""


RENDERER = Renderer(painter_version, _use_one_thread, _render)


class World(SceneCollection):
    """Scenes of two to five objects of everyday kinds, of one split.

    Scenes of different splits have different seeds, so that they never coincide.

    Args:
        seed: The random seed.
        size: The side of an image, in pixels.
        split: The split: train, val or test. Scenes for evaluation have foils.
    """

    renderer = RENDERER

    def __init__(self, seed: int = 0, size: int = 112, split: str = "train") -> None:
        super().__init__(seed, size)
        self.splits = (split,)

    def extra_settings(self) -> dict[str, Any]:
        """Returns the kind of the collection, its version and its split."""
        return {"kind": "world", "world": VERSION, "split": self.splits[0]}

    def graphs(self, n_layouts: int) -> Iterator[tuple[str, Graph]]:
        """Yields image id and graph of the first n scenes."""
        for index in range(n_layouts):
            yield image_id(index), self._graph(index)

    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the first n scenes."""
        split = self.splits[0]
        for index in range(n_layouts):
            graph, image = self._graph(index), image_id(index)
            captions = describe(graph)
            foils = () if split == "train" else caption_foils(graph, captions)
            yield Scene(
                image,
                graph,
                split,
                [
                    _describe_caption(graph, caption, f"{graph.id}-{k}", image)
                    for k, caption in enumerate(captions)
                ],
                tuple(CaptionFoil(str(caption), str(foil), name) for name, caption, foil in foils),
            )

    def _graph(self, index: int) -> WorldGraph:
        return sample_graph(f"{self.splits[0]} {self.seed}", index)


def _describe_caption(
    graph: WorldGraph, caption: WorldCaption, caption_id: str, image: str
) -> SceneDescription:
    swap = swap_attributes(graph, caption)
    record = unit_record(graph, caption, caption_id, image)
    return SceneDescription(record, None if swap is None else str(swap))


class WorldPairs(SceneCollection):
    """Pairs of scenes whose captions have the same words, as in Winoground.

    In one half of the pairs two objects exchange their colours, in the other their positions. Each
    caption is true of one scene and false of the other.

    Args:
        seed: The random seed.
        size: The side of an image, in pixels.
    """

    splits = PAIR_KINDS
    renderer = RENDERER

    def __init__(self, seed: int = 0, size: int = 112) -> None:
        super().__init__(seed, size)

    def extra_settings(self) -> dict[str, Any]:
        """Returns the kind of the collection and its version."""
        return {"kind": "world_pairs", "world": VERSION}

    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the scenes of the first n pairs, two each."""
        for index in range(n_layouts):
            kind = PAIR_KINDS[index % len(PAIR_KINDS)]
            graphs, captions = self._pair(index, kind)
            for k, (graph, caption) in enumerate(zip(graphs, captions, strict=True)):
                image = image_id(index, SWAPPED if k else "")
                record = unit_record(graph, caption, f"{graph.id}-{k}", image)
                yield Scene(image, graph, kind, [SceneDescription(record, str(captions[1 - k]))])

    def _pair(
        self, index: int, kind: str
    ) -> tuple[tuple[WorldGraph, WorldGraph], tuple[WorldCaption, WorldCaption]]:
        rng = Random(f"world pairs {self.seed} {index}")
        while True:  # about a third of the scenes have a pair
            graph = replace(
                sample_graph(f"pairs {self.seed} {index}", rng.randrange(PAIR_TRIES)),
                id=f"{index:06d}",
            )
            statements = [s for s in graph.relations() if not s[1].endswith("than")]
            if not statements:
                continue
            subject, predicate, object = rng.choice(statements)
            attribute = kind == PAIR_KINDS[0]
            exchanged = (exchange_colors if attribute else exchange_positions)(
                graph, subject, object
            )
            if exchanged is None:
                continue
            phrases = [
                Phrase(o.kind, o.shown_color if attribute else None, count=o.count)
                for o in (graph.objects[subject], graph.objects[object])
            ]
            form = predicate if not attribute or rng.random() < 0.5 else "two"
            caption = WorldCaption(form, TEMPLATES[form][0], tuple(phrases))
            swap = swap_attributes if attribute else swap_objects
            swapped = swap(graph, caption)
            if swapped is not None and swap(exchanged, swapped) is not None:
                return (graph, exchanged), (caption, swapped)


def exchange_colors(graph: WorldGraph, first: int, second: int) -> WorldGraph | None:
    """Returns the scene with the colours of two objects exchanged.

    It returns None if they cannot have these colours.

    Args:
        graph: The scene.
        first: The row of an object.
        second: The row of the other one.
    """
    a, b = graph.objects[first], graph.objects[second]
    if WOODEN in (a.pattern, b.pattern) or not (
        can_have(a.kind, b.color, None, None) and can_have(b.kind, a.color, None, None)
    ):
        return None
    changed = {first: replace(a, color=b.color), second: replace(b, color=a.color)}
    return replace(graph, objects=tuple(changed.get(row, o) for row, o in enumerate(graph.objects)))


def exchange_positions(graph: WorldGraph, first: int, second: int) -> WorldGraph | None:
    """Returns the scene with the positions of two objects on the ground exchanged.

    It returns None if they carry something or are carried, or if the result is not clear.

    Args:
        graph: The scene.
        first: The row of an object.
        second: The row of the other one.
    """
    a, b = graph.objects[first], graph.objects[second]
    hosts = {o.host for o in graph.objects}
    if a.host is not None or b.host is not None or not hosts.isdisjoint({first, second}):
        return None
    zoom = zoom_of(a)

    def move(o: Any, to: Any) -> Any:
        scale = scale_at(to.y) * zoom * SIZES.get(o.size or "", 1.0)
        return replace(o, x=to.x, y=to.y, scale=scale)

    changed = {first: move(a, b), second: move(b, a)}
    exchanged = replace(
        graph, objects=tuple(changed.get(row, o) for row, o in enumerate(graph.objects))
    )
    return exchanged if is_clear(exchanged) else None
