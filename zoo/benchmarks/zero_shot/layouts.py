"""Reading of labelled images from a folder, whose layout is detected from its files."""

from pathlib import Path

from zoo.benchmarks.zero_shot.hub_rows import STATE, parquet, parquet_files, read_saved_dataset
from zoo.benchmarks.zero_shot.image_folder import read_image_folder
from zoo.benchmarks.zero_shot.labelled_images import LabelledImages
from zoo.benchmarks.zero_shot.tars import SHARDS, tars

SPLITS = ("test", "val", "validation")


def read_labelled(folder: Path, source: str) -> LabelledImages | None:
    """Reads a folder of labelled images.

    Args:
        folder: The folder. If it has a folder test, val or validation, the first of these is read.
        source: The source of the images' references, if they are files.

    Returns:
        The images, None if there are none.

    Raises:
        ZooError: A file is invalid.
    """
    split_folder = next((folder / name for name in SPLITS if (folder / name).is_dir()), folder)
    if (split_folder / SHARDS).is_file():
        return tars(folder, split_folder)
    if (split_folder / STATE).is_file():
        return read_saved_dataset(split_folder)
    tables = parquet_files(split_folder)
    return parquet(folder, tables) if tables else read_image_folder(split_folder, source)
