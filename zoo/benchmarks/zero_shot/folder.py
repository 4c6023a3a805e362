"""One's own labelled images, zero-shot."""

from pathlib import Path

from zoo.benchmarks.annotations import given_path
from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.protocols.classify import Classification
from zoo.benchmarks.zero_shot.labelled import Labelled
from zoo.benchmarks.zero_shot.layouts import labelled
from zoo.benchmarks.zero_shot.prompts import (
    NAMES,
    OF_DATA,
    PLAIN,
    TEMPLATES,
    Prompts,
    names_file,
    templates_file,
)
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
        found = labelled(folder.absolute(), "file") if folder.is_dir() else None
        if found is None:
            raise ZooError(f"{folder} holds no labelled images: {subset.how}")
        prompts = folder_prompts(folder, found)
        case = found.case(subset.name, prompts, Classification())
        notes = {f"{subset.name} prompts": prompts.note}
        return Contents([case], [*found.files, *prompts.files], [], notes)


def folder_prompts(folder: Path, found: Labelled) -> Prompts:
    """Returns the prompts of a folder: of its files, or the data's own names in a plain template.

    Args:
        folder: The folder.
        found: Its images.

    Raises:
        ZooError: A file is wrong, or nothing names the classes.
    """
    named = folder / NAMES
    names, names_from, files = found.classes, OF_DATA, []
    if named.is_file():
        names, names_from = names_file(named), str(named)
        files.append(named)
    elif not names:
        raise ZooError(
            f"{found.origin} does not name its classes: write {named}, one name a line in the "
            "order of the classes"
        )
    given = next((folder / name for name in TEMPLATES if (folder / name).is_file()), None)
    if given is None:
        return Prompts(names, PLAIN, names_from, "zoo", tuple(files))
    return Prompts(names, templates_file(given), names_from, str(given), (*files, given))
