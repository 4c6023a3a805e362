"""Colour swaps in scenes of the world, with pairs of colour and object held out of training."""

from zoo.benchmarks.scene_swaps import SceneSwaps
from zoo.scenes.world.kinds import BINDING_SPLITS


class WorldBindings(SceneSwaps):
    """Which of two captions is true of a scene, if the other one exchanges the two colours?

    In 'seen' neither caption names a pair of colour and object that is held out of training. In
    'unseen_true' the true caption names one and the false one does not, and in 'unseen_false' the
    reverse, for the same pairs of captions. A model that takes held-out pairs for false is below 50
    on 'unseen_true' and above 50 on 'unseen_false'. Protocol `i2t`; a tie is wrong.

    Args:
        folder: The folder written by `zoo scenes world_bindings`, a path or relative to the data
            root.
        subsets: The chosen subsets, None for all.

    Examples:
        How to make the scenes, if they do not exist yet:

        >>> from zoo.benchmarks import WorldBindings
        >>> [subset] = WorldBindings(folder="my_scenes", subsets=["seen"]).subsets
        >>> subset.instructions
        '`zoo scenes world_bindings --out my_scenes` creates it'
    """

    name = "world_bindings"
    subset_names = BINDING_SPLITS
    default_folder, scenes_command = "world_bindings", "world_bindings"

    def __init__(self, folder: str = default_folder, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)
