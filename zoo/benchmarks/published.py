"""PublishedBenchmark: what benchmarks have in common that come as a file for each subset."""

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from zoo.benchmarks.annotations import (
    check_subsets,
    count_notes,
    identical_note,
    locate,
    overridden,
    overrides,
)
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.benchmarks.parquet import shards
from zoo.benchmarks.roots import cases_from_root


class PublishedBenchmark(Benchmark):
    """Base of benchmarks that are published as an annotation file for each subset.

    Args:
        files: Other places of the annotations, by subset.
        subsets: The subsets wanted, None for all.

    Attributes:
        published: The subsets as published.
    """

    published: ClassVar[tuple[Subset, ...]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "published" in vars(cls):
            cls.offers = tuple(subset.name for subset in cls.published)

    def __init__(
        self, files: dict[str, str] | None = None, subsets: list[str] | None = None
    ) -> None:
        self.files = overrides(self.name, files, self.offers)
        self.wanted = check_subsets(self.name, subsets, self.offers)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The subsets asked for."""
        wanted = (subset for subset in self.published if subset.name in self.wanted)
        return overridden(wanted, self.files)

    @abstractmethod
    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns the cases of a subset.

        Args:
            path: Its annotation file.
            subset: Its name.

        Raises:
            ZooError: The file is wrong. The error names file and entry.
        """

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset, with notes and further files where there are any.

        Args:
            path: Its annotation file.
            subset: Its name.
        """
        cases = list(self.cases(path, subset))
        return Contents(cases, shards(path), [], identical_note(subset, cases))

    def read(self, root: Path) -> Contents:
        """Returns the cases of the subsets whose files are there."""
        contents, counts = Contents([], [], []), []
        for subset in self.subsets:
            path = locate(root, subset)
            if path is None:
                contents.absent.append(subset)
                continue
            found = self.read_subset(path, subset.name)
            contents.cases.extend(cases_from_root(found.cases, root, path.parent))
            contents.files.extend(found.files)
            contents.notes.update(found.notes)
            contents.limits.update(found.limits)
            counts.append((subset, len(found.cases)))
        contents.notes.update(count_notes(counts))
        return contents
