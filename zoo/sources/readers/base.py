"""Reader: turns a file of captions into samples."""

from abc import ABC, abstractmethod
from pathlib import Path

from zoo.sources.sample import Sample
from zoo.support.spec import Recorded


class Reader(Recorded, ABC):
    """Base of readers.

    The constructor keeps paths and choices. Nothing is opened before `samples`.
    """

    @abstractmethod
    def samples(self) -> list[Sample]:
        """Returns the samples in file order.

        Raises:
            ZooError: The files are wrong; the sentence names file, line and field.
        """

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read. Checkpoints and results keep their hashes."""
        return ()

    def whole(self) -> "Reader":
        """Returns a reader of all splits that the files hold; itself where there are none."""
        return self
