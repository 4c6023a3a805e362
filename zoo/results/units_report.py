"""What is in a units file, or in two of the same captions: numbers, samples, and a page of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import TypeVar

from zoo.results.pages import check_some, mark_words, render_page, thumbnails
from zoo.results.tables import TextTable
from zoo.results.unit_tables import counts_table, overlap_table
from zoo.sources.images import ImageFinder
from zoo.units.counts import Counts
from zoo.units.extraction import kept_counts
from zoo.units.overlap import RULE, Disagreement, UnitOverlap, overlap
from zoo.units.reader import read_units
from zoo.units.record import UnitRecord

PAGE = "units.html"
Drawn = TypeVar("Drawn")


@dataclass(frozen=True)
class UnitsFile:
    """A units file, read.

    Attributes:
        name: What the report calls it.
        records: Its records by caption id.
        counts: What is in it, and what its extractor dropped where that is known.
        knows_dropped: Whether it is known.
    """

    name: str
    records: Mapping[str, UnitRecord]
    counts: Counts
    knows_dropped: bool

    @property
    def description(self) -> str:
        """What made the units, in a line."""
        sources = {
            ", ".join(f"{name} {value}" for name, value in record.source.items() if name != "error")
            for record in self.records.values()
        }
        return "; ".join(sorted(filter(None, sources))) or "not said"


@dataclass(frozen=True)
class UnitsReport:
    """What is in one file or two.

    Attributes:
        files: The files.
        n: How many captions are shown of each kind of sample.
        seed: Settles which.
    """

    files: Sequence[UnitsFile]
    n: int
    seed: int

    @property
    def counts(self) -> TextTable:
        """The shares by kind of each file, and what was dropped by reason."""
        return counts_table({file.name: file.counts for file in self.files})

    @property
    def notes(self) -> list[str]:
        """What has to be known besides the numbers, in sentences."""
        return [
            f"What was dropped of {file.name} is not known: `zoo units extract` keeps that beside "
            "the files that it writes."
            for file in self.files
            if not file.knows_dropped
        ]

    @cached_property
    def overlap(self) -> UnitOverlap | None:
        """What two files share, None where there is one.

        Raises:
            ZooError: They have no caption in common.
        """
        if len(self.files) == 1:
            return None
        first, second = self.files
        return overlap(first.records, second.records)

    def shared_table(self) -> TextTable:
        """Returns what two files share, by kind."""
        assert self.overlap is not None
        return overlap_table(self.overlap, *(file.name for file in self.files))

    def describe_comparison(self) -> str:
        """Returns of which captions units were compared, in a sentence."""
        found = self.overlap
        assert found is not None
        first, second = (file.name for file in self.files)
        other = (
            f"; {found.other_text:,} have another text under the same id and were not compared"
            if found.other_text
            else ""
        )
        return (
            f"{found.captions:,} captions are in both, {found.first:,} in {first} alone and "
            f"{found.second:,} in {second} alone{other}. Units differ in "
            f"{len(found.disagreements):,}."
        )

    @cached_property
    def disagreements(self) -> list[Disagreement]:
        """Captions with a unit in one of two files alone, drawn by seed."""
        return [] if self.overlap is None else self._draw_samples(self.overlap.disagreements)

    @cached_property
    def samples(self) -> dict[str, list[UnitRecord]]:
        """Records of each file, drawn by seed."""
        return {file.name: self._draw_samples(list(file.records.values())) for file in self.files}

    def page(self, finder: ImageFinder, must_find: bool) -> str:
        """Returns the report as HTML.

        Args:
            finder: Finds the images.
            must_find: Whether it is an error that not one image is found; else the page is without
                images then.

        Raises:
            ZooError: It is one, or the files have no caption in common.
        """
        records = [found.record for found in self.disagreements]
        records += [record for drawn in self.samples.values() for record in drawn]
        images = thumbnails((record.image_id for record in records), finder)
        if must_find:
            check_some(images, finder, f"{len(records):,} captions that are shown")
        two = self.overlap is not None
        return render_page(
            PAGE,
            made={file.name: file.description for file in self.files},
            names=[file.name for file in self.files],
            counts=self.counts,
            notes=self.notes,
            rule=RULE,
            shared=self.shared_table() if two else None,
            compared=self.describe_comparison() if two else "",
            disagreements=self.disagreements,
            samples=self.samples,
            images=images if any(images.values()) else {},
            marked=mark_words,
        )

    def _draw_samples(self, drawn_from: list[Drawn]) -> list[Drawn]:
        return Random(self.seed).sample(drawn_from, min(self.n, len(drawn_from)))


def read_report(paths: Sequence[Path], n: int, seed: int) -> UnitsReport:
    """Reads one units file or two.

    Args:
        paths: The files, or folders of them.
        n: How many captions are shown of each kind of sample.
        seed: Settles which.

    Raises:
        ZooError: A file cannot be read or is wrong somewhere.
    """
    names = [path.name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return UnitsReport([_read(*named) for named in zip(paths, names, strict=True)], n, seed)


def _read(path: Path, name: str) -> UnitsFile:
    records = read_units(path)
    counts, kept = Counts(), kept_counts(path)
    for _ in counts.count_records(records.values()):
        pass
    # what was kept may be of a file that has been changed since
    known = kept is not None and kept.holds(counts)
    dropped = kept.dropped if kept is not None and known else counts.dropped
    return UnitsFile(name, records, replace(counts, dropped=dropped), known)
