"""Published sets, zero-shot: with their usual prompts, and with ELEVATER's."""

from pathlib import Path
from typing import Literal

from zoo.benchmarks.annotations import locate
from zoo.benchmarks.base import Contents, Subset
from zoo.benchmarks.protocols.base import Protocol
from zoo.benchmarks.protocols.classify import Classification
from zoo.benchmarks.protocols.map_11 import MeanAveragePrecision11
from zoo.benchmarks.protocols.roc_auc import RocAuc
from zoo.benchmarks.zero_shot.labelled import Labelled
from zoo.benchmarks.zero_shot.prompt_sources import (
    clip_benchmark_prompts,
    elevater_prompts,
    own_prompts,
)
from zoo.benchmarks.zero_shot.prompts import ClassPrompts
from zoo.benchmarks.zero_shot.published_sets import FOLDER, HOW, PublishedSets
from zoo.benchmarks.zero_shot.sets import ELEVATER, SETS, LabelledSet

PROMPTS = "elevater/prompts.py"
_PROMPTS = Subset("prompts", (PROMPTS,), None, "")


class ZeroShot(PublishedSets):
    """Zero-shot classification on published sets.

    Class names and templates are those of the files classnames.txt and templates.txt in the folder
    of a set; where there are none, open_clip's for ImageNet, else the data's own names in "a photo
    of a {}."

    Args:
        subsets: The sets wanted, None for all.
        folders: Other folders of the images, by set.
        prompts: `own` as above, or `clip_benchmark` for those of that package.
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
        """The sets asked for."""
        return tuple(
            self.subset(name, (f"{FOLDER}/{name}",), self.sets[name].n, HOW) for name in self.wanted
        )

    def prompts_of(
        self, one: LabelledSet, found: Labelled, folder: Path, root: Path
    ) -> ClassPrompts:
        """Returns the set's own prompts, or CLIP_benchmark's."""
        if self.prompts == "clip_benchmark":
            return clip_benchmark_prompts(folder, found, one.by_clip_benchmark, one.name)
        return own_prompts(folder, found, one.by_open_clip)


class Elevater(PublishedSets):
    """ELEVATER's 20 sets and ImageNet, zero-shot, with its prompts and its metric of each set.

    Args:
        subsets: The sets wanted, None for all.
        folders: Other folders of the images, by set.
    """

    name = "elevater"
    licence = "each set has its own; prompts: MIT"
    citation = "Li et al., 2022, and each set's authors"
    sets = ELEVATER

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The sets asked for."""
        how = (
            "put vision_benchmark/datasets/prompts.py of "
            "github.com/Computer-Vision-in-the-Wild/Elevater_Toolkit_IC into DATA_ROOT/elevater, "
            f"and {HOW}"
        )
        return tuple(
            self.subset(name, (PROMPTS,), self.sets[name].elevater_n, how) for name in self.wanted
        )

    def prompts_of(
        self, one: LabelledSet, found: Labelled, folder: Path, root: Path
    ) -> ClassPrompts:
        """Returns ELEVATER's prompts."""
        file = locate(root, _PROMPTS)
        assert file is not None
        return elevater_prompts(file, one.by_elevater)

    def protocol_of(self, one: LabelledSet, found: Labelled) -> Protocol:
        """Returns what judges a set, by ELEVATER's metric."""
        if one.elevater_metric == "roc_auc":
            return RocAuc()
        return (
            MeanAveragePrecision11() if one.elevater_metric == "11point_mAP" else Classification()
        )

    def read(self, root: Path) -> Contents:
        """Returns a case for each set whose images are there, beside the prompts."""
        if locate(root, _PROMPTS) is None:
            return Contents([], [], list(self.subsets))
        return super().read(root)
