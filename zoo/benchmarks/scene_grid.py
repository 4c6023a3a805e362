"""A grid of rendered scenes, split by how many of two bindings training has seen."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from zoo.benchmarks.base import Case
from zoo.benchmarks.bindings import BindingImage, binding_cases
from zoo.benchmarks.scene_folders import SceneFolder, scene_image
from zoo.errors import ZooError
from zoo.scenes.blocks import SPLITS
from zoo.scenes.cache import SceneCaption
from zoo.scenes.grid import all_captions


class SceneGrid(SceneFolder):
    """Rendered scenes of two coloured shapes; a scene chooses its caption among two texts or all.

    There are 8 colours and 8 shapes. A binding is a shape and its colour. Training has seen both
    bindings of a caption in `seen`, one in `partial` and none in `unseen`. An image chooses between
    its caption and the swap, which exchanges the colours (protocol `i2t`). It also chooses among
    all 3,136 captions (protocol `retrieval`). Both orders of the objects are then right, so chance
    of `i2t_r@1` is 0.06 %.

    Nine bindings of 3 colours and 3 shapes are held out (`zoo scenes grid --block_seed`). The
    training splits never name them: not in captions, swaps, units (phrases of a caption) or foils.
    Classes of negatives that add new words, such as `Replace`, can name them in training. To
    prevent this, wrap such a class in `zoo.negatives.Avoiding` with the nine phrases in the
    folder's `manifest.json`.

    Args:
        folder: The folder written by `zoo scenes grid`, a path or relative to the data root.
        subsets: The chosen subsets, None for all.

    Examples:
        How to make the scenes, if they do not exist yet:

        >>> from zoo.benchmarks import SceneGrid
        >>> [subset] = SceneGrid(folder="my_grid", subsets=["unseen"]).subsets
        >>> subset.instructions
        '`zoo scenes grid --out my_grid` creates the scenes'
    """

    name = "scene_grid"
    subset_names = SPLITS
    default_folder, scenes_command = "scene_grid", "grid"
    chance_levels = MappingProxyType({"i2t": 50.0})

    def __init__(self, folder: str = default_folder, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)

    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        """Yields a case for each caption, and one of all images and all captions of the grid."""
        captions = all_captions()
        true_captions: dict[str, tuple[str, ...]] = {}
        for row in rows:
            true_captions[row.image_id] = (*true_captions.get(row.image_id, ()), row.caption)
            if row.caption not in captions or row.attribute_swap is None:
                raise ZooError(
                    f"{folder} has the caption {row.caption!r}, which is not in the grid: delete "
                    "captions.jsonl and run `zoo scenes grid` again"
                )
        for subset in self.wanted:
            binding_images = [
                BindingImage(
                    scene_image(folder, row),
                    row.caption_id,
                    row.caption,
                    row.attribute_swap or "",
                    true_captions[row.image_id],
                )
                for row in rows
                if row.split == subset
            ]
            yield from binding_cases(subset, binding_images, list(captions))
