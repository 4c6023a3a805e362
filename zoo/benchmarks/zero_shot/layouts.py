"""Layouts: how a folder holds labelled images, told by what is in it."""

from pathlib import Path

from zoo.benchmarks.zero_shot.hub_rows import STATE, parquet, parquet_files, read_saved_dataset
from zoo.benchmarks.zero_shot.image_folder import image_folder
from zoo.benchmarks.zero_shot.labelled import Labelled
from zoo.benchmarks.zero_shot.tars import SHARDS, tars

SPLITS = ("test", "val", "validation")


def read_labelled(folder: Path, source: str) -> Labelled | None:
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
    if (inside / SHARDS).is_file():
        return tars(folder, inside)
    if (inside / STATE).is_file():
        return read_saved_dataset(inside)
    tables = parquet_files(inside)
    return parquet(folder, tables) if tables else image_folder(inside, source)
