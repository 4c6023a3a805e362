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
    """Scenes of two coloured shapes. A scene chooses between two captions, or among 3,136.

    `zoo scenes grid` writes a folder of scenes with training splits and the three subsets. A
    *binding* is a shape with its colour, and a caption has two bindings: "a red cube and a blue
    star". Of the 64 bindings (8 colours, 8 shapes), nine do not occur in the training splits: all
    combinations of 3 colours and 3 shapes. In `seen`, both bindings of a caption occur in training.
    In `partial`, only one of the two does. In `unseen`, none does.

    The *swap* of a caption exchanges the two colours. In protocol `i2t`, an image chooses between
    its caption and the swap. In protocol `retrieval`, the image chooses among all 3,136 captions.
    Its caption is then right in both orders of the objects, so chance of `i2t_r@1` is 0.06 %.

    The seed `--block_seed` of `zoo scenes grid` selects the nine bindings. The file `manifest.json`
    in the folder lists the bindings. No text of the training splits contains one of
    these bindings. However, a generator of negatives that inserts new words, such as `Replace`, can
    create these bindings in training. To prevent this, wrap the
    generator in `zoo.negatives.Avoiding`, and give `Avoiding` the nine bindings as phrases, such as
    "red cube".

    Args:
        folder: The folder written by `zoo scenes grid`, relative to the working directory or the
            data root.
        subsets: The chosen subsets; None for all.

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
