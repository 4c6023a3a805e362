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

    `FOLDER` has one of three formats: one folder of images per class; tar files as written by
    CLIP_benchmark; or a Hugging Face data set (`test*.parquet` or `save_to_disk`) with a column of
    type `ClassLabel`. Class folders are in the order of their names, or of their numbers if all are
    numbers. If there is a folder test, val or validation, the first of these is read.

    Files classnames.txt and templates.txt may have class names and prompt templates, one per line.
    The defaults are the class names in the data and the template "a photo of a {}." The subset has
    the name of the folder. The protocol is `classify`, or `map_11` if an image has several labels.

    Args:
        folder: The folder, a path or relative to the data root.

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
