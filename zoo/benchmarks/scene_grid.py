"""A grid of rendered scenes, by how many of two bindings training never had."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from zoo.benchmarks.base import Case
from zoo.benchmarks.bindings import BindingImage, binding_cases
from zoo.benchmarks.scene_folders import SceneFolder, picture
from zoo.errors import ZooError
from zoo.scenes.blocks import SPLITS
from zoo.scenes.cache import SceneCaption
from zoo.scenes.grid import texts


class SceneGrid(SceneFolder):
    """Two objects of 8 colours and 8 shapes: the caption against its swap and among all captions.

    The subsets are 'seen', 'partial' and 'unseen': training had both bindings of colour and shape,
    one, or none. Among the 3,136 captions, both orders are right.

    Args:
        folder: What `zoo scenes grid` filled, as written or under the data root.
        subsets: The subsets wanted, None for all.
    """

    name = "scene_grid"
    offers = SPLITS
    usual, filled_by = "scene_grid", "grid"
    by_chance = MappingProxyType({"i2t": 50.0})

    def __init__(self, folder: str = usual, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)

    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        """Yields a case for each caption, and one of all images and all captions of the grid."""
        captions = texts()
        right: dict[str, tuple[str, ...]] = {}
        for row in rows:
            right[row.image_id] = (*right.get(row.image_id, ()), row.caption)
            if row.caption not in captions or row.attribute_swap is None:
                raise ZooError(
                    f"{folder} has the caption {row.caption!r}, which is none of the grid: delete "
                    "captions.jsonl and run `zoo scenes grid` again"
                )
        for subset in self.wanted:
            shown = [
                BindingImage(
                    picture(folder, row),
                    row.caption_id,
                    row.caption,
                    row.attribute_swap or "",
                    right[row.image_id],
                )
                for row in rows
                if row.split == subset
            ]
            yield from binding_cases(subset, shown, list(captions))
