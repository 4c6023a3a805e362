"""What benchmarks of rendered scenes have in common: a folder, and a subset a split."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar

from zoo.benchmarks.annotations import check_subsets, given_path
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.errors import ZooError
from zoo.scenes.cache import CAPTIONS, SceneCaption, read_captions
from zoo.sources.sample import ImageRef


class SceneFolder(Benchmark):
    """Base of benchmarks about a folder that `zoo scenes` filled.

    Args:
        folder: The folder, as written or under the data root.
        subsets: The subsets wanted, None for all.

    Attributes:
        usual: The folder where the user names none.
        filled_by: The command of `zoo scenes` that makes such a folder.
        by_chance: The value of each metric by chance, in per cent.
    """

    behind_colon = "folder"
    usual: ClassVar[str]
    filled_by: ClassVar[str]
    by_chance: ClassVar[Mapping[str, float]]

    def __init__(self, folder: str, subsets: list[str] | None = None) -> None:
        self.folder, self.wanted = folder, check_subsets(self.name, subsets, self.offers)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The subsets asked for."""
        how = f"`zoo scenes {self.filled_by} --out {self.folder}` makes it"
        file, named = f"{self.folder}/{CAPTIONS}", self.folder != self.usual
        return tuple(
            Subset(subset, (file,), None, how, dict(self.by_chance), named=named)
            for subset in self.wanted
        )

    @abstractmethod
    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        """Yields the cases of the subsets asked for.

        Args:
            rows: Their captions.
            folder: The folder of the scenes, an absolute path.
        """

    def read(self, root: Path) -> Contents:
        """Returns the cases where the folder is there."""
        file = given_path(root, f"{self.folder}/{CAPTIONS}")
        if file is None:
            return Contents([], [], list(self.subsets))
        rows = read_captions(file.parent)
        if not any(row.split in self.offers for row in rows):
            raise ZooError(
                f"{file} has no scene of {' or '.join(self.offers)}: {self.name} needs a folder "
                f"that `zoo scenes {self.filled_by}` filled"
            )
        wanted = [row for row in rows if row.split in self.wanted]
        return Contents(list(self.cases(wanted, file.parent.absolute())), [file], [])


def picture(folder: Path, row: SceneCaption) -> ImageRef:
    """Returns the image of a caption of a folder."""
    return ImageRef("file", str(folder / row.image_id))
