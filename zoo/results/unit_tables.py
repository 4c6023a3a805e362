"""Tables of the contents of units files, and of the overlap of two files."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from zoo.results.tables import TextTable
from zoo.units.counts import KINDS, Counts, kind_with_foil
from zoo.units.overlap import UnitOverlap


def counts_table(counts: Mapping[str, Counts]) -> TextTable:
    """Returns a table of counts by kind, and of dropped items by reason.

    Args:
        counts: The counts of each file, by its column name.
    """
    return TextTable(("", *counts), tuple(_count_rows(list(counts.values()))))


def _count_rows(counts: Sequence[Counts]) -> Iterator[tuple[str, ...]]:
    yield "captions", *(f"{c.captions:,}" for c in counts)
    for kind in KINDS:
        for label in (kind, kind_with_foil(kind)):
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


def overlap_table(found: UnitOverlap, first: str, second: str) -> TextTable:
    """Returns a table of the overlap of two files by kind, in numbers and shares of their union.

    Args:
        found: The overlap.
        first: Column name of the first file.
        second: Column name of the second file.
    """
    rows = []
    for kind, shared in found.shared.items():
        parts = (shared.n_both, shared.n_first, shared.n_second)
        shares = (_with_share(n, shared.total) for n in parts)
        rows.append((kind, *shares, f"{shared.total:,}"))
    return TextTable(
        ("", "in both", f"only in {first}", f"only in {second}", "in either"), tuple(rows)
    )
