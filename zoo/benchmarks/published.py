"""PublishedBenchmark, the base class of benchmarks with one annotation file per subset."""

from abc import abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from zoo.benchmarks.annotations import (
    case_count_notes,
    check_subsets,
    check_user_files,
    find_annotation_file,
    unanswerable_note,
    with_user_files,
)
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.benchmarks.parquet_rows import shard_paths
from zoo.benchmarks.roots import make_image_paths_relative


class PublishedBenchmark(Benchmark):
    """Base class of benchmarks that are published as one annotation file per subset.

    Args:
        files: Paths of annotation files, by subset, if they are not the default ones.
        subsets: The chosen subsets; None for all.

    Attributes:
        published: All subsets of the published benchmark.
    """

    published: ClassVar[tuple[Subset, ...]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "published" in vars(cls):
            cls.subset_names = tuple(subset.name for subset in cls.published)

    def __init__(
        self, files: dict[str, str] | None = None, subsets: list[str] | None = None
    ) -> None:
        self.files = check_user_files(self.name, files, self.subset_names)
        self.wanted = check_subsets(self.name, subsets, self.subset_names)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The chosen subsets."""
        selected = (subset for subset in self.published if subset.name in self.wanted)
        return with_user_files(selected, self.files)

    @abstractmethod
    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns the cases of a subset.

        Args:
            path: The annotation file of the subset.
            subset: The name of the subset.

        Raises:
            ZooError: The file is invalid. The error names the file and the entry.
        """

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset, with notes and further files if there are any.

        Args:
            path: The annotation file of the subset.
            subset: The name of the subset.
        """
        cases = list(self.cases(path, subset))
        return Contents(cases, shard_paths(path), [], unanswerable_note(subset, cases))

    def read(self, root: Path) -> Contents:
        """Returns the cases of the subsets whose files exist."""
        contents, counts = Contents([], [], []), []
        for subset in self.subsets:
            path = find_annotation_file(root, subset)
            if path is None:
                contents.missing_subsets.append(subset)
                continue
            subset_contents = self.read_subset(path, subset.name)
            contents.cases.extend(
                make_image_paths_relative(subset_contents.cases, root, path.parent)
            )
            contents.files.extend(subset_contents.files)
            contents.notes.update(subset_contents.notes)
            contents.limits.update(subset_contents.limits)
            counts.append((subset, _count_entries(subset_contents.cases)))
        contents.notes.update(case_count_notes(counts))
        return contents


def _count_entries(cases: list[Case]) -> int:
    """Returns the number of cases, or that of images if the subset is one gallery."""
    return len(cases[0].images) if len(cases) == 1 and cases[0].is_gallery else len(cases)
