"""Attribute swaps in rendered scenes.

"a red cube and a blue sphere" stands against "a blue cube and a red sphere".
"""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

import numpy as np

from zoo.benchmarks.base import Case
from zoo.benchmarks.scene_folders import SceneFolder, picture
from zoo.scenes.cache import SceneCaption


class SceneSwaps(SceneFolder):
    """Which of two captions is true of a scene, where the other exchanges the two colours.

    The subset 'test' has scenes that training never had, and 'held_out' has scenes with a pair of
    colour and shape that training never had. Captions whose swap would be true too are no cases.

    Args:
        folder: What `zoo scenes render` filled, as written or under the data root.
        subsets: The subsets wanted, 'test' or 'held_out', None for both.
    """

    name = "scene_swaps"
    offers = ("test", "held_out")
    usual, filled_by = "scenes", "render"
    by_chance = MappingProxyType({"i2t": 50.0})

    def __init__(self, folder: str = usual, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)

    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        """Yields a case for each caption with a swap."""
        match = np.array([[True, False]])
        for row in rows:
            if row.attribute_swap:
                texts = row.caption, row.attribute_swap
                yield Case((picture(folder, row),), texts, match, "i2t", row.split, row.caption_id)
