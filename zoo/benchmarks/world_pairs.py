"""Pairs of scenes of the world whose captions have the same words."""

from zoo.benchmarks.scene_pairs import ScenePairs
from zoo.scenes.world.kinds import PAIR_KINDS


class WorldPairs(ScenePairs):
    """Two cartoon scenes, and two captions of the same words in another order, as in Winoground.

    In the second scene, two objects of the first scene have exchanged their colours (`attribute`)
    or their positions (`order`). Protocol `group` reports three metrics. Metric `text` requires
    that each scene chooses its caption. Metric `image` requires that each caption chooses its
    scene. Metric `group` requires both. A tie is wrong.

    Args:
        folder: The folder written by `zoo scenes world_pairs`: an absolute path, or one relative to
            the working directory or the data root.
        subsets: The chosen subsets; None for all.

    Examples:
        How to make the scenes, if they do not exist yet:

        >>> from zoo.benchmarks import WorldPairs
        >>> [subset] = WorldPairs(folder="my_pairs", subsets=["order"]).subsets
        >>> subset.instructions
        '`zoo scenes world_pairs --out my_pairs` creates the scenes'
    """

    name = "world_pairs"
    subset_names = PAIR_KINDS
    default_folder, scenes_command = "world_pairs", "world_pairs"

    def __init__(self, folder: str = default_folder, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)
