"""Folders of images, one per class, as in torchvision's ImageFolder."""

from collections.abc import Iterable
from pathlib import Path

from zoo.benchmarks.zero_shot.labelled_images import LabelledImages
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef

SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".gif")
)


def read_image_folder(folder: Path, source: str) -> LabelledImages | None:
    """Reads a folder that has one folder per class.

    Classes are sorted by name, or by number if all names are numbers, as in ImageNet-V2.

    Args:
        folder: The folder.
        source: The source of the images' references.

    Returns:
        The images, None without class folders.

    Raises:
        ZooError: A class has no image.
    """
    classes = _sort_folders(path for path in folder.iterdir() if _is_class(path))
    images, labels = [], []
    for label, class_folder in enumerate(classes):
        paths = sorted(path for path in class_folder.rglob("*") if path.suffix.lower() in SUFFIXES)
        if not paths:
            raise ZooError(
                f"{class_folder} has no image: add images of the class, or delete the folder"
            )
        images += [ImageRef(source, str(path)) for path in paths]
        labels += [(label,)] * len(paths)
    if not classes:
        return None
    names = tuple(path.name for path in classes)
    return LabelledImages(folder, tuple(images), tuple(labels), names, len(classes))


def _is_class(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith((".", "__"))


def _sort_folders(folders: Iterable[Path]) -> list[Path]:
    by_name = sorted(folders)
    if all(path.name.isdecimal() for path in by_name):
        return sorted(by_name, key=lambda path: int(path.name))
    return by_name
