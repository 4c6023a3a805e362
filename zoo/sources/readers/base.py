"""Reader: base class for reading samples from a file of captions."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path

from zoo.errors import ZooError
from zoo.sources.sample import Sample
from zoo.support.configurable import Configurable


class Reader(Configurable, ABC):
    """Base class of readers.

    The constructor only stores its arguments; `samples` opens the files. The constructor's first
    argument is the file or folder to read, which commands pass by position.

    Call `read` for a list of all samples, or `checked_samples` to iterate over them.
    """

    @abstractmethod
    def samples(self) -> Iterable[Sample]:
        """Yields the samples in file order, or returns a list of them.

        Raises:
            ZooError: The files are invalid; the message names file, line and field.
        """

    def checked_samples(self) -> Iterator[Sample]:
        """Yields what `samples` yields, after checking the type of each item.

        Raises:
            ZooError: An item is not a `Sample`.
        """
        samples_given: object = self.samples()
        for sample in samples_given if isinstance(samples_given, Iterable) else [samples_given]:
            if not isinstance(sample, Sample):
                raise ZooError(
                    f"{type(self).__name__}.samples() returned {sample!r:.80}: a reader must "
                    "yield one zoo.sources.Sample per caption"
                )
            yield sample

    def read(self) -> list[Sample]:
        """Returns the samples of `checked_samples` as a list.

        Raises:
            ZooError: The files are invalid, or an item is not a `Sample`.
        """
        return list(self.checked_samples())

    @property
    def files(self) -> tuple[Path, ...]:
        """The files to read. Checkpoints and results record their hashes."""
        return ()

    @property
    def negatives_hint(self) -> str:
        """Advice on how to add negatives to the files; empty if the format cannot have any.

        An error message gives this advice if the files have no negatives.
        """
        return ""

    @property
    def parts(self) -> "tuple[Reader, ...]":
        """The readers that this reader concatenates, or only itself."""
        return (self,)

    def all_splits(self) -> "Reader":
        """Returns a reader of all splits of the files, or this reader for files without splits."""
        return self
