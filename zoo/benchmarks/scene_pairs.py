"""Pairs of rendered scenes with one attribute exchanged."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType

import numpy as np

from zoo.benchmarks.base import Case
from zoo.benchmarks.protocols import group
from zoo.benchmarks.scene_folders import SceneFolder, picture
from zoo.errors import ZooError
from zoo.scenes.cache import SceneCaption
from zoo.scenes.pairs import KINDS


class ScenePairs(SceneFolder):
    """Two images and two captions, which differ in one attribute that is exchanged.

    The subsets are what is exchanged: 'color', 'size', 'material' or 'quantity'.

    Args:
        folder: What `zoo scenes pairs` filled, as written or under the data root.
        subsets: The subsets wanted, None for all.
    """

    name = "scene_pairs"
    offers = KINDS
    usual, filled_by = "scene_pairs", "pairs"
    by_chance = MappingProxyType(group.CHANCE)

    def __init__(self, folder: str = usual, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)

    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        """Yields a case for each pair of scenes."""
        for one, other in zip_longest(rows[::2], rows[1::2]):
            if other is None or other.caption != one.attribute_swap:
                raise ZooError(
                    f"{folder} has {one.image_id} without the image of {one.attribute_swap!r} "
                    "after it: delete captions.jsonl and run `zoo scenes pairs` again"
                )
            yield Case(
                (picture(folder, one), picture(folder, other)),
                (one.caption, other.caption),
                np.eye(2, dtype=bool),
                "group",
                one.split,
                one.caption_id.rpartition("-")[0],
            )
