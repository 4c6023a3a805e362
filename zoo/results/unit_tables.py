"""Tables of what is in units files, and of what two of them share."""

from collections.abc import Iterator, Mapping, Sequence

from zoo.results.tables import TextTable
from zoo.units.counts import KINDS, Counts, with_a_foil
from zoo.units.overlap import UnitOverlap


def counts_table(counts: Mapping[str, Counts]) -> TextTable:
    """Returns the shares by kind, and what was dropped by reason.

    Args:
        counts: The counts of each file, by what the table calls it.
    """
    return TextTable(("", *counts), tuple(_rows(list(counts.values()))))


def _rows(counts: Sequence[Counts]) -> Iterator[tuple[str, ...]]:
    yield "captions", *(f"{c.captions:,}" for c in counts)
    for kind in KINDS:
        for what in (kind, with_a_foil(kind)):
            yield (
                f"captions with {what}",
                *(_with_share(c.having[what], c.captions) for c in counts),
            )
        yield kind, *(_a_caption(c.units[kind], c) for c in counts)
    for edit in _names([c.foils for c in counts]):
        yield f"foils: {edit}", *(_a_caption(c.foils[edit], c) for c in counts)
    if any(c.failed for c in counts):
        yield "captions with an error", *(_with_share(c.failed, c.captions) for c in counts)
    for reason in _names([c.dropped for c in counts]):
        yield f"dropped: {reason}", *(f"{c.dropped[reason]:,}" for c in counts)


def _names(counted: Sequence[Mapping[str, int]]) -> list[str]:
    """Returns what was counted anywhere, the most frequent first."""
    names = {name for one in counted for name in one}
    return sorted(names, key=lambda name: (-sum(one.get(name, 0) for one in counted), name))


def _a_caption(n: int, counts: Counts) -> str:
    return f"{n:,} ({n / max(counts.captions, 1):.2f} a caption)"


def _with_share(n: int, of: int) -> str:
    return f"{n:,} ({n / max(of, 1):.1%})"


def overlap_table(found: UnitOverlap, first: str, second: str) -> TextTable:
    """Returns how much two files share, by kind, in numbers and as shares of what either has.

    Args:
        found: What they share.
        first: What the table calls the first file.
        second: What it calls the second.
    """
    rows = []
    for kind, shared in found.shared.items():
        parts = (shared.both, shared.first, shared.second)
        shares = (_with_share(n, shared.total) for n in parts)
        rows.append((kind, *shares, f"{shared.total:,}"))
    return TextTable(("", "in both", f"{first} alone", f"{second} alone", "in either"), tuple(rows))
