"""Report on one units file, or on two files of the same captions: tables, samples and a page."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from typing import TypeVar

from zoo.benchmarks.half_truth.rules import CONDITIONS, ENTITY_CONDITIONS, condition_of
from zoo.results.html_pages import mark_words, render_page, require_any_image, thumbnail_uris
from zoo.results.statistics import wilson
from zoo.results.tables import TextTable
from zoo.sources.images import ImageFinder
from zoo.units.blind_scores import BlindScore, UnitAndFoil, blind_scores
from zoo.units.counts import KINDS, Counts, captions_with_foil_key
from zoo.units.extraction import total_stored_counts
from zoo.units.overlap import RULE, Disagreement, UnitOverlap, compare_units
from zoo.units.reader import read_units
from zoo.units.record import UnitRecord

PAGE = "units.html"
BLIND_NOTE = (
    "Blind score: the accuracy of a model that reads only the texts and chooses between a unit and "
    "its foil, by condition of half-truths. It is trained on other images of the same file; 50 % "
    "is chance."
)
Item = TypeVar("Item")


@dataclass(frozen=True)
class UnitsFile:
    """The content of a units file.

    Attributes:
        name: Name of the file in the report.
        records: Its records by caption id.
        counts: Counts of its units, and of items dropped by the extractor if known.
        knows_dropped: Whether the dropped items are known.
    """

    name: str
    records: Mapping[str, UnitRecord]
    counts: Counts
    knows_dropped: bool

    @property
    def description(self) -> str:
        """The source of the units, in one line."""
        sources = {
            ", ".join(f"{name} {value}" for name, value in record.source.items() if name != "error")
            for record in self.records.values()
        }
        return "; ".join(sorted(filter(None, sources))) or "unknown source"


@dataclass(frozen=True)
class UnitsReport:
    """A report on one or two units files.

    Attributes:
        files: The files.
        n: Number of captions in each sample.
        seed: Seed of the samples.
    """

    files: Sequence[UnitsFile]
    n: int
    seed: int

    @property
    def kinds_table(self) -> TextTable:
        """The counts of each file by kind, and of dropped items by reason."""
        return counts_table({file.name: file.counts for file in self.files})

    @cached_property
    def blind_table(self) -> TextTable:
        """The blind score of each file by condition of half-truths."""
        return blind_table({file.name: file.records.values() for file in self.files})

    @property
    def notes(self) -> list[str]:
        """Notes on the numbers."""
        return [
            f"The dropped items of {file.name} are unknown: `zoo units extract` records them in a "
            "separate file, which is missing or outdated."
            for file in self.files
            if not file.knows_dropped
        ]

    @cached_property
    def overlap(self) -> UnitOverlap | None:
        """The overlap of two files, None for one file.

        Raises:
            ZooError: The files have no caption in common.
        """
        if len(self.files) == 1:
            return None
        first_file, second_file = self.files
        return compare_units(first_file.records, second_file.records)

    def shared_table(self) -> TextTable:
        """Returns the overlap of two files, by kind."""
        assert self.overlap is not None
        return overlap_table(self.overlap, *(file.name for file in self.files))

    def describe_comparison(self) -> str:
        """Returns a sentence on the captions whose units were compared."""
        comparison = self.overlap
        assert comparison is not None
        first_name, second_name = (file.name for file in self.files)
        changed_note = (
            f"; {comparison.n_different_text:,} have a different text under the same id and were "
            "not "
            "compared"
            if comparison.n_different_text
            else ""
        )
        return (
            f"{comparison.n_compared:,} captions are in both, {comparison.n_first_only:,} only in "
            f"{first_name} and {comparison.n_second_only:,} only in {second_name}{changed_note}. "
            "Units differ in "
            f"{len(comparison.disagreements):,}."
        )

    @cached_property
    def disagreements(self) -> list[Disagreement]:
        """A random sample of captions whose units differ between the two files."""
        return [] if self.overlap is None else self._draw_samples(self.overlap.disagreements)

    @cached_property
    def samples(self) -> dict[str, list[UnitRecord]]:
        """A random sample of the records of each file."""
        return {file.name: self._draw_samples(list(file.records.values())) for file in self.files}

    def page(self, finder: ImageFinder, must_find: bool) -> str:
        """Returns the report as HTML.

        Args:
            finder: Finds the images.
            must_find: Whether to raise an error if no image is found; otherwise the page is written
                without images.

        Raises:
            ZooError: No image is found, or the files have no caption in common.
        """
        records = [disagreement.record for disagreement in self.disagreements]
        records += [record for sample in self.samples.values() for record in sample]
        images = thumbnail_uris((record.image_id for record in records), finder)
        if must_find:
            require_any_image(images, finder, f"{len(records):,} captions on the page")
        has_two_files = self.overlap is not None
        return render_page(
            PAGE,
            sources={file.name: file.description for file in self.files},
            names=[file.name for file in self.files],
            counts=self.kinds_table,
            notes=self.notes,
            blind=self.blind_table,
            blind_note=BLIND_NOTE,
            rule=RULE,
            shared=self.shared_table() if has_two_files else None,
            comparison=self.describe_comparison() if has_two_files else "",
            disagreements=self.disagreements,
            samples=self.samples,
            images=images if any(images.values()) else {},
            marked=mark_words,
        )

    def _draw_samples(self, items: list[Item]) -> list[Item]:
        return Random(self.seed).sample(items, min(self.n, len(items)))


def read_units_report(paths: Sequence[Path], n: int, seed: int) -> UnitsReport:
    """Reads one or two units files.

    Args:
        paths: The files, or folders of them.
        n: Number of captions in each sample.
        seed: Seed of the samples.

    Raises:
        ZooError: A file cannot be read or is not valid.
    """
    names = [path.name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return UnitsReport(
        [_read_units_file(*named) for named in zip(paths, names, strict=True)], n, seed
    )


def _read_units_file(path: Path, name: str) -> UnitsFile:
    records = read_units(path)
    counts, stored = Counts(), total_stored_counts(path)
    for _ in counts.count_records(records.values()):
        pass
    # the stored counts may be outdated
    is_current = stored is not None and stored.equals_except_dropped(counts)
    dropped = stored.dropped if stored is not None and is_current else counts.dropped
    return UnitsFile(name, records, replace(counts, dropped=dropped), is_current)


def counts_table(counts: Mapping[str, Counts]) -> TextTable:
    """Returns a table of counts by kind, and of dropped items by reason.

    Args:
        counts: The counts of each file, by its column name.
    """
    return TextTable(("", *counts), tuple(_count_rows(list(counts.values()))))


def blind_table(records: Mapping[str, Iterable[UnitRecord]]) -> TextTable:
    """Returns a table of how often a model that reads only texts distinguishes units from foils.

    Args:
        records: The records of each file, by its column name.
    """
    scores = {
        name: blind_scores(_pairs_by_condition(unit_records))
        for name, unit_records in records.items()
    }
    rows = [
        (condition, *(_format_score(of_file.get(condition)) for of_file in scores.values()))
        for condition in CONDITIONS
        if any(condition in of_file for of_file in scores.values())
    ]
    return TextTable(("blind score", *scores), tuple(rows))


def _pairs_by_condition(records: Iterable[UnitRecord]) -> dict[str, list[UnitAndFoil]]:
    pairs: dict[str, list[UnitAndFoil]] = {}
    for record in records:
        for entity in record.entities:
            for entity_foil in entity.foils:
                condition = ENTITY_CONDITIONS.get(entity_foil.edit)
                if condition:
                    pair = UnitAndFoil(record.image_id, entity.text, entity_foil.text)
                    pairs.setdefault(condition, []).append(pair)
        for relation in record.relations:
            for foil in relation.foils:
                condition = condition_of(foil)
                if condition:
                    pair = UnitAndFoil(record.image_id, relation.text, foil.text)
                    pairs.setdefault(condition, []).append(pair)
    return pairs


def _format_score(score: BlindScore | None) -> str:
    if score is None:
        return "-"
    low, high = wilson(round(score.accuracy * score.n), score.n)
    return f"{score.accuracy:.1%} ({low:.1%} to {high:.1%}, {score.n:,} pairs)"


def _count_rows(counts: Sequence[Counts]) -> Iterator[tuple[str, ...]]:
    yield "captions", *(f"{c.captions:,}" for c in counts)
    for kind in KINDS:
        for label in (kind, captions_with_foil_key(kind)):
            yield (
                f"captions with {label}",
                *(_with_share(c.captions_with[label], c.captions) for c in counts),
            )
        yield kind, *(_per_caption(c.units[kind], c) for c in counts)
    for edit in _names_by_frequency([c.foils for c in counts]):
        yield f"foils: {edit}", *(_per_caption(c.foils[edit], c) for c in counts)
    if any(c.failed for c in counts):
        yield "captions with an error", *(_with_share(c.failed, c.captions) for c in counts)
    for reason in _names_by_frequency([c.dropped for c in counts]):
        yield f"dropped: {reason}", *(f"{c.dropped[reason]:,}" for c in counts)


def _names_by_frequency(counts_by_file: Sequence[Mapping[str, int]]) -> list[str]:
    """Returns all names that were counted, the most frequent first."""
    totals = Counter[str]()
    for file_counts in counts_by_file:
        totals.update(file_counts)
    return sorted(totals, key=lambda name: (-totals[name], name))


def _per_caption(n: int, counts: Counts) -> str:
    return f"{n:,} ({n / max(counts.captions, 1):.2f} per caption)"


def _with_share(n: int, total: int) -> str:
    return f"{n:,} ({n / max(total, 1):.1%})"


def overlap_table(overlap: UnitOverlap, first: str, second: str) -> TextTable:
    """Returns a table of the overlap of two files by kind, in numbers and shares of their union.

    Args:
        overlap: The overlap.
        first: Column name of the first file.
        second: Column name of the second file.
    """
    rows = []
    for kind, shared in overlap.shared.items():
        parts = (shared.n_both, shared.n_first_only, shared.n_second_only)
        shares = (_with_share(n, shared.total) for n in parts)
        rows.append((kind, *shares, f"{shared.total:,}"))
    return TextTable(
        ("", "in both", f"only in {first}", f"only in {second}", "in either"), tuple(rows)
    )
