"""CaptionData: what module, trainer and command line ask of the data.

Any other LightningDataModule whose loaders yield `Batch` trains as well, and is asked nothing.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Protocol

from lightning import LightningDataModule, Trainer

from zoo.backbones.backbone import Backbone
from zoo.heads.base import Head
from zoo.needs import Capabilities


class Scalars(Protocol):
    """What benchmarks found, as far as a run logs it."""

    def scalars(self) -> dict[str, float]:
        """Returns the metrics by the names that they are logged under."""


class Benchmarks(Protocol):
    """Benchmarks that run with a validation, as `zoo.evaluation.Evaluation` does.

    Attributes:
        out: Folder of results, None where none are written.
        overwrite: Whether results that lie there may be lost.
    """

    out: Path | None
    overwrite: bool

    def prepare(self) -> None:
        """Reads the benchmarks and finds their images, once."""

    def check_out(self) -> None:
        """Makes sure that no results of another run will be lost."""

    def start(self, backbone: Backbone, head: Head, about: dict[str, Any]) -> None:
        """Begins a run on a model, of which `about` says what is known."""

    def step(self, backbone: Backbone, head: Head, portion: Any) -> None:
        """Takes a batch of the loaders that it gave to the datamodule."""

    def finish(self, backbone: Backbone, head: Head, about: dict[str, Any]) -> Scalars:
        """Ends the run, with what results say of the model."""
        ...


class BenchmarkedData(LightningDataModule):
    """Data that may bring benchmarks.

    Attributes:
        evaluation: The benchmarks, whose loaders stand behind that of the validation loss.
    """

    evaluation: Benchmarks | None = None

    def check_files(self) -> None:
        """Looks for the files that are needed, before a model is built.

        Raises:
            ZooError: Some of them are not there.
        """
        if self.evaluation is not None:
            self.evaluation.prepare()


class CaptionData(BenchmarkedData, ABC):
    """Base of datamodules whose loaders yield `Batch` and that say what it holds."""

    @property
    @abstractmethod
    def provides(self) -> Capabilities:
        """What the batches hold, known before files are read."""

    @property
    @abstractmethod
    def validates(self) -> bool:
        """Whether there are captions for a validation loss."""

    @abstractmethod
    def check_devices(self, world: int) -> None:
        """Checks that batches can be dealt to a number of devices.

        Args:
            world: The number.

        Raises:
            ZooError: They cannot.
        """

    @abstractmethod
    def trained_images(self) -> list[str]:
        """Returns the training images, as references in text."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Returns what checkpoints and results keep of the data, as plain values."""


def benchmarks_of(data: object) -> Benchmarks | None:
    """Returns the benchmarks that data bring, None where there are none."""
    return data.evaluation if isinstance(data, BenchmarkedData) else None


def data_name(trainer: Trainer) -> str:
    """Returns what the data of a trainer are called in messages."""
    data = data_of(trainer)
    return "the data loader" if data is None else type(data).__name__


def data_of(trainer: Trainer) -> LightningDataModule | None:
    """Returns a trainer's datamodule, None where it was given loaders."""
    return getattr(trainer, "datamodule", None)  # Lightning sets it with the first datamodule
