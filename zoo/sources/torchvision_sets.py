"""Labelled data sets that torchvision reads from local folders.

Most of torchvision's classes have no public attributes for labels and paths, and reading them image
by image would decode all images. The private attributes used here exist from torchvision 0.22, the
oldest supported version, to 0.29; a test checks the installed version.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from zoo.errors import ZooError

DatasetFunction = Callable[[Any], Sequence[Any]]


def _second(samples: Sequence[tuple[Any, Any]]) -> list[Any]:
    return [label for _, label in samples]


def _caltech_paths(dataset: Any) -> list[Path]:
    folder = Path(dataset.root) / "101_ObjectCategories"
    return [
        folder / dataset.categories[label] / f"image_{number:04d}.jpg"
        for label, number in zip(dataset.y, dataset.index, strict=True)
    ]


def _pcam_labels(dataset: Any) -> Sequence[Any]:
    file = dataset._base_folder / dataset._FILES[dataset._split]["targets"][0]
    with dataset.h5py.File(file) as labels:
        return list(labels["y"][:, 0, 0, 0])


@dataclass(frozen=True)
class TorchvisionSet:
    """How torchvision reads a data set.

    Attributes:
        class_name: Name of the class in `torchvision.datasets`.
        folder: Folder of the data set under the root.
        arguments: Keyword arguments of the class.
        labels: Returns the labels of all images of a data set.
        paths: Returns the paths of all images; None if the images are not in separate files.
        classes: Returns the names of the classes; None if the data set has no names.
    """

    class_name: str
    folder: str
    arguments: dict[str, Any] = field(default_factory=lambda: {"split": "test"})
    labels: DatasetFunction = lambda dataset: dataset._labels
    paths: DatasetFunction | None = lambda dataset: dataset._image_files
    classes: DatasetFunction | None = lambda dataset: dataset.classes

    def load_dataset(self, root: Path) -> Any:
        """Returns torchvision's data set.

        Args:
            root: The parent of the data set's folder.

        Raises:
            ZooError: torchvision cannot read it.
        """
        from torchvision import datasets

        try:
            return getattr(datasets, self.class_name)(str(root), **self.arguments)
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise ZooError(
                f"{root / self.folder} cannot be read by torchvision's {self.class_name} "
                f"({reason}): the files must be arranged as this class downloads them"
            ) from error


_NOT_TRAIN = {"train": False}
_ALL: dict[str, Any] = {}
TORCHVISION_SETS = {
    "caltech101": TorchvisionSet(
        "Caltech101",
        "caltech101",
        _ALL,
        lambda dataset: dataset.y,
        _caltech_paths,
        lambda dataset: dataset.categories,
    ),
    "cars": TorchvisionSet(
        "StanfordCars",
        "stanford_cars",
        labels=lambda dataset: _second(dataset._samples),
        paths=lambda dataset: [path for path, _ in dataset._samples],
    ),
    "cifar10": TorchvisionSet(
        "CIFAR10", "cifar-10-batches-py", _NOT_TRAIN, lambda dataset: dataset.targets, None
    ),
    "cifar100": TorchvisionSet(
        "CIFAR100", "cifar-100-python", _NOT_TRAIN, lambda dataset: dataset.targets, None
    ),
    "country211": TorchvisionSet(
        "Country211",
        "country211",
        labels=lambda dataset: dataset.targets,
        paths=lambda dataset: [path for path, _ in dataset.samples],
        classes=None,
    ),
    "dtd": TorchvisionSet("DTD", "dtd"),
    "eurosat": TorchvisionSet(
        "EuroSAT",
        "eurosat",
        _ALL,
        lambda dataset: dataset.targets,
        lambda dataset: [path for path, _ in dataset.samples],
    ),
    "fer2013": TorchvisionSet(
        "FER2013",
        "fer2013",
        labels=lambda dataset: _second(dataset._samples),
        paths=None,
        classes=None,
    ),
    "fgvc_aircraft": TorchvisionSet("FGVCAircraft", "fgvc-aircraft-2013b"),
    "flowers": TorchvisionSet("Flowers102", "flowers-102"),
    "food101": TorchvisionSet("Food101", "food-101"),
    "gtsrb": TorchvisionSet(
        "GTSRB",
        "gtsrb",
        labels=lambda dataset: _second(dataset._samples),
        paths=lambda dataset: [path for path, _ in dataset._samples],
        classes=None,
    ),
    "mnist": TorchvisionSet("MNIST", "MNIST", _NOT_TRAIN, lambda dataset: dataset.targets, None),
    "pcam": TorchvisionSet("PCAM", "pcam", labels=_pcam_labels, paths=None, classes=None),
    "pets": TorchvisionSet(
        "OxfordIIITPet", "oxford-iiit-pet", paths=lambda dataset: dataset._images
    ),
    "renderedsst2": TorchvisionSet(
        "RenderedSST2",
        "rendered-sst2",
        labels=lambda dataset: _second(dataset._samples),
        paths=lambda dataset: [path for path, _ in dataset._samples],
    ),
    "stl10": TorchvisionSet(
        "STL10", "stl10_binary", labels=lambda dataset: dataset.labels, paths=None
    ),
    "sun397": TorchvisionSet("SUN397", "SUN397", _ALL),
}


class TorchvisionSets:
    """Opens images of torchvision data sets. Each data set is loaded once."""

    def __init__(self) -> None:
        self._datasets: dict[tuple[Path, str], Any] = {}

    def image(self, root: Path, name: str, number: int) -> Image.Image:
        """Returns an image.

        Args:
            root: The root folder for torchvision.
            name: The name of the data set in TORCHVISION_SETS.
            number: The number of the image, from 0.

        Raises:
            ZooError: torchvision cannot read the data set.
        """
        if (root, name) not in self._datasets:
            self._datasets[root, name] = TORCHVISION_SETS[name].load_dataset(root)
        image: Image.Image = self._datasets[root, name][number][0]
        return image
