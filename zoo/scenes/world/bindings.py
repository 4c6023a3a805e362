"""Pairs of scenes with exchanged colours, some with pairs of colour and kind that are held out."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from zoo.scenes.captions import SceneDescription
from zoo.scenes.collection import Scene, SceneCollection, image_id
from zoo.scenes.world.captions import WorldCaption
from zoo.scenes.world.collection import RENDERER, SWAPPED, VERSION
from zoo.scenes.world.foils import unit_record
from zoo.scenes.world.graph import WorldGraph
from zoo.scenes.world.image_edits import (
    Statement,
    is_unambiguous,
    is_valid_pair,
    swap_colors,
)
from zoo.scenes.world.kinds import BINDING_SPLITS, WOODEN
from zoo.scenes.world.layout import sample_graph

ColorKind = tuple[str, str]


class WorldBindings(SceneCollection):
    """Pairs of scenes in which two named objects exchange their colours.

    Of every second pair (`seen`), neither scene has a held-out pair. Of the others, the first scene
    has one, which its caption names (`unseen_true`), and the second has none, so that only its
    false caption names one (`unseen_false`). Models are trained on other scenes of `seen` and
    `unseen_false`. Foils of units may name held-out pairs.

    Args:
        held_out: The held-out pairs of colour and kind.
        seed: The random seed.
        size: The side of an image, in pixels.
    """

    splits = BINDING_SPLITS
    renderer = RENDERER

    def __init__(self, held_out: frozenset[ColorKind], seed: int = 0, size: int = 112) -> None:
        super().__init__(seed, size)
        self.held_out = held_out

    def extra_settings(self) -> dict[str, Any]:
        """Returns the kind of the collection, its version and what is held out."""
        held_out = sorted(map(list, self.held_out))
        return {"kind": "world_bindings", "world": VERSION, "held_out": held_out}

    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the scenes of the first n pairs, two each."""
        for index in range(n_layouts):
            unseen = index % 2 == 1
            splits = BINDING_SPLITS[1:] if unseen else BINDING_SPLITS[:1] * 2
            pair = self._pair(index, unseen)
            for k, ((graph, caption), split) in enumerate(zip(pair, splits, strict=True)):
                image = image_id(index, SWAPPED if k else "")
                record = unit_record(graph, caption, f"{graph.id}-{k}", image)
                description = SceneDescription(record, str(pair[1 - k][1]))
                yield Scene(image, graph, split, [description])

    def _pair(self, index: int, unseen: bool) -> list[tuple[WorldGraph, WorldCaption]]:
        rng = Random(f"world bindings {self.seed} {index}")
        while True:
            graph = replace(
                sample_graph(f"world bindings {self.seed}", rng.randrange(10**9)),
                id=f"{index:06d}",
            )
            statements = [s for s in graph.relations() if is_unambiguous(graph, s)]
            for statement in rng.sample(statements, len(statements)):
                first = self._with_held_out_pair(rng, graph, statement) if unseen else graph
                for second, caption, other_caption in swap_colors(rng, first, statement):
                    pair = [(first, caption), (second, other_caption)]
                    has_held_out = [self._has_held_out(g) for g in (first, second)]
                    if has_held_out == [unseen, False] and is_valid_pair("swap_color", pair):
                        return pair

    def _with_held_out_pair(
        self, rng: Random, graph: WorldGraph, statement: Statement
    ) -> WorldGraph:
        """Returns the scene with a held-out colour of a named object, if one is held out."""
        row = rng.choice((statement[0], statement[2]))
        object = graph.objects[row]
        colors = sorted(color for color, kind in self.held_out if kind == object.kind)
        if not colors or object.pattern == WOODEN:
            return graph
        recolored = replace(object, color=rng.choice(colors))
        return replace(
            graph, objects=tuple(recolored if k == row else o for k, o in enumerate(graph.objects))
        )

    def _has_held_out(self, graph: WorldGraph) -> bool:
        return not self.held_out.isdisjoint((o.shown_color, o.kind) for o in graph.objects)
