"""Zero-shot classification of a folder of labelled images."""

from pathlib import Path

from zoo.benchmarks.annotations import find_path
from zoo.benchmarks.base import Benchmark, Contents, Subset
from zoo.benchmarks.protocols.classify import Classification
from zoo.benchmarks.protocols.map_11 import MeanAveragePrecision11
from zoo.benchmarks.zero_shot.layouts import read_labelled
from zoo.benchmarks.zero_shot.prompt_sources import folder_or_default_prompts
from zoo.errors import ZooError


class ZeroShotFolder(Benchmark):
    """Zero-shot classification of custom images.

    Each image chooses among the classes (protocol `classify`). If the data set has several classes
    per image, each class instead ranks all images, and the metric is a mean average precision
    (protocol `map_11`). The subset has the name of the folder.

    `FOLDER` has one of three formats: one folder of images per class, tar files in the format of
    CLIP_benchmark, or a Hugging Face data set with a column of type `ClassLabel` (`test*.parquet`,
    or a folder written by `save_to_disk`). If `FOLDER` has subfolders test, val or validation, zoo
    reads only the first of these that exists.

    By default, class names are those in the data, and the prompt of a class is "a photo of a NAME."
    To use other names, write them to classnames.txt in `FOLDER`, one per line, in the order of the
    classes. To use other prompts, write templates to templates.txt in `FOLDER`, one per line, with
    {} in place of the name. Class folders are sorted by name, or by number if all names are
    numbers. Tar files have no class names, so they need classnames.txt.

    Args:
        folder: The folder: an absolute path, or one relative to the working directory or the data
            root.

    Examples:
        A folder of two classes:

        >>> from pathlib import Path
        >>> from PIL import Image
        >>> from zoo.benchmarks import ZeroShotFolder
        >>> for name in ("red", "blue"):
        ...     Path("colors", name).mkdir(parents=True)
        ...     Image.new("RGB", (8, 8), name).save(f"colors/{name}/1.png")
        >>> ZeroShotFolder("colors").read(Path()).cases[0].prompts
        (('a photo of a blue.',), ('a photo of a red.',))
    """

    name = "zero_shot_folder"
    colon_argument = "folder"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The folder as the only subset."""
        instructions = "choose a folder with one folder of images per class"
        return (
            Subset(
                Path(self.folder).resolve().name, (self.folder,), None, instructions, from_user=True
            ),
        )

    def read(self, root: Path) -> Contents:
        """Returns the case of the folder's images."""
        (subset,) = self.subsets
        folder = find_path(root, self.folder)
        if folder is None:
            return Contents([], [], [subset])
        images = read_labelled(folder.absolute(), "file") if folder.is_dir() else None
        if images is None:
            raise ZooError(f"{folder} has no labelled images: {subset.instructions}")
        prompts = folder_or_default_prompts(folder, images)
        if len(prompts.names) < 2:
            raise ZooError(
                f"{folder} has one class, {prompts.names[0]!r}: choose a folder with at least "
                "two classes"
            )
        protocol = MeanAveragePrecision11() if images.multilabel else Classification()
        case = images.case(subset.name, prompts, protocol)
        notes = {f"{subset.name} prompts": prompts.note}
        return Contents([case], [*images.files, *prompts.files], [], notes)
