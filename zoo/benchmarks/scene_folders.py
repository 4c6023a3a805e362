"""SceneFolder, the base class of benchmarks of rendered scenes, with one subset per split."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from zoo.benchmarks.annotations import check_subsets, find_path
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.errors import ZooError
from zoo.scenes.cache import CAPTIONS, SceneCaption, read_captions
from zoo.sources.sample import ImageRef


class SceneFolder(Benchmark):
    """Base class of benchmarks that read a folder written by `zoo scenes`.

    Args:
        folder: The folder, relative to the working directory or the data root.
        subsets: The chosen subsets; None for all.

    Attributes:
        default_folder: The folder if the user names none.
        scenes_command: The subcommand of `zoo scenes` that writes such a folder.
        chance_levels: The chance level of each metric, in per cent.
    """

    colon_argument = "folder"
    default_folder: ClassVar[str]
    scenes_command: ClassVar[str]
    chance_levels: ClassVar[Mapping[str, float]]

    def __init__(self, folder: str, subsets: list[str] | None = None) -> None:
        self.folder, self.wanted = folder, check_subsets(self.name, subsets, self.subset_names)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen subsets."""
        instructions = f"`zoo scenes {self.scenes_command} --out {self.folder}` creates the scenes"
        file, named = f"{self.folder}/{CAPTIONS}", self.folder != self.default_folder
        return tuple(
            Subset(subset, (file,), None, instructions, dict(self.chance_levels), from_user=named)
            for subset in self.wanted
        )

    @abstractmethod
    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        """Yields the cases of the chosen subsets.

        Args:
            rows: The captions of these subsets.
            folder: The folder of the scenes, an absolute path.
        """

    def read(self, root: Path) -> Contents:
        """Returns the cases if the folder exists."""
        file = find_path(root, f"{self.folder}/{CAPTIONS}")
        if file is None:
            return Contents([], [], list(self.subsets))
        rows = read_captions(file.parent)
        if not any(row.split in self.subset_names for row in rows):
            raise ZooError(
                f"{file} has no scene of {' or '.join(self.subset_names)}: {self.name} needs a "
                f"folder written by `zoo scenes {self.scenes_command}`"
            )
        selected_rows = [row for row in rows if row.split in self.wanted]
        return Contents(list(self.cases(selected_rows, file.parent.absolute())), [file], [])


def scene_image(folder: Path, row: SceneCaption) -> ImageRef:
    """Returns the image of a caption of the folder."""
    return ImageRef("file", str(folder / row.image_id))
