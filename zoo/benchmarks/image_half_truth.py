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
    """Which of two scenes does a text describe, if they differ in one detail?

    The mirror of a half-truth: one text and two images. In the subsets 'object', 'attribute',
    'relation' and 'count' the other scene has another kind of object, colour or pattern, position
    or number; in 'swap_color' and 'swap_position' two objects exchange theirs. There each scene has
    a text, and scores that ignore the texts give exactly 50. In 'missing' the other scene does not
    have an object that the text names. The subset 'extra' is a control: the other scene has one
    more object, which the text does not name, so that the text is true of both. Its value is how
    often the scene without it is preferred. Protocol `t2i`; a tie is wrong.

    CS-CLIP names image-side half-truths as future work. This definition is not from a paper.

    Args:
        folder: The folder written by `zoo scenes image_half_truths`, a path or relative to the data
            root.
        subsets: The chosen subsets, None for all.

    Examples:
        How to make the scenes, if they do not exist yet:

        >>> from zoo.benchmarks import ImageHalfTruth
        >>> [subset] = ImageHalfTruth(folder="my_scenes", subsets=["count"]).subsets
        >>> subset.instructions
        '`zoo scenes image_half_truths --out my_scenes` creates it'
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
