"""What benchmarks of published sets of labelled images have in common."""

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from zoo.benchmarks.annotations import check_subsets, count_notes
from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.protocols.base import Protocol
from zoo.benchmarks.protocols.classify import Classification
from zoo.benchmarks.protocols.map_11 import MeanAveragePrecision11
from zoo.benchmarks.roots import cases_from_root
from zoo.benchmarks.zero_shot.labelled import Labelled
from zoo.benchmarks.zero_shot.own_data import TORCHVISION, of_set
from zoo.benchmarks.zero_shot.prompts import ClassPrompts
from zoo.benchmarks.zero_shot.sets import LabelledSet
from zoo.errors import ZooError, suggest_names

FOLDER = "zero_shot"
HOW = (
    f"put the images of a SET into DATA_ROOT/{FOLDER}/SET, as folders of classes, as "
    "CLIP_benchmark's tars (huggingface.co/clip-benchmark) or as a data set of the hub, or what "
    f"torchvision downloads into DATA_ROOT/{TORCHVISION}"
)


class PublishedSets(Benchmark):
    """Base of benchmarks of published sets.

    Args:
        subsets: The sets wanted, None for all.
        folders: Other folders of the images, by set.

    Attributes:
        sets: The sets, by name.
    """

    sets: ClassVar[dict[str, LabelledSet]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.offers = tuple(cls.sets)

    def __init__(
        self, subsets: list[str] | None = None, folders: dict[str, str] | None = None
    ) -> None:
        self.wanted = check_subsets(self.name, subsets, self.offers)
        self.folders = dict(folders or {})
        unknown = next((name for name in self.folders if name not in self.offers), None)
        if unknown is not None:
            raise ZooError(
                f"{self.name} has no set {unknown!r}{suggest_names(unknown, self.offers)}: "
                "`folders` may "
                f"name {', '.join(self.offers)}"
            )

    @abstractmethod
    def prompts_of(
        self, one: LabelledSet, found: Labelled, folder: Path, root: Path
    ) -> ClassPrompts:
        """Returns the prompts of a set.

        Args:
            one: The set.
            found: Its images.
            folder: Its own folder.
            root: The data root.

        Raises:
            ZooError: There are none.
        """

    def protocol_of(self, one: LabelledSet, found: Labelled) -> Protocol:
        """Returns what judges a set."""
        return MeanAveragePrecision11() if found.multilabel else Classification()

    def read(self, root: Path) -> Contents:
        """Returns a case for each set whose images are there."""
        contents, counts = Contents([], [], []), []
        for subset in self.subsets:
            found = self._find_subset(subset, root)
            if found is None:
                contents.absent.append(subset)
                continue
            one, folder = self.sets[subset.name], self._folder(subset.name, root)
            prompts = self.prompts_of(one, found, folder, root)
            case = found.case(subset.name, prompts, self.protocol_of(one, found))
            contents.cases.extend(cases_from_root([case], root, root))
            files = (file for file in (*found.files, *prompts.files) if file not in contents.files)
            contents.files.extend(files)
            contents.notes[f"{subset.name} prompts"] = prompts.note
            counts.append((subset, len(case.images)))
        notes = count_notes(counts)
        contents.notes.update({key.replace(" cases", " images"): n for key, n in notes.items()})
        return contents

    def _find_subset(self, subset: Subset, root: Path) -> Labelled | None:
        folder = self._folder(subset.name, root)
        found = of_set(subset.name, folder, root)
        if found is None and subset.name in self.folders and folder.is_dir():
            raise ZooError(f"{folder} holds no labelled images: {HOW}")
        return found

    def _folder(self, name: str, root: Path) -> Path:
        given = self.folders.get(name)
        if given is None:
            return root / FOLDER / name
        return Path(given).absolute() if Path(given).is_dir() else root / given

    def subset(self, name: str, files: Iterable[str], n: int | None, how: str) -> Subset:
        """Returns a set as a subset; where the user names its folder, that is what it needs."""
        named = name in self.folders
        places = (self.folders[name],) if named else tuple(files)
        return Subset(name, places, n, how, named=named)
