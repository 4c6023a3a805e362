"""Zero-shot classification on published sets, with their usual prompts or ELEVATER's."""

from pathlib import Path
from typing import Literal

from zoo.benchmarks.annotations import find_annotation_file
from zoo.benchmarks.base import Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.protocols.base import Protocol
from zoo.benchmarks.protocols.classify import Classification
from zoo.benchmarks.protocols.map_11 import MeanAveragePrecision11
from zoo.benchmarks.protocols.roc_auc import RocAuc
from zoo.benchmarks.zero_shot.labelled_images import LabelledImages
from zoo.benchmarks.zero_shot.prompt_sources import (
    clip_benchmark_prompts,
    elevater_prompts,
    folder_or_default_prompts,
)
from zoo.benchmarks.zero_shot.prompts import ClassPrompts
from zoo.benchmarks.zero_shot.published_sets import FOLDER, INSTRUCTIONS, PublishedSets
from zoo.benchmarks.zero_shot.sets import ELEVATER, HUB_COPIES, SETS, LabelledSet

PROMPTS = "elevater/prompts.py"
_PROMPTS = Subset("prompts", (PROMPTS,), None, "")


class ZeroShot(PublishedSets):
    """Zero-shot classification on published sets.

    Class names and templates come from the files classnames.txt and templates.txt in the folder of
    a set; without these files, from open_clip for ImageNet, else from the data's class names in "a
    photo of a {}." The vectors of a class's prompts are normalized, averaged and normalized again,
    as in open_clip. A head without one vector per text cannot do this. Protocol `classify`, or
    `map_11` for several labels per image; under `official` the first of equal scores wins.

    A set is in `zero_shot/SET` of the data root, in any layout of `zero_shot_folder`, or in
    `torchvision` as that package downloads it. torchvision has no test split of caltech101, eurosat
    and sun397; all their images are then measured, which others do not do. `n` is the number of
    images, if all publications use the same split. ImageNet's usual class names have two pairs of
    equal names, so no model has 100 %.

    Args:
        subsets: The chosen sets, None for all.
        folders: Folders of the images if not the default ones, by set.
        prompts: `own` as above, or `clip_benchmark` for those of that package.

    Examples:
        Two sets, one of which is in another folder than the default one:

        >>> from zoo.benchmarks import ZeroShot
        >>> benchmark = ZeroShot(["cifar10", "dtd"], folders={"dtd": "my_textures"})
        >>> [(subset.n, subset.files) for subset in benchmark.subsets]
        [(10000, ('zero_shot/cifar10',)), (1880, ('my_textures',))]
    """

    name = "zero_shot"
    licence = "each set has its own; open_clip's and CLIP_benchmark's prompts: MIT"
    citation = "Radford et al., 2021 (CLIP), and each set's authors"
    sets = SETS

    def __init__(
        self,
        subsets: list[str] | None = None,
        folders: dict[str, str] | None = None,
        prompts: Literal["own", "clip_benchmark"] = "own",
    ) -> None:
        super().__init__(subsets, folders)
        self.prompts = prompts

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen sets."""
        return tuple(
            self.build_subset(
                name,
                (f"{FOLDER}/{name}",),
                self.sets[name].n_images,
                download_command(f"{FOLDER}:{name}") if name in HUB_COPIES else INSTRUCTIONS,
            )
            for name in self.wanted
        )

    def prompts_of(
        self, labelled_set: LabelledSet, images: LabelledImages, folder: Path, root: Path
    ) -> ClassPrompts:
        """Returns the prompts of the set's folder, or CLIP_benchmark's."""
        if self.prompts == "clip_benchmark":
            return clip_benchmark_prompts(
                folder, images, labelled_set.clip_benchmark_name, labelled_set.name
            )
        return folder_or_default_prompts(folder, images, labelled_set.is_imagenet)


class Elevater(PublishedSets):
    """Zero-shot classification on ELEVATER's 20 sets and ImageNet, with its prompts and metrics.

    The prompts are those of the toolkit's `prompts.py`, which is parsed and not run. Protocols
    `classify` (the metric is `acc@1`, or `macro` for caltech101, fgvc_aircraft, flowers and pets),
    `map_11` (voc2007_multilabel) and `roc_auc` (hateful_memes). Images are read as by `zero_shot`;
    the notes report a number of images that differs from ELEVATER's split.

    As in the toolkit, `map_11` counts precision 1 at recall 0, and only the first spelling of a
    class name is used. Unlike there, recalls are compared as whole numbers, scores are multiplied
    by the model's own scale before the softmax (100 in the toolkit), and images of kitti_distance
    are not squeezed to a square.

    Args:
        subsets: The chosen sets, None for all.
        folders: Folders of the images if not the default ones, by set.

    Examples:
        The metrics of four sets:

        >>> from zoo.benchmarks import Elevater
        >>> benchmark = Elevater(["cifar10", "flowers", "hateful_memes", "voc2007_multilabel"])
        >>> [benchmark.sets[subset.name].elevater_metric for subset in benchmark.subsets]
        ['accuracy', 'mean-per-class', 'roc_auc', '11point_mAP']
    """

    name = "elevater"
    licence = "each set has its own; prompts: MIT"
    citation = "Li et al., 2022, and each set's authors"
    sets = ELEVATER

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen sets."""
        instructions = (
            "put vision_benchmark/datasets/prompts.py of "
            "github.com/Computer-Vision-in-the-Wild/Elevater_Toolkit_IC into DATA_ROOT/elevater, "
            f"and {INSTRUCTIONS}"
        )
        return tuple(
            self.build_subset(name, (PROMPTS,), self.sets[name].elevater_n_images, instructions)
            for name in self.wanted
        )

    def prompts_of(
        self, labelled_set: LabelledSet, images: LabelledImages, folder: Path, root: Path
    ) -> ClassPrompts:
        """Returns ELEVATER's prompts."""
        file = find_annotation_file(root, _PROMPTS)
        assert file is not None
        return elevater_prompts(file, labelled_set.elevater_name)

    def choose_protocol(self, labelled_set: LabelledSet, images: LabelledImages) -> Protocol:
        """Returns the protocol of a set, by ELEVATER's metric."""
        if labelled_set.elevater_metric == "roc_auc":
            return RocAuc()
        return (
            MeanAveragePrecision11()
            if labelled_set.elevater_metric == "11point_mAP"
            else Classification()
        )

    def read(self, root: Path) -> Contents:
        """Returns a case for each set whose images exist, if the prompts exist too."""
        if find_annotation_file(root, _PROMPTS) is None:
            return Contents([], [], list(self.subsets))
        return super().read(root)
