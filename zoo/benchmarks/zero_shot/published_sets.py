"""PublishedSets, the base class of zero-shot benchmarks on published sets."""

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from zoo.benchmarks.annotations import case_count_notes, check_subsets
from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.protocols.base import Protocol
from zoo.benchmarks.protocols.classify import Classification
from zoo.benchmarks.protocols.map_11 import MeanAveragePrecision11
from zoo.benchmarks.roots import make_image_paths_relative
from zoo.benchmarks.zero_shot.labelled_images import LabelledImages
from zoo.benchmarks.zero_shot.layouts import TORCHVISION, load_labelled_images
from zoo.benchmarks.zero_shot.prompts import ClassPrompts
from zoo.benchmarks.zero_shot.sets import LabelledSet
from zoo.errors import ZooError, suggest_names

FOLDER = "zero_shot"
INSTRUCTIONS = (
    f"put the images of data set SET into DATA_ROOT/{FOLDER}/SET, as one folder per class, as tar "
    "files of CLIP_benchmark (huggingface.co/clip-benchmark) or as a Hugging Face data set; or, if "
    f"torchvision has the data set, download it with torchvision into DATA_ROOT/{TORCHVISION}"
)


class PublishedSets(Benchmark):
    """Base class of benchmarks on published sets of labelled images.

    Args:
        subsets: The chosen subsets; None for all.
        folders: Folders of the images, by subset, if they are not the default ones.

    Attributes:
        sets: The sets, by name.
    """

    sets: ClassVar[dict[str, LabelledSet]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.subset_names = tuple(cls.sets)

    def __init__(
        self, subsets: list[str] | None = None, folders: dict[str, str] | None = None
    ) -> None:
        self.wanted = check_subsets(self.name, subsets, self.subset_names)
        self.folders = dict(folders or {})
        unknown = next((name for name in self.folders if name not in self.subset_names), None)
        if unknown is not None:
            raise ZooError(
                f"{self.name} has no set {unknown!r}{suggest_names(unknown, self.subset_names)}: "
                f"the keys of `folders` are {', '.join(self.subset_names)}"
            )

    @abstractmethod
    def prompts_of(
        self, labelled_set: LabelledSet, images: LabelledImages, folder: Path, root: Path
    ) -> ClassPrompts:
        """Returns the prompts of a set.

        Args:
            labelled_set: The set.
            images: Its images.
            folder: The folder of the set.
            root: The data root.

        Raises:
            ZooError: There are none.
        """

    def choose_protocol(self, labelled_set: LabelledSet, images: LabelledImages) -> Protocol:
        """Returns the protocol of a set."""
        return MeanAveragePrecision11() if images.multilabel else Classification()

    def read(self, root: Path) -> Contents:
        """Returns a case for each set whose images exist."""
        contents, counts = Contents([], [], []), []
        for subset in self.subsets:
            labelled = self._find_subset(subset, root)
            if labelled is None:
                contents.missing_subsets.append(subset)
                continue
            labelled_set, folder = self.sets[subset.name], self._folder(subset.name, root)
            prompts = self.prompts_of(labelled_set, labelled, folder, root)
            case = labelled.case(subset.name, prompts, self.choose_protocol(labelled_set, labelled))
            contents.cases.extend(make_image_paths_relative([case], root, root))
            files = (
                file for file in (*labelled.files, *prompts.files) if file not in contents.files
            )
            contents.files.extend(files)
            contents.notes[f"{subset.name} prompts"] = prompts.note
            counts.append((subset, len(case.images)))
        notes = case_count_notes(counts)
        contents.notes.update({key.replace(" cases", " images"): n for key, n in notes.items()})
        return contents

    def _find_subset(self, subset: Subset, root: Path) -> LabelledImages | None:
        folder = self._folder(subset.name, root)
        labelled = load_labelled_images(subset.name, folder, root)
        if labelled is None and subset.name in self.folders and folder.is_dir():
            raise ZooError(f"{folder} has no labelled images: {INSTRUCTIONS}")
        return labelled

    def _folder(self, name: str, root: Path) -> Path:
        folder = self.folders.get(name)
        if folder is None:
            return root / FOLDER / name
        return Path(folder).absolute() if Path(folder).is_dir() else root / folder

    def build_subset(
        self, name: str, files: Iterable[str], n: int | None, instructions: str
    ) -> Subset:
        """Returns the subset of a set; if the user gave its folder, that is its only file."""
        named = name in self.folders
        places = (self.folders[name],) if named else tuple(files)
        return Subset(name, places, n, instructions, from_user=named)
