"""Layouts: how a folder holds labelled images, told by what is in it."""

from pathlib import Path

from zoo.benchmarks.zero_shot.image_folder import image_folder
from zoo.benchmarks.zero_shot.labelled import Labelled

SPLITS = ("test", "val", "validation")


def labelled(folder: Path, source: str) -> Labelled | None:
    """Reads a folder of labelled images.

    Args:
        folder: The folder. Where it has a folder test, val or validation, the first of these is
            read.
        source: The source of the images' references, where these are files.

    Returns:
        The images, None where there is none.

    Raises:
        ZooError: What is there is broken.
    """
    inside = next((folder / name for name in SPLITS if (folder / name).is_dir()), folder)
    return image_folder(inside, source)
