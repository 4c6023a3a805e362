"""Image-side half-truths: a text, and two scenes of the world that differ in one detail."""

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from zoo.benchmarks.base import Case
from zoo.benchmarks.scene_pairs import ScenePairs
from zoo.scenes.cache import SceneCaption
from zoo.scenes.world.kinds import EDITS

ONE_SIDED = ("missing", "extra")  # the edits whose second scene has no query


class ImageHalfTruth(ScenePairs):
    """A text and two cartoon scenes that differ in one detail: which scene does the text describe?

    Each subset has one kind of difference. Compared with the first scene, the second scene has
    another kind of object (`object`), another colour or pattern (`attribute`), an object at another
    position (`relation`) or another number of objects (`count`). In `swap_color` and
    `swap_position`, two objects exchange their colours or positions. In these six subsets, each
    scene has a text. A model that prefers the same scene for both texts therefore reaches exactly
    50 %.

    In `missing` and `extra`, only the first scene has a text. In `missing`, the second scene does
    not contain an object that the text names. Subset `extra` is a control: the second scene
    contains an additional object that the text does not name. The text of `extra` is true of both
    scenes, and metric `t2i` is how often the first scene is preferred.

    The protocol is `t2i`, and a tie is wrong. The benchmark is by zoo, not from a
    paper. CS-CLIP (Kargi et al., 2026) only names images with a wrong detail as future work.

    Args:
        folder: The folder written by `zoo scenes image_half_truths`, relative to the working
            directory or the data root.
        subsets: The chosen subsets; None for all.

    Examples:
        How to make the scenes, if they do not exist yet:

        >>> from zoo.benchmarks import ImageHalfTruth
        >>> [subset] = ImageHalfTruth(folder="my_scenes", subsets=["count"]).subsets
        >>> subset.instructions
        '`zoo scenes image_half_truths --out my_scenes` creates the scenes'
    """

    name = "image_half_truth"
    subset_names = EDITS
    default_folder, scenes_command = "image_half_truths", "image_half_truths"
    chance_levels = MappingProxyType({"t2i": 50.0})

    def __init__(self, folder: str = default_folder, subsets: list[str] | None = None) -> None:
        super().__init__(folder, subsets)

    def case(self, first_row: SceneCaption, second_row: SceneCaption, folder: Path) -> Case:
        """Returns the case of a pair of scenes, with one text if only the first is a query."""
        case = replace(super().case(first_row, second_row, folder), protocol="t2i")
        if case.subset not in ONE_SIDED:
            return case
        return replace(case, texts=case.texts[:1], match=case.match[:, :1])
