"""A folder of images for each class, as torchvision's ImageFolder reads it."""

from collections.abc import Iterable
from pathlib import Path

from zoo.benchmarks.zero_shot.labelled import Labelled
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef

SUFFIXES = frozenset(
    (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".ppm", ".pgm", ".tif", ".tiff", ".gif")
)


def image_folder(folder: Path, source: str) -> Labelled | None:
    """Reads a folder whose folders are classes.

    Classes stand in the order of their names, or of their numbers where all names are numbers, as
    in ImageNet-V2.

    Args:
        folder: The folder.
        source: The source of the images' references.

    Returns:
        The images, None where the folder has no folder.

    Raises:
        ZooError: A class has no image.
    """
    classes = _sort_folders(path for path in folder.iterdir() if _is_class(path))
    images, labels = [], []
    for label, of_class in enumerate(classes):
        found = sorted(path for path in of_class.rglob("*") if path.suffix.lower() in SUFFIXES)
        if not found:
            raise ZooError(
                f"{of_class} has no image: put the images of the class there, or take it away"
            )
        images += [ImageRef(source, str(path)) for path in found]
        labels += [(label,)] * len(found)
    if not classes:
        return None
    names = tuple(path.name for path in classes)
    return Labelled(folder, tuple(images), tuple(labels), names, len(classes))


def _is_class(path: Path) -> bool:
    return path.is_dir() and not path.name.startswith((".", "__"))


def _sort_folders(folders: Iterable[Path]) -> list[Path]:
    by_name = sorted(folders)
    if all(path.name.isdecimal() for path in by_name):
        return sorted(by_name, key=lambda path: int(path.name))
    return by_name
