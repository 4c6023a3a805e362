"""Colour swaps in scenes of the world, with pairs of colour and object held out of training."""

from zoo.benchmarks.scene_swaps import SceneSwaps
from zoo.scenes.world.kinds import BINDING_SPLITS


class WorldBindings(SceneSwaps):
    """Two captions of a cartoon scene differ by exchanged colours: which of them is true?

    The true caption has to score above the false one (protocol `i2t`). A tie is wrong.

    The scenes come in pairs, in which two objects exchange their colours. The two scenes of a pair
    have the same two captions, and each caption is true of one scene. Some combinations of colour
    and object are held out of training, such as "red ball". In `seen`, neither caption names a
    held-out combination. In the other subsets, one of the two captions does. This caption is true
    of the scenes of `unseen_true`, and false of the scenes of `unseen_false`. A model that judges
    held-out combinations as false is below 50 % on `unseen_true` and above 50 % on `unseen_false`.

    Args:
        folder: The folder written by `zoo scenes world_bindings`: an absolute path, or one relative
            to the working directory or the data root.
        subsets: The chosen subsets; None for all.

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
