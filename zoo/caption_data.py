"""`CaptionData`, the base class of training data.

Any other LightningDataModule whose loaders yield `Batch` can be trained on too, without the checks.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Protocol

import torch
from lightning import LightningDataModule, Trainer

from zoo.backbones.backbone import Backbone
from zoo.heads.base import Head
from zoo.needs import Capabilities


class Scalars(Protocol):
    """Benchmark results that a run logs."""

    def scalars(self) -> dict[str, float]:
        """Returns the metrics by the names under which they are logged."""


class Benchmarks(Protocol):
    """Benchmarks that run during validation, such as `zoo.evaluation.Evaluation`.

    Attributes:
        out: Folder of results, None if none are written.
        overwrite: Whether existing results in it may be overwritten.
    """

    out: Path | None
    overwrite: bool

    def prepare(self) -> None:
        """Reads the benchmarks and finds their images, once."""

    def check_output_folder(self) -> None:
        """Raises ZooError if results of another run would be overwritten."""

    def start(self, backbone: Backbone, head: Head, about: dict[str, Any]) -> None:
        """Starts a run on a model; `about` is its description."""

    def step(self, backbone: Backbone, head: Head, batch: Any) -> None:
        """Processes a batch of the benchmarks' loaders."""

    def finish(self, backbone: Backbone, head: Head, about: dict[str, Any]) -> Scalars:
        """Ends the run and returns its results, with `about` as the model's description."""
        ...


class BenchmarkedData(LightningDataModule):
    """Data that may include benchmarks.

    Attributes:
        evaluation: The benchmarks, whose loaders follow that of the validation loss.
    """

    evaluation: Benchmarks | None = None

    def transfer_batch_to_device(
        self, batch: Any, device: torch.device, dataloader_idx: int
    ) -> Any:
        """Copies a batch to the device; to a GPU, while that still computes the step before.

        Lightning waits for the copy of anything but a tensor.
        """
        if device.type == "cuda" and callable(getattr(batch, "to", None)):
            return batch.to(device, non_blocking=True)
        return super().transfer_batch_to_device(batch, device, dataloader_idx)

    def check_files(self) -> None:
        """Checks that the needed files exist, before a model is built.

        Raises:
            ZooError: A file is missing.
        """
        if self.evaluation is not None:
            self.evaluation.prepare()


class CaptionData(BenchmarkedData, ABC):
    """Base class of datamodules whose loaders yield `Batch` and that declare its content."""

    @property
    @abstractmethod
    def provides(self) -> Capabilities:
        """What the batches contain, known before files are read."""

    @property
    @abstractmethod
    def validates(self) -> bool:
        """Whether there are captions for a validation loss."""

    @abstractmethod
    def check_devices(self, world: int) -> None:
        """Checks that batches can be split over a number of devices.

        Args:
            world: The number of devices.

        Raises:
            ZooError: The batch size does not allow it.
        """

    @abstractmethod
    def trained_images(self) -> list[str]:
        """Returns the references of the training images as strings."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Returns the description of the data in checkpoints and results, as plain values."""


def benchmarks_of(data: object) -> Benchmarks | None:
    """Returns the benchmarks of data, None if there are none."""
    return data.evaluation if isinstance(data, BenchmarkedData) else None


def data_name(trainer: Trainer) -> str:
    """Returns the name of a trainer's data for messages."""
    data = data_of(trainer)
    return "the data loader" if data is None else type(data).__name__


def data_of(trainer: Trainer) -> LightningDataModule | None:
    """Returns a trainer's datamodule, None if it was given loaders."""
    return getattr(trainer, "datamodule", None)  # Lightning sets it with the first datamodule
