"""Labelled data sets that torchvision reads, from folders that are there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from zoo.errors import ZooError

Made = Callable[[Any], Sequence[Any]]


def _second(samples: Sequence[tuple[Any, Any]]) -> list[Any]:
    return [label for _, label in samples]


def _caltech_paths(made: Any) -> list[Path]:
    folder = Path(made.root) / "101_ObjectCategories"
    return [
        folder / made.categories[label] / f"image_{number:04d}.jpg"
        for label, number in zip(made.y, made.index, strict=True)
    ]


def _pcam_labels(made: Any) -> Sequence[Any]:
    file = made._base_folder / made._FILES[made._split]["targets"][0]
    with made.h5py.File(file) as labels:
        return list(labels["y"][:, 0, 0, 0])


@dataclass(frozen=True)
class TorchvisionSet:
    """How torchvision reads a data set.

    Attributes:
        made_by: Name of its class.
        folder: Its folder under the root that the class is given.
        asked: What the class is asked for.
        labels: From the data set to the label of each image.
        paths: From the data set to the path of each image; None where images lie in no files of
            their own.
        classes: From the data set to the names of its classes; None where it has none.
    """

    made_by: str
    folder: str
    asked: dict[str, Any] = field(default_factory=lambda: {"split": "test"})
    labels: Made = lambda made: made._labels
    paths: Made | None = lambda made: made._image_files
    classes: Made | None = lambda made: made.classes

    def load_dataset(self, root: Path) -> Any:
        """Returns torchvision's data set.

        Args:
            root: The folder that its folder lies in.

        Raises:
            ZooError: torchvision cannot read it.
        """
        from torchvision import datasets

        try:
            return getattr(datasets, self.made_by)(str(root), **self.asked)
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ZooError(
                f"{root / self.folder} cannot be read by torchvision's {self.made_by} ({reason}): "
                "put the files there as that class downloads them"
            ) from error


_NOT_TRAIN = {"train": False}
_ALL: dict[str, Any] = {}
TORCHVISION_SETS = {
    "caltech101": TorchvisionSet(
        "Caltech101",
        "caltech101",
        _ALL,
        lambda made: made.y,
        _caltech_paths,
        lambda made: made.categories,
    ),
    "cars": TorchvisionSet(
        "StanfordCars",
        "stanford_cars",
        labels=lambda made: _second(made._samples),
        paths=lambda made: [path for path, _ in made._samples],
    ),
    "cifar10": TorchvisionSet(
        "CIFAR10", "cifar-10-batches-py", _NOT_TRAIN, lambda made: made.targets, None
    ),
    "cifar100": TorchvisionSet(
        "CIFAR100", "cifar-100-python", _NOT_TRAIN, lambda made: made.targets, None
    ),
    "country211": TorchvisionSet(
        "Country211",
        "country211",
        labels=lambda made: made.targets,
        paths=lambda made: [path for path, _ in made.samples],
        classes=None,
    ),
    "dtd": TorchvisionSet("DTD", "dtd"),
    "eurosat": TorchvisionSet(
        "EuroSAT",
        "eurosat",
        _ALL,
        lambda made: made.targets,
        lambda made: [path for path, _ in made.samples],
    ),
    "fer2013": TorchvisionSet(
        "FER2013", "fer2013", labels=lambda made: _second(made._samples), paths=None, classes=None
    ),
    "fgvc_aircraft": TorchvisionSet("FGVCAircraft", "fgvc-aircraft-2013b"),
    "flowers": TorchvisionSet("Flowers102", "flowers-102"),
    "food101": TorchvisionSet("Food101", "food-101"),
    "gtsrb": TorchvisionSet(
        "GTSRB",
        "gtsrb",
        labels=lambda made: _second(made._samples),
        paths=lambda made: [path for path, _ in made._samples],
        classes=None,
    ),
    "mnist": TorchvisionSet("MNIST", "MNIST", _NOT_TRAIN, lambda made: made.targets, None),
    "pcam": TorchvisionSet("PCAM", "pcam", labels=_pcam_labels, paths=None, classes=None),
    "pets": TorchvisionSet("OxfordIIITPet", "oxford-iiit-pet", paths=lambda made: made._images),
    "renderedsst2": TorchvisionSet(
        "RenderedSST2",
        "rendered-sst2",
        labels=lambda made: _second(made._samples),
        paths=lambda made: [path for path, _ in made._samples],
    ),
    "stl10": TorchvisionSet("STL10", "stl10_binary", labels=lambda made: made.labels, paths=None),
    "sun397": TorchvisionSet("SUN397", "SUN397", _ALL),
}


class TorchvisionSets:
    """Opens images of data sets that hold many in one file; each is read once."""

    def __init__(self) -> None:
        self._made: dict[tuple[Path, str], Any] = {}

    def image(self, root: Path, name: str, number: int) -> Image.Image:
        """Returns an image.

        Args:
            root: The folder that torchvision is given.
            name: The name of the data set in TORCHVISION_SETS.
            number: The number of the image, from 0.

        Raises:
            ZooError: torchvision cannot read the data set.
        """
        if (root, name) not in self._made:
            self._made[root, name] = TORCHVISION_SETS[name].load_dataset(root)
        image: Image.Image = self._made[root, name][number][0]
        return image
