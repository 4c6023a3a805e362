"""Reader: turns a file of captions into samples."""

from abc import ABC, abstractmethod
from pathlib import Path

from zoo.errors import ZooError
from zoo.sources.sample import Sample
from zoo.support.spec import Recorded


class Reader(Recorded, ABC):
    """Base of readers.

    The constructor keeps paths and choices. Nothing is opened before `samples`. Its first argument
    is the file or folder that is read; the commands that are given one put it there.
    """

    @abstractmethod
    def samples(self) -> list[Sample]:
        """Returns the samples in file order.

        Raises:
            ZooError: The files are wrong; the sentence names file, line and field.
        """

    def read(self) -> list[Sample]:
        """Returns what `samples` gives, once it is known to be samples.

        Raises:
            ZooError: It is none.
        """
        found = self.samples()
        listed: list[object] = [*found] if isinstance(found, list) else [found]
        for other in listed:
            if not isinstance(other, Sample):
                raise ZooError(
                    f"{type(self).__name__}.samples() gave {other!r:.80}: a reader returns a list "
                    "of zoo.sources.Sample, one a caption"
                )
        return found

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read. Checkpoints and results keep their hashes."""
        return ()

    def whole(self) -> "Reader":
        """Returns a reader of all splits that the files hold; itself where there are none."""
        return self
