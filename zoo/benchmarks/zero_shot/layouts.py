"""Reading of labelled images from a folder, whose layout is detected from its files."""

from pathlib import Path

from zoo.benchmarks.zero_shot.hub_rows import (
    STATE,
    evaluation_parquet_files,
    read_parquet,
    read_saved_dataset,
)
from zoo.benchmarks.zero_shot.image_folder import read_image_folder
from zoo.benchmarks.zero_shot.labelled_images import LabelledImages, single_labels
from zoo.benchmarks.zero_shot.tars import SHARDS, read_tars
from zoo.sources.sample import ImageRef
from zoo.sources.torchvision_sets import TORCHVISION_SETS

TORCHVISION = "torchvision"
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
        return read_tars(folder, split_folder)
    if (split_folder / STATE).is_file():
        return read_saved_dataset(split_folder)
    tables = evaluation_parquet_files(split_folder)
    return read_parquet(folder, tables) if tables else read_image_folder(split_folder, source)


def load_labelled_images(name: str, folder: Path, root: Path) -> LabelledImages | None:
    """Reads the images of a set.

    Args:
        name: Name of the set.
        folder: The folder of the set, in any layout.
        root: The data root; its folder `torchvision`, with torchvision's downloads, is read if
            the folder of the set has no images.

    Returns:
        The images, None if there are none.

    Raises:
        ZooError: A file is invalid.
    """
    images = read_labelled(folder, "published") if folder.is_dir() else None
    return images or _torchvision_images(name, root / TORCHVISION)


def _torchvision_images(name: str, folder: Path) -> LabelledImages | None:
    torchvision_set = TORCHVISION_SETS.get(name)
    if torchvision_set is None or not (folder / torchvision_set.folder).is_dir():
        return None
    dataset = torchvision_set.load_dataset(folder)
    labels = single_labels(torchvision_set.labels(dataset))
    classes = tuple(map(str, torchvision_set.classes(dataset))) if torchvision_set.classes else ()
    images = (
        (ImageRef("torchvision", f"{folder}#{name}/{i}") for i in range(len(labels)))
        if torchvision_set.paths is None
        else (ImageRef("published", str(path)) for path in torchvision_set.paths(dataset))
    )
    n = len(classes) or None
    return LabelledImages(folder / torchvision_set.folder, tuple(images), labels, classes, n)
