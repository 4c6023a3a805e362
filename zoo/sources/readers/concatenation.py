"""The captions of several readers, one reader after the other."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from zoo.errors import ZooError
from zoo.sources.readers.base import Reader
from zoo.sources.sample import Sample


class Concatenation(Reader):
    """Reads the captions of several readers, one reader after the other.

    If `data.train` or `data.val` is a list of readers, this class reads it.

    Args:
        readers: The readers.

    Raises:
        ZooError: `readers` is a path, or an empty list.
    """

    def __init__(self, readers: list[Reader]) -> None:
        # a command that reads one file builds the class of its --reader with the file's path
        if isinstance(readers, str | Path):
            raise ZooError(
                f"Concatenation reads a list of readers, and {readers} is one path: choose the "
                "reader of its format (zoo ls readers), or leave --reader out"
            )
        if not readers:
            raise ZooError("a list of readers is empty: give at least one reader of captions")
        self.readers = list(readers)

    @property
    def parts(self) -> tuple[Reader, ...]:
        """The readers; a nested concatenation is replaced by its own readers."""
        return tuple(part for reader in self.readers for part in reader.parts)

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of all readers, without duplicates."""
        return tuple(dict.fromkeys(file for reader in self.readers for file in reader.files))

    def all_splits(self) -> Reader:
        """Returns a reader of all splits of the files of all readers."""
        return Concatenation([reader.all_splits() for reader in self.readers])

    def samples(self) -> Iterator[Sample]:
        """Yields the samples of each reader, one reader after the other.

        `Sample.companions` are then row numbers over all readers.
        """
        start = 0
        for reader in self.parts:
            n_samples = 0
            for sample in reader.checked_samples():
                n_samples += 1
                companions = tuple(companion + start for companion in sample.companions)
                yield replace(sample, companions=companions)
            start += n_samples
