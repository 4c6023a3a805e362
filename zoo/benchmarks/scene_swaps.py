"""Attribute swaps in rendered scenes: "a red cube and a blue sphere" against "a blue cube and a red sphere"."""

from pathlib import Path

import numpy as np

from zoo.benchmarks.base import Benchmark, Case, Part, Reading
from zoo.datamodules.sample import ImageRef
from zoo.scenes.cache import read_lines

SUBSETS = ("test", "held_out")


class SceneSwaps(Benchmark):
    """Which of two captions is true of a scene, where the other exchanges the two colours.

    folder: what `zoo scenes render` filled, absolute or under the data root. Subsets: 'test' has scenes that training never had,
    'held_out' scenes with a pair of colour and shape that it never had. Captions whose swap would be true too are no cases.
    """

    name = "scene_swaps"

    def __init__(self, folder: str = "scenes") -> None:
        self.folder = folder

    @property
    def parts(self) -> tuple[Part, ...]:
        how = f"zoo scenes render --out {self.folder}"
        return tuple(
            Part(subset, (f"{self.folder}/captions.jsonl",), None, how, {"i2t": 50.0})
            for subset in SUBSETS
        )

    def read(self, root: Path) -> Reading:
        folder = (root / self.folder).absolute()
        file = folder / "captions.jsonl"
        if not file.is_file():
            return Reading([], [], list(self.parts))
        cases = [
            Case(
                images=(ImageRef("file", str(folder / row["image_id"])),),
                texts=(row["caption"], row["attribute_swap"]),
                match=np.array([[True, False]]),
                protocol="i2t",
                subset=row["split"],
                id=row["caption_id"],
            )
            for row in read_lines(folder, "captions.jsonl")
            if row["split"] in SUBSETS and row["attribute_swap"]
        ]
        return Reading(cases, [file], [])
