"""BindingGrid: scenes of two objects of any colours and shapes, with a block of bindings held out.

The design follows PUG:SPARE and its BindSplit splits.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from zoo.scenes import blocks
from zoo.scenes.blocks import Caption
from zoo.scenes.captions import SOURCE, ObjectPhrase, SceneDescription, entity_with_foils
from zoo.scenes.collection import Scene, SceneCollection, image_id
from zoo.scenes.graph import (
    ALL_SHAPES,
    COLORS,
    Look,
    SceneGraph,
    choose_framing,
    has_fully_visible_objects,
    sample_scene_of_looks,
)
from zoo.units.record import UnitRecord

TEMPLATE = "a {} and a {}"


def split_of(index: int) -> str:
    """Returns the split of a scene, independent of the number of scenes.

    Of every 25 scenes, 15 are train, 1 val, and 3 each are seen, partial and unseen.
    """
    place = index % 25
    return blocks.SPLITS[place // 3] if place < 9 else "val" if place == 9 else "train"


def caption_text(caption: Caption) -> str:
    """Returns a caption in words."""
    return TEMPLATE.format(*(f"{color} {shape}" for color, shape in caption))


def all_captions() -> dict[str, Caption]:
    """Returns all captions of the grid, by their text."""
    return {caption_text(caption): caption for caption in blocks.captions(COLORS, ALL_SHAPES)}


class BindingGrid(SceneCollection):
    """Two objects of different colours and shapes; a block of 3 by 3 bindings is held out.

    Bindings of the block occur only in the splits `partial` and `unseen`, including swaps, units
    and foils. Captions of `seen` consist of training bindings, but these captions and their swaps
    do not occur in training texts.

    Args:
        seed: The random seed of everything except the block.
        size: The side of an image, in pixels.
        block_seed: The seed of the block.
    """

    splits = ("train", "val", *blocks.SPLITS)

    def __init__(self, seed: int = 0, size: int = 64, block_seed: int = 0) -> None:
        super().__init__(seed, size)
        self.held_out = blocks.draw_block(COLORS, ALL_SHAPES, block_seed)
        evaluated = blocks.draw_evaluation_groups(COLORS, ALL_SHAPES, self.held_out, block_seed)
        self.captions: dict[str, list[Caption]] = {split: [] for split in self.splits}
        for caption in blocks.captions(COLORS, ALL_SHAPES):
            split = blocks.split_of_caption(caption, self.held_out)
            if split == "seen" and blocks.swap_group_key(caption) not in evaluated:
                self.captions["train"].append(caption)
                self.captions["val"].append(caption)
            elif split is not None:
                self.captions[split].append(caption)

    def extra_settings(self) -> dict[str, Any]:
        """Returns what is held out."""
        return {"kind": "grid", "held_out": sorted(map(list, self.held_out))}

    def scenes(self, n_layouts: int) -> Iterator[Scene]:
        """Yields the scenes of the first n layouts, one each, with captions in both orders."""
        frame = choose_framing(self.size, 2)
        for index in range(n_layouts):
            rng = Random(f"grid {self.seed} {index}")
            split, image = split_of(index), image_id(index)
            caption = rng.choice(self.captions[split])
            looks = [Look(*pair, frame.sizes, frame.materials) for pair in caption]
            graph = sample_scene_of_looks(rng, index, frame, looks, has_fully_visible_objects)
            assert graph is not None, "there is room for two"
            descriptions = [
                self._describe(graph, rng, image, k, order, split)
                for k, order in enumerate((caption, (caption[1], caption[0])))
            ]
            yield Scene(image, graph, split, descriptions)

    def _describe(
        self, graph: SceneGraph, rng: Random, image: str, k: int, caption: Caption, split: str
    ) -> SceneDescription:
        avoid = self.held_out if split in ("train", "val", "seen") else frozenset()
        record = UnitRecord(
            f"{graph.id}-{k}",
            image,
            caption_text(caption),
            tuple(
                entity_with_foils(graph, rng, ObjectPhrase(shape, color), avoid, ALL_SHAPES)
                for color, shape in caption
            ),
            (),
            dict(SOURCE),
        )
        return SceneDescription(record, caption_text(blocks.swap_attributes(caption)))
