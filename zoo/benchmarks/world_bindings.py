"""Colour swaps in scenes of the world, with pairs of colour and object held out of training."""

from zoo.benchmarks.scene_swaps import SceneSwaps
from zoo.scenes.world.kinds import BINDING_SPLITS


class WorldBindings(SceneSwaps):
    """Two captions of a cartoon scene differ by exchanged colours: which of them is true?

    Some pairs of colour and object are held out of training. In `seen`, no caption names a held-out
    pair. In `unseen_true`, only the true caption names one. `unseen_false` has the same pairs of
    captions, but scenes of which the other caption is true. There, only the false caption names a
    held-out pair. A model that judges held-out pairs as false is below 50 % on `unseen_true` and
    above 50 % on `unseen_false`. The protocol is `i2t`, and a tie is wrong.

    Args:
        folder: The folder written by `zoo scenes world_bindings`, a path or relative to the data
            root.
        subsets: The chosen subsets, None for all.

    Examples:
        How to make the scenes, if they do not exist yet:

        >>> from zoo.benchmarks import WorldBindings
        >>> [subset] = WorldBindings(folder="my_scenes", subsets=["seen"]).subsets
        >>> subset.instructions
        '`zoo scenes world_bindings --out my_scenes` creates the scenes'
    """

    name = "world_bindings"
    subset_names = BINDING_SPLITS
    default_folder, scenes_command = "world_bindings", "world_bindings"

    def __init__(self, folder: str = default_folder, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)
