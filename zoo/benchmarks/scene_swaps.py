"""Attribute swaps in rendered scenes.

"a red cube and a blue sphere" stands against "a blue cube and a red sphere".
"""

from pathlib import Path

import numpy as np

from zoo.benchmarks.annotations import chosen, given_path
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.scenes.cache import CAPTIONS, read_captions
from zoo.sources.sample import ImageRef

SUBSETS = ("test", "held_out")
FOLDER = "scenes"


class SceneSwaps(Benchmark):
    """Which of two captions is true of a scene, where the other exchanges the two colours.

    The subset 'test' has scenes that training never had, and 'held_out' has scenes with a pair of
    colour and shape that training never had. Captions whose swap would be true too are no cases.

    Args:
        folder: What `zoo scenes render` filled, as written or under the data root.
        subsets: The subsets wanted, 'test' or 'held_out', None for both.
    """

    name = "scene_swaps"
    behind_colon = "folder"
    offers = SUBSETS

    def __init__(self, folder: str = FOLDER, subsets: list[str] | None = None) -> None:
        self.folder, self.wanted = folder, chosen(self.name, subsets, self.offers)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The subsets asked for."""
        how = f"`zoo scenes render --out {self.folder}` makes it"
        file, named = f"{self.folder}/{CAPTIONS}", self.folder != FOLDER
        return tuple(
            Subset(subset, (file,), None, how, {"i2t": 50.0}, named=named) for subset in self.wanted
        )

    def read(self, root: Path) -> Contents:
        """Returns a case for each caption with a swap, where the folder is there."""
        file = given_path(root, f"{self.folder}/{CAPTIONS}")
        if file is None:
            return Contents([], [], list(self.subsets))
        folder = file.parent.absolute()
        cases = [
            Case(
                images=(ImageRef("file", str(folder / row.image_id)),),
                texts=(row.caption, row.attribute_swap),
                match=np.array([[True, False]]),
                protocol="i2t",
                subset=row.split,
                id=row.caption_id,
            )
            for row in read_captions(folder)
            if row.split in self.wanted and row.attribute_swap
        ]
        return Contents(cases, [file], [])
