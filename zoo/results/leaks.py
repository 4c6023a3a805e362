"""Leaks: metrics with and without the cases whose images a model has seen."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import hypot

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.familiarity.images import SeenImages
from zoo.results.metrics import Metric, MetricKey, Reference, Rules, compute_metrics
from zoo.results.number_formats import format_number, format_points
from zoo.results.outcomes import SCHEMA
from zoo.results.runs import BenchmarkRun
from zoo.results.tables import TextTable

ALL = "all"  # all subsets together
FREE, SEEN, UNKNOWN = "free", "seen", "unknown"
KEYS = ("benchmark", "run", "subset")
HEADER = (
    *("benchmark", "subset", "metric", "full, %", "n", "without, %", "n", "seen, %", "n"),
    "without vs seen",
)


@dataclass(frozen=True)
class LeakMetric:
    """One metric with and without the cases whose images the model has seen.

    Attributes:
        benchmark: Name of the benchmark.
        run: Identifies the run of the benchmark, as in `BenchmarkRun`.
        subset: Name of the subset; `all` for all queries of all subsets, weighted equally.
        metric: Name of the metric.
        full: Value in per cent over all scored queries.
        n: Number of scored queries.
        without: Value over queries without any image that the model has seen; None without such
            queries.
        n_without: Number of these queries.
        seen: Value over queries with an image that the model has seen; None without such queries.
        n_seen: Number of these queries.
        n_unknown: Number of queries for which it is unknown whether their images were seen.
        difference: `without` minus `seen`, in points. None if one of them is None.
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
    n_unknown: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def benchmark_run(self) -> BenchmarkRun:
        """The run of the benchmark."""
        return BenchmarkRun(self.benchmark, self.run)


def add_leak_column(cases: pa.Table, seen: SeenImages) -> pa.Table:
    """Returns the outcomes with column `leak`: whether one of their images was seen.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        seen: The images that the model has seen.
    """
    images_by_outcome = cases["images"].to_pylist()
    seen_by_image = {
        image: seen.contains(image) for images in images_by_outcome for image in images
    }
    labels = [
        _seen_label([seen_by_image[image] for image in images]) for images in images_by_outcome
    ]
    index = SCHEMA.get_field_index("leak")
    return cases.set_column(index, SCHEMA.field(index), pa.array(labels, pa.string()))


def compute_leaks(
    cases: pa.Table,
    rules: Rules,
    references: Mapping[tuple[BenchmarkRun, str], Reference],
) -> Iterator[LeakMetric]:
    """Yields each metric of each benchmark, over all its subsets and over each of them.

    The cases of the two parts are not paired: the interval of their difference combines their two
    intervals (Newcombe 1998). Macro averages are omitted, because a part has incomplete groups.

    Args:
        cases: Outcomes with column `leak`, from `add_leak_column`.
        rules: Rules for right answers.
        references: Reference values, by benchmark and subset.
    """
    rules_without_macros = replace(rules, macros={})
    leak = np.array(cases["leak"].to_pylist(), dtype=object)
    about_images = np.asarray(cases["leak"].is_valid())
    merged = cases.set_column(
        cases.column_names.index("subset"), "subset", pa.array([ALL] * len(cases), pa.string())
    )
    subsets = set(zip(*(cases[name].to_pylist() for name in KEYS), strict=True))
    n_subsets = Counter(BenchmarkRun(benchmark, run) for benchmark, run, _ in subsets)
    for table in (merged, cases):
        parts = [
            _metrics_by_key(table, leak == part, rules_without_macros, references)
            for part in (FREE, SEEN, UNKNOWN)
        ]
        for key, full in _metrics_by_key(
            table, about_images, rules_without_macros, references
        ).items():
            is_only_subset = n_subsets[full.benchmark_run] == 1
            if full.value is not None and not (is_only_subset and full.subset == ALL):
                yield _build_leak(full, *(part.get(key) for part in parts))


def leaks_table(metric_leaks: Iterable[LeakMetric], long: bool) -> TextTable:
    """Returns a table with one row per metric with seen images.

    Args:
        metric_leaks: The metrics, from `leaks`.
        long: Whether to add a row per subset if a benchmark has several.
    """
    shown_leaks = [leak for leak in metric_leaks if leak.n_seen]
    runs_with_total = {leak.benchmark_run for leak in shown_leaks if leak.subset == ALL}
    rows = (
        (
            *(str(leak.benchmark_run), leak.subset, leak.metric),
            *(
                format_number(leak.full),
                f"{leak.n:,}",
                format_number(leak.without),
                f"{leak.n_without:,}",
            ),
            *(format_number(leak.seen), f"{leak.n_seen:,}", _format_difference(leak)),
        )
        for leak in shown_leaks
        if long or leak.subset == ALL or leak.benchmark_run not in runs_with_total
    )
    return TextTable(HEADER, tuple(rows))


def format_unknown_counts(metric_leaks: Iterable[LeakMetric]) -> str:
    """Returns the numbers of outcomes with images of unknown status, or an empty string."""
    counts: dict[BenchmarkRun, tuple[int, int]] = {}
    for leak in metric_leaks:
        if leak.n_unknown:
            counted = counts.get(leak.benchmark_run, (0, 0))
            counts[leak.benchmark_run] = max(counted, (leak.n_unknown, leak.n))
    return ", ".join(f"{run} {n:,} of {total:,}" for run, (n, total) in counts.items())


def trained_images(cases: pa.Table) -> frozenset[str]:
    """Returns the images of outcomes that the model was trained on, according to the model."""
    pairs = zip(cases["images"].to_pylist(), cases["trained"].to_pylist(), strict=True)
    return frozenset(
        image
        for outcome_images, trained_flags in pairs
        for image, is_trained in zip(outcome_images, trained_flags, strict=True)
        if is_trained
    )


def _seen_label(seen_flags: list[bool | None]) -> str | None:
    if not seen_flags:
        return None
    return SEEN if any(seen_flags) else UNKNOWN if None in seen_flags else FREE


def _metrics_by_key(
    cases: pa.Table,
    keep: NDArray[np.bool_],
    rules: Rules,
    references: Mapping[tuple[BenchmarkRun, str], Reference],
) -> dict[MetricKey, Metric]:
    """Returns the metrics of a part of the outcomes, by their keys."""
    kept_metrics = compute_metrics(cases.filter(pa.array(keep)), rules, references)
    return {metric.metric_key: metric for metric in kept_metrics}


def _build_leak(
    full: Metric, free: Metric | None, seen: Metric | None, unknown: Metric | None
) -> LeakMetric:
    values = [None if part is None else part.value for part in (free, seen)]
    n = [0 if part is None else part.n for part in (free, seen, unknown)]
    key = full.benchmark, full.run, full.subset, full.metric
    assert full.value is not None
    leak = LeakMetric(*key, full.value, full.n, values[0], n[0], values[1], n[1], n[2])
    if free is None or seen is None:
        return leak
    ends = free.value, free.low, free.high, seen.value, seen.low, seen.high
    numbers = [end for end in ends if end is not None]
    if len(numbers) < len(ends):
        return leak
    value, low, high, seen_value, seen_low, seen_high = numbers
    difference = value - seen_value
    margin_below = hypot(value - low, seen_high - seen_value)
    margin_above = hypot(high - value, seen_value - seen_low)
    return replace(
        leak, difference=difference, low=difference - margin_below, high=difference + margin_above
    )


def _format_difference(leak: LeakMetric) -> str:
    if leak.difference is None or leak.low is None or leak.high is None:
        return ""
    ends = f"{format_points(leak.low)} to {format_points(leak.high)}"
    return f"{format_points(leak.difference)} ({ends})"
