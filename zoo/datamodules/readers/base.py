"""Reader: turns a file of captions into samples."""

from abc import ABC, abstractmethod

from zoo.datamodules.sample import Sample
from zoo.recorded import Recorded


class Reader(Recorded, ABC):
    """Base of readers. The constructor keeps paths and choices; nothing is opened before `samples`."""

    @abstractmethod
    def samples(self) -> list[Sample]:
        """Returns the samples in file order; raises ZooError that names file, line and field of what is wrong."""
