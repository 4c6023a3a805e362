"""Attribute swaps in rendered scenes.

For example, "a red cube and a blue sphere" against "a blue cube and a red sphere".
"""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from zoo.benchmarks.base import Case
from zoo.benchmarks.scene_folders import SceneFolder, scene_image
from zoo.scenes.cache import SceneCaption


class SceneSwaps(SceneFolder):
    """Two captions of a rendered scene differ by exchanged colours: which of them is true?

    For example, "a red cube and a blue sphere" is true of a scene, and "a blue cube and a red
    sphere" is false. A case is left out if both captions are true of its scene. The protocol is
    `i2t`, and a tie is wrong.

    `zoo scenes render` writes a folder with several splits, two of which are the subsets. The other
    splits are for training and validation. The scenes of `test` are not in the training splits. In
    each scene of `held_out`, an object has a combination of colour and shape that does not occur in
    training.

    Args:
        folder: The folder written by `zoo scenes render`, relative to the working directory or the
            data root.
        subsets: The chosen subsets; None for all.

    Examples:
        A line of the folder's captions makes a case:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import SceneSwaps
        >>> Path("scenes").mkdir()
        >>> _ = Path("scenes/captions.jsonl").write_text('{"image_id": "1.png", "caption_id": "1", '
        ...     '"caption": "red cube, blue ball", "attribute_swap": "blue cube, red ball", '
        ...     '"split": "test"}')
        >>> SceneSwaps("scenes").read(Path()).cases[0].texts
        ('red cube, blue ball', 'blue cube, red ball')
    """

    name = "scene_swaps"
    subset_names: ClassVar[tuple[str, ...]] = ("test", "held_out")
    default_folder, scenes_command = "scenes", "render"
    chance_levels = MappingProxyType({"i2t": 50.0})

    def __init__(self, folder: str = default_folder, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)

    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        """Yields a case for each caption with a swap."""
        match = np.array([[True, False]])
        for row in rows:
            if row.attribute_swap:
                texts = row.caption, row.attribute_swap
                yield Case(
                    (scene_image(folder, row),), texts, match, "i2t", row.split, row.caption_id
                )
