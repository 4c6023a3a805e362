"""Where the images of a published set lie, and how they are read."""

from pathlib import Path

from zoo.benchmarks.zero_shot.labelled import Labelled, numbered_labels
from zoo.benchmarks.zero_shot.layouts import read_labelled
from zoo.sources.sample import ImageRef
from zoo.sources.torchvision_sets import TORCHVISION_SETS

TORCHVISION = "torchvision"


def of_set(name: str, folder: Path, root: Path) -> Labelled | None:
    """Reads the images of a set.

    Args:
        name: Name of the set.
        folder: Its own folder, in any layout.
        root: The data root, whose folder `torchvision` holds what torchvision downloaded; that is
            read where the own folder has no images.

    Returns:
        The images, None where there are none.

    Raises:
        ZooError: What is there is broken.
    """
    found = read_labelled(folder, "published") if folder.is_dir() else None
    return found or _by_torchvision(name, root / TORCHVISION)


def _by_torchvision(name: str, folder: Path) -> Labelled | None:
    known = TORCHVISION_SETS.get(name)
    if known is None or not (folder / known.folder).is_dir():
        return None
    made = known.load_dataset(folder)
    labels = numbered_labels(known.labels(made))
    classes = tuple(map(str, known.classes(made))) if known.classes else ()
    images = (
        (ImageRef("torchvision", f"{folder}#{name}/{i}") for i in range(len(labels)))
        if known.paths is None
        else (ImageRef("published", str(path)) for path in known.paths(made))
    )
    n = len(classes) or None
    return Labelled(folder / known.folder, tuple(images), labels, classes, n)
