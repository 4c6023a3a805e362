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
    """Zero-shot classification on published data sets.

    Class names and prompt templates come from the files classnames.txt and templates.txt in the
    folder of a data set. Without these files, ImageNet uses open_clip's. Other data sets use the
    class names in the data and the template "a photo of a {}." As in open_clip, the vectors of a
    class's prompts are normalized, averaged and normalized again. This needs a head with one vector
    per text. The protocol is `classify`, or `map_11` if an image has several labels. With preset
    `official`, the first of equal scores wins.

    A data set is in `zero_shot/SET` of the data root, in any format of `zero_shot_folder`. It may
    also be in `torchvision`, as torchvision downloads it. torchvision has no test split of
    caltech101, eurosat and sun397, so all their images are measured, which others do not do. Cases
    in the table are images. Their number is given only if all publications use the same split.
    ImageNet's usual class names include two pairs of equal names, so no model reaches 100 %.

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
    licence = "each data set has its own; prompts of open_clip and CLIP_benchmark: MIT"
    citation = "Radford et al., 2021 (CLIP), and the authors of each data set"
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
    """Zero-shot classification as in ELEVATER, on its 20 data sets and on ImageNet.

    The prompts are in ELEVATER's file `prompts.py`, which is parsed and not executed. The protocol
    is `classify`, except `map_11` for voc2007_multilabel and `roc_auc` for hateful_memes.
    ELEVATER's metric is `acc@1`, or the mean over classes (`macro`) for caltech101, fgvc_aircraft,
    flowers and pets. Images are read as by `zero_shot`. Notes report numbers of images that differ
    from ELEVATER's split.

    As in ELEVATER's code, `map_11` counts precision 1 at recall 0, and only the first spelling of a
    class name is used. There are three differences. zoo compares numbers of found images instead of
    recalls, which avoids rounding errors in `map_11`. zoo multiplies scores by the model's own
    scale before the softmax, not by 100. zoo does not squeeze images of kitti_distance to a square.

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
    licence = "each data set has its own; prompts: MIT"
    citation = "Li et al., 2022, and the authors of each data set"
    sets = ELEVATER

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen sets."""
        instructions = (
            "put vision_benchmark/datasets/prompts.py of "
            "github.com/Computer-Vision-in-the-Wild/Elevater_Toolkit_IC into DATA_ROOT/elevater; "
            f"{INSTRUCTIONS}"
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
