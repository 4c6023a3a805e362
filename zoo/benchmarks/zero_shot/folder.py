"""One's own labelled images, zero-shot."""

from pathlib import Path

from zoo.benchmarks.annotations import given_path
from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.protocols.classify import Classification
from zoo.benchmarks.protocols.map_11 import MeanAveragePrecision11
from zoo.benchmarks.zero_shot.layouts import read_labelled
from zoo.benchmarks.zero_shot.prompt_sources import own_prompts
from zoo.errors import ZooError


class ZeroShotFolder(Benchmark):
    """Zero-shot classification of one's own images.

    The folder has a folder for each class, tars as CLIP_benchmark writes them, or a data set of
    the hub; class names and templates stand in classnames.txt and templates.txt beside them, one a
    line. The subset is called as the folder.

    Args:
        folder: The folder, as written or under the data root.
    """

    name = "zero_shot_folder"
    behind_colon = "folder"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The folder, as a subset."""
        how = "give a folder that has one folder of images for each class"
        return (Subset(Path(self.folder).resolve().name, (self.folder,), None, how, named=True),)

    def read(self, root: Path) -> Contents:
        """Returns the case of the folder's images."""
        (subset,) = self.subsets
        folder = given_path(root, self.folder)
        if folder is None:
            return Contents([], [], [subset])
        found = read_labelled(folder.absolute(), "file") if folder.is_dir() else None
        if found is None:
            raise ZooError(f"{folder} holds no labelled images: {subset.how}")
        prompts = own_prompts(folder, found)
        if len(prompts.names) < 2:
            raise ZooError(
                f"{folder} has one class, {prompts.names[0]!r}: give a folder of several, since a "
                "class is chosen among others"
            )
        protocol = MeanAveragePrecision11() if found.multilabel else Classification()
        case = found.case(subset.name, prompts, protocol)
        notes = {f"{subset.name} prompts": prompts.note}
        return Contents([case], [*found.files, *prompts.files], [], notes)
