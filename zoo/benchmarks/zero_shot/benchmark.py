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

    Each image chooses among the classes (protocol `classify`). With preset `official`, the first of
    equal scores wins. In voc2007_multilabel, an image can have several classes, so each class
    instead ranks all images, and the metric is a mean average precision (protocol `map_11`).

    A class has several prompts: its name in several templates. As in open_clip, the vectors of the
    prompts are normalized, averaged and normalized again. This needs a head that computes one
    vector per text. Class names and templates are read from classnames.txt and templates.txt in the
    folder of a data set. Without these files, imagenet1k, imagenetv2 and imagenet_sketch use
    open_clip's names and templates. Among these names, two pairs are equal, so no model reaches 100
    %. The other data sets use the class names in the data, and the template "a photo of a {}."

    The images of data set SET are in DATA_ROOT/zero_shot/SET, in one of the three formats that
    benchmark `zero_shot_folder` reads. If this folder has no images, zoo reads torchvision's
    downloads in DATA_ROOT/torchvision. torchvision has no test split of caltech101, eurosat and
    sun397, so zoo then evaluates all images of these data sets. Values from publications with other
    splits are not comparable.

    In the table, the number of cases is the number of images. The cell is empty if publications use
    different splits.

    Args:
        subsets: The chosen subsets; None for all.
        folders: Folders of the images, by subset, if they are not the default ones.
        prompts: `own` for the prompts described above, `clip_benchmark` for the prompts of the
            package CLIP_benchmark.

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
    """Zero-shot classification as in the toolkit ELEVATER, on its 20 data sets and on ImageNet.

    Class names and prompt templates are those in ELEVATER's file `prompts.py`. zoo parses this file
    and does not execute it. The protocol is `map_11` for voc2007_multilabel, `roc_auc` for
    hateful_memes, and `classify` for all other data sets. For caltech101, fgvc_aircraft, flowers
    and pets, ELEVATER reports the mean of `acc@1` over classes (`macro`). For the other data sets
    with protocol `classify`, ELEVATER reports `acc@1`.

    In the table, the number of cases is the number of images in ELEVATER's test split. A note
    reports data sets for which you have another number of images. zoo reads images from the same
    folders and in the same formats as for benchmark `zero_shot`.

    As in ELEVATER's code, metric `map_11` defines the precision at recall 0 as 1. If `prompts.py`
    has several spellings of a class name, only the first spelling is used. zoo differs from
    ELEVATER's code in three points. First, zoo computes `map_11` with whole numbers of images
    instead of recalls, which avoids rounding errors. Second, before the softmax, zoo multiplies
    scores by the model's scale, and ELEVATER multiplies them by 100. Third, ELEVATER resizes images
    of kitti_distance to a square, and zoo does not.

    Args:
        subsets: The chosen subsets; None for all.
        folders: Folders of the images, by subset, if they are not the default ones.

    Examples:
        The metrics of four sets:

        >>> from zoo.benchmarks import Elevater
        >>> benchmark = Elevater(["cifar10", "flowers", "hateful_memes", "voc2007_multilabel"])
        >>> [benchmark.sets[subset.name].elevater_metric for subset in benchmark.subsets]
        ['accuracy', 'mean-per-class', 'roc_auc', '11point_mAP']
    """

    name = "elevater"
    licence = "each data set has its own; prompts: MIT"
    citation = (
        "Li et al., ELEVATER, NeurIPS 2022, arXiv:2204.08790; and the authors of each data set"
    )
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
