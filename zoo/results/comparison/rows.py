"""Rows: the numbers that runs have in common, each a weighted sum of outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.familiarity.buckets import EXCLUDED
from zoo.results.averages import parts
from zoo.results.metrics import Metric, Rules, metrics
from zoo.results.outcomes import protocol_here
from zoo.results.presets.base import Preset
from zoo.results.report import references
from zoo.results.runs import BenchmarkRun
from zoo.results.splits import split_rows, splittable
from zoo.results.statistics import Observations

Floats = NDArray[np.float64]
Counted = dict[Metric, Observations | None]


@dataclass(frozen=True)
class RowName:
    """What a row is called.

    Attributes:
        preset: Name of the preset that counts it.
        benchmark: The benchmark as it was asked for; empty for a mean.
        subset: Name of the subset; empty for a mean.
        metric: Name of the metric, or of the mean.
        split: The split of familiarity over whose cases it is counted; empty where over all.
    """

    preset: str
    benchmark: str
    subset: str
    metric: str
    split: str = ""

    @property
    def is_mean(self) -> bool:
        """Whether it is a mean of metrics."""
        return not self.benchmark

    def __str__(self) -> str:
        name = self.metric if self.is_mean else f"{self.benchmark}/{self.subset}/{self.metric}"
        return f"{name}, {self.split}" if self.split else name


@dataclass(frozen=True)
class ComparisonRow:
    """A number that every run has, and the outcomes that it is made of.

    Attributes:
        place: What it is called.
        of: Number of queries in the files.
        weight: Weight of each outcome, `[n]`; the weights sum to 1.
        image: Numbers of the images, or sets of images, that outcomes are about, `[n]`.
        part: Numbers of the metrics that outcomes are of, `[n]`; 0 but for a mean.
        values: How good the answers of each run are, from 0 to 1, `[runs, n]`.
        missing: Names of the members that a partial mean is taken without.
        partial_gallery: Whether it is a recall among some of a gallery's images only.
        shares: Names of the metrics that a mean is of, with their shares; empty of a metric.
    """

    place: RowName
    of: int
    weight: Floats
    image: NDArray[np.int64]
    part: NDArray[np.int64]
    values: Floats
    missing: tuple[str, ...] = ()
    partial_gallery: bool = False
    shares: frozenset[tuple[str, float]] = frozenset()

    @property
    def n(self) -> int:
        """Number of outcomes."""
        return len(self.weight)

    @property
    def images(self) -> int:
        """Number of images, or sets of images."""
        return int(self.image.max()) + 1

    @property
    def has_equal_weights(self) -> bool:
        """Whether all outcomes weigh the same."""
        return bool(np.ptp(self.weight) <= 1e-9 * self.weight[0])

    @property
    def totals(self) -> Floats:
        """The number itself, of each run, `[runs]`."""
        found: Floats = self.values @ self.weight
        return found


def rows_of(
    tables: Sequence[pa.Table], presets: Sequence[Preset], header: Mapping[str, Any]
) -> list[ComparisonRow]:
    """Returns the metrics, means and splits that runs have in common.

    Metrics of a further preset are left out where they are those of the first.

    Args:
        tables: Outcomes of the runs, as `Common` has them.
        presets: Ways of counting and averaging.
        header: What the results of a run say beside metrics; its benchmarks give the order, and how
            many images a whole gallery has.
    """
    known = references(header)
    order = {part: i for i, part in enumerate(known)}
    found: list[ComparisonRow] = []
    for preset in presets:
        counted = [_order_metrics(metrics(table, preset.rules, known), order) for table in tables]
        found += _new(_metrics(preset.name, counted), found)
        found += _means(preset, counted)
    for preset in presets:
        found += _new(_splits(preset, tables, order), found)
    return found


def without_interval(table: pa.Table) -> tuple[str, ...]:
    """Returns the names of scored metrics of which no interval is known, and so no test.

    Args:
        table: Outcomes of a run, one of `Common.tables`.
    """
    scored = table.filter(table["right"].is_valid())
    columns = (scored[name].to_pylist() for name in ("benchmark", "run", "subset", "metric"))
    found = dict.fromkeys(zip(*columns, scored["protocol"].to_pylist(), strict=True))
    return tuple(
        str(RowName("", str(BenchmarkRun(benchmark, run)), subset, metric))
        for benchmark, run, subset, metric, protocol in found
        if not protocol_here(protocol).has_interval
    )


def _order_metrics(counted: Counted, order: Mapping[tuple[BenchmarkRun, str], int]) -> Counted:
    last = len(order)
    return dict(
        sorted(
            counted.items(), key=lambda one: order.get((one[0].benchmark_run, one[0].subset), last)
        )
    )


def _new(rows: Sequence[ComparisonRow], before: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Returns the rows that are not there yet under another preset."""
    there = {str(row.place): row for row in before if not row.place.is_mean}
    return [
        row
        for row in rows
        if (other := there.get(str(row.place))) is None
        or other.n != row.n
        or not np.array_equal(other.values, row.values)
        or not np.array_equal(other.weight, row.weight)
    ]


def _metrics(preset: str, counted: Sequence[Counted], split: str = "") -> list[ComparisonRow]:
    found = []
    for of_runs in zip(*(of.items() for of in counted), strict=True):
        metric = of_runs[0][0]
        observed = [one for _, one in of_runs if one is not None]
        if len(observed) == len(of_runs):
            place = RowName(preset, str(metric.benchmark_run), metric.subset, metric.metric, split)
            row = _row(place, metric.of, [observed], [1.0])
            found.append(replace(row, partial_gallery=metric.partial_gallery))
    return found


def _means(preset: Preset, counted: Sequence[Counted]) -> list[ComparisonRow]:
    """Returns the means that are taken, and whose members all have intervals.

    The metrics of the first run tell which have their members; those of the others stand in the
    same order.
    """
    observed = dict(
        zip(counted[0], zip(*(of.values() for of in counted), strict=True), strict=True)
    )
    return [
        replace(
            _row(
                RowName(preset.name, "", "", part.name),
                sum(metric.of for metric, _ in part.shares),
                [[one for one in observed[metric] if one is not None] for metric, _ in part.shares],
                [share for _, share in part.shares],
                tuple(dict.fromkeys(part.left_out)),
            ),
            shares=frozenset((str(metric), round(share, 12)) for metric, share in part.shares),
        )
        for part in parts(preset.means, list(counted[0]))
        if part.is_complete and all(None not in observed[metric] for metric, _ in part.shares)
    ]


def _splits(
    preset: Preset, tables: Sequence[pa.Table], order: Mapping[tuple[BenchmarkRun, str], int]
) -> list[ComparisonRow]:
    """Returns the metrics of each split, without macro averages as in `by_split`."""
    if tables[0]["bucket"].null_count == len(tables[0]):
        return []
    rules: Rules = replace(preset.rules, macros={})
    keep = pa.array(splittable(tables[0]))
    tables = [table.filter(keep) for table in tables]
    found = []
    for split, rows in split_rows(tables[0]).items():
        if split != EXCLUDED and rows.any():
            of_split = [metrics(table.filter(pa.array(rows)), rules, {}) for table in tables]
            found += _metrics(preset.name, [_order_metrics(of, order) for of in of_split], split)
    return found


def _row(
    place: RowName,
    of: int,
    members: Sequence[Sequence[Observations]],
    shares: Sequence[float],
    missing: tuple[str, ...] = (),
) -> ComparisonRow:
    """Joins the outcomes of metrics.

    Args:
        place: What the row is called.
        of: Number of queries in the files.
        members: The outcomes of each metric, run by run.
        shares: Weights of the metrics; they sum to 1.
        missing: Names of the members that a partial mean is taken without.
    """
    first = [of_runs[0] for of_runs in members]
    labels = np.concatenate([one.cluster for one in first])
    values = [np.stack([one.right for one in of_runs]) for of_runs in members]
    return ComparisonRow(
        place,
        of,
        np.concatenate([share * one.weight for one, share in zip(first, shares, strict=True)]),
        np.unique(labels, return_inverse=True)[1],
        np.repeat(np.arange(len(first)), [len(one.right) for one in first]),
        np.concatenate(values, axis=1),
        missing,
    )
