"""The numbers that runs have in common, each a weighted sum of outcomes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.familiarity.buckets import EXCLUDED
from zoo.results.averages import resolve_available_means
from zoo.results.header import references
from zoo.results.metrics import Metric, Rules, compute_metrics
from zoo.results.outcomes import import_protocol
from zoo.results.presets.preset import Preset
from zoo.results.runs import BenchmarkRun
from zoo.results.splits import select_with_pooled_subsets, split_masks, split_subset_mask
from zoo.results.statistics import Observations

Floats = NDArray[np.float64]
MetricObservations = dict[Metric, Observations | None]


@dataclass(frozen=True)
class MetricName:
    """The name of a metric or mean.

    Attributes:
        preset: Name of the preset that counts it.
        benchmark: The benchmark with its options; empty for a mean.
        subset: Name of the subset; empty for a mean.
        metric: Name of the metric, or of the mean.
        split: The split of familiarity whose cases are counted; empty for all cases.
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
class CommonMetric:
    """A number that every run has, and the outcomes that it is computed from.

    Attributes:
        name: Its name.
        n_total: Number of queries in the files.
        weight: Weight of each outcome, `[n]`; the weights sum to 1.
        image_index: Numbers of the images, or sets of images, that the outcomes are about, `[n]`.
        metric_index: Numbers of the metrics that the outcomes belong to, `[n]`; all 0 except for a
            mean.
        values: Values of the answers of each run, from 0 to 1, `[runs, n]`.
        missing: Names of the members that are missing from a partial mean.
        partial_gallery: Whether it is a recall among only some of a gallery's images.
        shares: Names of the metrics of a mean, with their shares; empty for a metric.
        lower_is_better: Whether lower values are better.
    """

    name: MetricName
    n_total: int
    weight: Floats
    image_index: NDArray[np.int64]
    metric_index: NDArray[np.int64]
    values: Floats
    missing: tuple[str, ...] = ()
    partial_gallery: bool = False
    shares: frozenset[tuple[str, float]] = frozenset()
    lower_is_better: bool = False

    @property
    def n(self) -> int:
        """Number of outcomes."""
        return len(self.weight)

    @property
    def n_images(self) -> int:
        """Number of images, or sets of images."""
        return int(self.image_index.max()) + 1

    @property
    def has_equal_weights(self) -> bool:
        """Whether all outcomes have the same weight."""
        return bool(np.ptp(self.weight) <= 1e-9 * self.weight[0])

    @property
    def totals(self) -> Floats:
        """The number itself for each run, `[runs]`."""
        run_totals: Floats = self.values @ self.weight
        return run_totals


def common_metrics(
    tables: Sequence[pa.Table], presets: Sequence[Preset], header: Mapping[str, Any]
) -> list[CommonMetric]:
    """Returns the metrics, means and splits that runs have in common.

    Metrics of a further preset are left out where they equal those of the first.

    Args:
        tables: Outcomes of the runs, as in `AlignedRuns`.
        presets: Ways of counting and averaging.
        header: The header of the results of a run; its benchmarks give the order of the metrics and
            the number of images in a whole gallery.
    """
    references_by_part = references(header)
    order = {part: i for i, part in enumerate(references_by_part)}
    common: list[CommonMetric] = []
    for preset in presets:
        counted = [
            _order_metrics(compute_metrics(table, preset.rules, references_by_part), order)
            for table in tables
        ]
        common += _drop_repeated_metrics(_join_run_metrics(preset.name, counted), common)
        common += _join_run_means(preset, counted)
    for preset in presets:
        common += _drop_repeated_metrics(_join_run_splits(preset, tables, order), common)
    return common


def metrics_without_interval(table: pa.Table) -> tuple[str, ...]:
    """Returns the names of scored metrics that have no known interval, and so no test.

    Args:
        table: Outcomes of a run, one of `AlignedRuns.tables`.
    """
    scored = table.filter(table["right"].is_valid())
    columns = (scored[name].to_pylist() for name in ("benchmark", "run", "subset", "metric"))
    metric_keys = dict.fromkeys(zip(*columns, scored["protocol"].to_pylist(), strict=True))
    return tuple(
        str(MetricName("", str(BenchmarkRun(benchmark, run)), subset, metric))
        for benchmark, run, subset, metric, protocol in metric_keys
        if not import_protocol(protocol).has_interval
    )


def _order_metrics(
    observations: MetricObservations, order: Mapping[tuple[BenchmarkRun, str], int]
) -> MetricObservations:
    after_all = len(order)
    return dict(
        sorted(
            observations.items(),
            key=lambda item: order.get((item[0].benchmark_run, item[0].subset), after_all),
        )
    )


def _drop_repeated_metrics(
    metrics: Sequence[CommonMetric], previous_metrics: Sequence[CommonMetric]
) -> list[CommonMetric]:
    """Returns the metrics that do not equal one of another preset."""
    earlier_metrics = {
        str(metric.name): metric for metric in previous_metrics if not metric.name.is_mean
    }
    return [
        metric
        for metric in metrics
        if (earlier := earlier_metrics.get(str(metric.name))) is None
        or earlier.n != metric.n
        or not np.array_equal(earlier.values, metric.values)
        or not np.array_equal(earlier.weight, metric.weight)
    ]


def _join_run_metrics(
    preset: str, observations_by_run: Sequence[MetricObservations], split: str = ""
) -> list[CommonMetric]:
    common = []
    for run_items in zip(*(by_metric.items() for by_metric in observations_by_run), strict=True):
        metric = run_items[0][0]
        observed = [observations for _, observations in run_items if observations is not None]
        if len(observed) == len(run_items):
            name = MetricName(
                preset, str(metric.benchmark_run), metric.subset, metric.metric, split
            )
            joined = _join_metrics(name, metric.n_total, [observed], [1.0])
            common.append(
                replace(
                    joined,
                    partial_gallery=metric.partial_gallery,
                    lower_is_better=bool(metric.lower_is_better),
                )
            )
    return common


def _join_run_means(
    preset: Preset, observations_by_run: Sequence[MetricObservations]
) -> list[CommonMetric]:
    """Returns the means that are complete and whose members all have intervals.

    Completeness is judged from the metrics of the first run; the other runs have the same metrics
    in the same order.
    """
    observed = dict(
        zip(
            observations_by_run[0],
            zip(*(by_metric.values() for by_metric in observations_by_run), strict=True),
            strict=True,
        )
    )
    return [
        replace(
            _join_metrics(
                MetricName(preset.name, "", "", part.name),
                sum(metric.n_total for metric, _ in part.shares),
                [
                    [observations for observations in observed[metric] if observations is not None]
                    for metric, _ in part.shares
                ],
                [share for _, share in part.shares],
                tuple(dict.fromkeys(part.omitted_members)),
            ),
            shares=frozenset((str(metric), round(share, 12)) for metric, share in part.shares),
            lower_is_better=part.lower_is_better,
        )
        for part in resolve_available_means(preset.means, list(observations_by_run[0]))
        if part.has_value and all(None not in observed[metric] for metric, _ in part.shares)
    ]


def _join_run_splits(
    preset: Preset, tables: Sequence[pa.Table], order: Mapping[tuple[BenchmarkRun, str], int]
) -> list[CommonMetric]:
    """Returns the metrics of each split, without macro averages as in `compute_split_metrics`."""
    if tables[0]["bucket"].null_count == len(tables[0]):
        return []
    rules: Rules = replace(preset.rules, macros={})
    keep = pa.array(split_subset_mask(tables[0]))
    tables = [table.filter(keep) for table in tables]
    common = []
    for split, in_split in split_masks(tables[0]).items():
        if split != EXCLUDED and in_split.any():
            counted = [
                compute_metrics(select_with_pooled_subsets(table, in_split), rules, {})
                for table in tables
            ]
            common += _join_run_metrics(
                preset.name, [_order_metrics(by_metric, order) for by_metric in counted], split
            )
    return common


def _join_metrics(
    name: MetricName,
    total: int,
    members: Sequence[Sequence[Observations]],
    shares: Sequence[float],
    missing: tuple[str, ...] = (),
) -> CommonMetric:
    """Joins the outcomes of metrics.

    Args:
        name: Name of the metric or mean.
        total: Number of queries in the files.
        members: The outcomes of each metric, run by run.
        shares: Weights of the metrics; they sum to 1.
        missing: Names of the members that are missing from a partial mean.
    """
    first_run = [run_observations[0] for run_observations in members]
    labels = np.concatenate([metric.cluster for metric in first_run])
    values = [np.stack([run.right for run in run_observations]) for run_observations in members]
    return CommonMetric(
        name,
        total,
        np.concatenate(
            [share * metric.weight for metric, share in zip(first_run, shares, strict=True)]
        ),
        np.unique(labels, return_inverse=True)[1],
        np.repeat(np.arange(len(first_run)), [len(metric.right) for metric in first_run]),
        np.concatenate(values, axis=1),
        missing,
    )
