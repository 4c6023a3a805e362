"""Leaks: metrics without the cases whose images a model has seen, beside those of the others."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import hypot

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.familiarity.images import SeenImages
from zoo.results.metrics import Metric, Reference, Rules, metrics
from zoo.results.outcomes import SCHEMA
from zoo.results.runs import BenchmarkRun
from zoo.results.tables import TextTable, number

ALL = "all"  # subsets, together
FREE, SEEN, UNTOLD = "free", "seen", "untold"
KEYS = ("benchmark", "run", "subset")
HEADER = (
    *("benchmark", "subset", "metric", "full, %", "n", "without, %", "n", "seen, %", "n"),
    "without less seen",
)
Place = tuple[str, str, str, str]


@dataclass(frozen=True)
class Leak:
    """One metric with and without the cases whose images the model has seen.

    Attributes:
        benchmark: Name of the benchmark.
        run: What tells this run of the benchmark from another, as in `BenchmarkRun`.
        subset: Name of the subset; `all` where all its subsets are counted, each query alike.
        metric: Name of the metric.
        full: Value in per cent over all queries that were scored.
        n: How many these are.
        without: Value without those about an image that the model has seen; None where no other is.
        n_without: How many are left.
        seen: Value of those that are about such an image; None where none is.
        n_seen: How many these are.
        untold: How many are neither, as it cannot be told whether their images were seen.
        difference: `without` less `seen`, in points. None where one of them is.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
    """

    benchmark: str
    run: str
    subset: str
    metric: str
    full: float
    n: int
    without: float | None
    n_without: int
    seen: float | None
    n_seen: int
    untold: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None


def with_seen_images(cases: pa.Table, seen: SeenImages) -> pa.Table:
    """Returns outcomes that say whether an image that they are about was seen.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        seen: The images that the model has seen.
    """
    about = cases["images"].to_pylist()
    known = {image: seen.has(image) for of in about for image in of}
    found = [_seen_label([known[image] for image in of]) for of in about]
    place = SCHEMA.get_field_index("leak")
    return cases.set_column(place, SCHEMA.field(place), pa.array(found, pa.string()))


def leaks(
    cases: pa.Table,
    rules: Rules,
    known: Mapping[tuple[BenchmarkRun, str], Reference],
) -> Iterator[Leak]:
    """Yields what each metric of each benchmark comes to, over all its subsets and over each.

    The two parts have no image in common, so that there is nothing to pair: the interval of their
    difference is made of those of the two (Newcombe 1998). No macro average is taken, as groups are
    not whole in a part.

    Args:
        cases: Outcomes that say so, as `told` returns them.
        rules: What counts as right.
        known: What is known beforehand, by benchmark and subset.
    """
    plain = replace(rules, macros={})
    leak = np.array(cases["leak"].to_pylist(), dtype=object)
    about_images = np.asarray(cases["leak"].is_valid())
    together = cases.set_column(
        cases.column_names.index("subset"), "subset", pa.array([ALL] * len(cases), pa.string())
    )
    subsets = set(zip(*(cases[name].to_pylist() for name in KEYS), strict=True))
    for table in (together, cases):
        parts = [_metrics(table, leak == part, plain, known) for part in (FREE, SEEN, UNTOLD)]
        for place, full in _metrics(table, about_images, plain, known).items():
            alone = sum(part[:2] == place[:2] for part in subsets) == 1
            if full.value is not None and not (alone and full.subset == ALL):
                yield _leak(full, *(part.get(place) for part in parts))


def leaks_table(found: Iterable[Leak], long: bool) -> TextTable:
    """Returns a table with a row for each metric of which some images were seen.

    Args:
        found: What was counted.
        long: Whether each subset has a row too, where a benchmark has several.
    """
    shown = [leak for leak in found if leak.n_seen]
    whole = {(leak.benchmark, leak.run) for leak in shown if leak.subset == ALL}
    rows = (
        (
            *(str(BenchmarkRun(leak.benchmark, leak.run)), leak.subset, leak.metric),
            *(number(leak.full), f"{leak.n:,}", number(leak.without), f"{leak.n_without:,}"),
            *(number(leak.seen), f"{leak.n_seen:,}", _points(leak)),
        )
        for leak in shown
        if long or leak.subset == ALL or (leak.benchmark, leak.run) not in whole
    )
    return TextTable(HEADER, tuple(rows))


def untold(found: Iterable[Leak]) -> str:
    """Says of how many outcomes it cannot be told whether their images were seen; or nothing."""
    most: dict[BenchmarkRun, tuple[int, int]] = {}
    for leak in found:
        if leak.untold:
            run = BenchmarkRun(leak.benchmark, leak.run)
            most[run] = max(most.get(run, (0, 0)), (leak.untold, leak.n))
    return ", ".join(f"{run} {n:,} of {of:,}" for run, (n, of) in most.items())


def trained_images(cases: pa.Table) -> frozenset[str]:
    """Returns the images of outcomes that the model said it was trained on."""
    pairs = zip(cases["images"].to_pylist(), cases["trained"].to_pylist(), strict=True)
    return frozenset(
        image
        for images, trained in pairs
        for image, seen in zip(images, trained, strict=True)
        if seen
    )


def _seen_label(has: list[bool | None]) -> str | None:
    if not has:
        return None
    return SEEN if any(has) else UNTOLD if None in has else FREE


def _metrics(
    cases: pa.Table,
    keep: NDArray[np.bool_],
    rules: Rules,
    known: Mapping[tuple[BenchmarkRun, str], Reference],
) -> dict[Place, Metric]:
    """Returns the metrics of some outcomes by their places."""
    found = metrics(cases.filter(pa.array(keep)), rules, known)
    return {(m.benchmark, m.run, m.subset, m.metric): m for m in found}


def _leak(full: Metric, free: Metric | None, seen: Metric | None, unknown: Metric | None) -> Leak:
    values = [None if part is None else part.value for part in (free, seen)]
    n = [0 if part is None else part.n for part in (free, seen, unknown)]
    place = full.benchmark, full.run, full.subset, full.metric
    assert full.value is not None
    leak = Leak(*place, full.value, full.n, values[0], n[0], values[1], n[1], n[2])
    if free is None or seen is None:
        return leak
    ends = free.value, free.low, free.high, seen.value, seen.low, seen.high
    known = [end for end in ends if end is not None]
    if len(known) < len(ends):
        return leak
    value, low, high, other, other_low, other_high = known
    difference = value - other
    down, up = hypot(value - low, other_high - other), hypot(high - value, other - other_low)
    return replace(leak, difference=difference, low=difference - down, high=difference + up)


def _points(leak: Leak) -> str:
    if leak.difference is None or leak.low is None or leak.high is None:
        return ""
    return f"{leak.difference:+.1f} ({leak.low:+.1f} to {leak.high:+.1f})"
