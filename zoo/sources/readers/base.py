"""Reader: turns a file of captions into samples."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.sources.sample import Sample
from zoo.support.spec import Configurable


class Reader(Configurable, ABC):
    """Base of readers.

    The constructor keeps paths and choices. Nothing is opened before `samples`. Its first argument
    is the file or folder that is read; the commands that are given one put it there.

    Whoever wants samples asks `read`, or `each` where they are too many to be held at once.
    """

    @abstractmethod
    def samples(self) -> Iterable[Sample]:
        """Yields the samples in file order, or returns a list of them.

        Raises:
            ZooError: The files are wrong; the sentence names file, line and field.
        """

    def checked_samples(self) -> Iterator[Sample]:
        """Yields what `samples` gives, each once it is known to be a sample.

        Raises:
            ZooError: It is none.
        """
        found: object = self.samples()
        for other in found if isinstance(found, Iterable) else [found]:
            if not isinstance(other, Sample):
                raise ZooError(
                    f"{type(self).__name__}.samples() gave {other!r:.80}: a reader yields "
                    "zoo.sources.Sample, one a caption"
                )
            yield other

    def read(self) -> list[Sample]:
        """Returns a list of what `each` yields.

        Raises:
            ZooError: The files are wrong, or something is no sample.
        """
        return list(self.checked_samples())

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that were read. Checkpoints and results keep their hashes."""
        return ()

    def all_splits(self) -> "Reader":
        """Returns a reader of all splits that the files hold; itself where there are none."""
        return self
