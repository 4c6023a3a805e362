"""Pairs of rendered scenes with one attribute exchanged."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from zoo.benchmarks.base import Case
from zoo.benchmarks.protocols import group
from zoo.benchmarks.scene_folders import SceneFolder, scene_image
from zoo.errors import ZooError
from zoo.scenes.cache import SceneCaption
from zoo.scenes.pairs import KINDS


class ScenePairs(SceneFolder):
    """Two rendered scenes that differ by an exchanged attribute, and a caption of each scene.

    In the second scene, two objects of the first scene have exchanged their colours (`color`),
    sizes (`size`) or materials (`material`), or two groups of objects have exchanged their numbers
    (`quantity`). For example, the captions are "a
    red cube and a blue cone" and "a blue cube and a red cone". Camera, lights, positions and
    rendering noise of both scenes are the same.

    Protocol `group` reports three metrics. Metric `text` requires that each scene chooses its
    caption. Metric `image` requires that each caption chooses its scene. Metric `group` requires
    both. A tie is wrong.

    Args:
        folder: The folder written by `zoo scenes pairs`, relative to the working directory or the
            data root.
        subsets: The chosen subsets; None for all.

    Examples:
        The chance level of each metric for pairs with exchanged colours:

        >>> from zoo.benchmarks import ScenePairs
        >>> [subset] = ScenePairs(folder="my_pairs", subsets=["color"]).subsets
        >>> {metric: round(level, 1) for metric, level in subset.chance.items()}
        {'text': 25.0, 'image': 25.0, 'group': 16.7}
    """

    name = "scene_pairs"
    subset_names: ClassVar[tuple[str, ...]] = KINDS
    default_folder, scenes_command = "scene_pairs", "pairs"
    chance_levels = MappingProxyType(group.CHANCE)

    def __init__(self, folder: str = default_folder, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)

    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        """Yields a case for each pair of scenes."""
        for first_row, second_row in zip_longest(rows[::2], rows[1::2]):
            if second_row is None or second_row.caption != first_row.attribute_swap:
                raise ZooError(
                    f"{folder}: {first_row.image_id} is not followed by the image of "
                    f"{first_row.attribute_swap!r}: delete captions.jsonl and run "
                    f"`zoo scenes {self.scenes_command}` again"
                )
            yield self.case(first_row, second_row, folder)

    def case(self, first_row: SceneCaption, second_row: SceneCaption, folder: Path) -> Case:
        """Returns the case of a pair of scenes.

        Args:
            first_row: The caption of the first scene.
            second_row: The caption of the second one.
            folder: The folder of the scenes, an absolute path.
        """
        return Case(
            (scene_image(folder, first_row), scene_image(folder, second_row)),
            (first_row.caption, second_row.caption),
            np.eye(2, dtype=bool),
            "group",
            first_row.split,
            first_row.caption_id.rpartition("-")[0],
        )
