"""Averages: means of metrics and of means. A mean is only reported if no member is missing."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from zoo.results.metrics import Metric
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import Observations, interval

Weighting = Literal["equal", "cases", "members"]


@dataclass(frozen=True)
class Member:
    """A metric that enters a mean.

    Attributes:
        benchmark: Name of the benchmark.
        subset: Name of the subset; '*' is all subsets of the benchmark.
        metric: Name of the metric.
        unscorable: Whether the metric is always missing, because zoo does not have the benchmark.
    """

    benchmark: str
    subset: str = "*"
    metric: str = "i2t"
    unscorable: bool = False

    def __str__(self) -> str:
        return (
            self.benchmark if self.unscorable else f"{self.benchmark}/{self.subset}/{self.metric}"
        )


@dataclass(frozen=True)
class Mean:
    """A mean of metrics or of means.

    Attributes:
        name: Name of the mean.
        members: The metrics and means that are averaged.
        weighting: 'equal' weights all members equally, and 'cases' by their numbers of cases
            (scored or not). 'members' weights a mean by the number of its members,
            and a metric by 1.
        partial: Whether the mean is computed from the available members if others are missing. If
            False, a mean with a missing member is not reported.
    """

    name: str
    members: tuple["Mean | Member", ...]
    weighting: Weighting = "equal"
    partial: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Average:
    """The value of a mean.

    Attributes:
        preset: Name of the preset.
        name: Name of the mean, with the run in parentheses if a benchmark has several runs.
        value: Value in per cent, None if it is not reported.
        weighting: How members are weighted, as in `Mean`.
        members: Names of the members.
        missing: Names of the missing members; a mean with one has no value, unless it is partial.
        n: Number of queries of its members that were scored.
        n_total: Number of queries of its members in the file.
        low: Lower end of the 95 % interval in per cent, None without an interval.
        high: Upper end of the 95 % interval in per cent, None without an interval.
        interval: Description of the interval method.
    """

    preset: str
    name: str
    value: float | None
    weighting: str
    members: tuple[str, ...]
    missing: tuple[str, ...]
    n: int
    n_total: int
    low: float | None = None
    high: float | None = None
    interval: str = ""


@dataclass(frozen=True)
class ResolvedMean:
    """A mean with the metrics that enter it.

    Attributes:
        name: Name of the mean, with the run in parentheses if a benchmark has several runs.
        mean: The mean.
        shares: Metrics with their shares in the mean, which sum to 1.
        missing: Names of the missing members, because of which the mean has no value.
        omitted_members: Names of the members that a partial mean omits.
    """

    name: str
    mean: Mean
    shares: tuple[tuple[Metric, float], ...]
    missing: tuple[str, ...]
    omitted_members: tuple[str, ...]

    @property
    def has_value(self) -> bool:
        """Whether the mean has members and no required one is missing."""
        return bool(self.shares) and not self.missing

    @property
    def lower_is_better(self) -> bool:
        """Whether lower values are better, as for all metrics that enter the mean."""
        return bool(self.shares) and all(metric.lower_is_better for metric, _ in self.shares)


def resolve_available_means(means: Sequence[Mean], metrics: Sequence[Metric]) -> list[ResolvedMean]:
    """Returns the means that have at least one member among the metrics.

    If a benchmark has several runs over the same subsets, each run has its own means.

    Args:
        means: The means.
        metrics: Metrics of one preset.
    """
    resolved: dict[ResolvedMean, None] = {}
    for run, run_metrics in _separate_repeated_runs(metrics).items():
        for mean in means:
            node_shares = _compute_node_shares(mean, run_metrics)
            used_metrics = [metric for metric, _ in node_shares.shares]
            name = (
                f"{mean.name} ({run})"
                if any(m.benchmark_run == run for m in used_metrics)
                else mean.name
            )
            part = ResolvedMean(
                name,
                mean,
                tuple(node_shares.shares),
                tuple(node_shares.missing),
                tuple(node_shares.omitted_members),
            )
            if any(metric.n for metric in used_metrics):
                resolved[part] = None
    return list(resolved)


def compute_available_averages(
    preset: str,
    means: Sequence[Mean],
    metrics: Sequence[Metric],
    observations: Mapping[Metric, Observations | None] | None = None,
) -> list[Average]:
    """Computes the means that have at least one member among the metrics.

    Args:
        preset: Name of the preset of the means.
        means: The means.
        metrics: Metrics of the preset.
        observations: Observations of the metrics; without them, averages have no intervals.
    """
    return [
        _build_average(preset, part, observations or {})
        for part in resolve_available_means(means, metrics)
    ]


def summarize_runs(
    preset: str, metrics: Sequence[Metric], observations: Mapping[Metric, Observations | None]
) -> Iterator[Average]:
    """Yields the summary of a run: the mean of each metric of a benchmark over its scored subsets.

    Subsets are weighted by their numbers of cases in the file. A gallery with missing images is
    omitted, because it is easier than the full gallery.

    Args:
        preset: Name of the preset of the metrics.
        metrics: The metrics.
        observations: Observations of the metrics.
    """
    for run in dict.fromkeys(metric.benchmark_run for metric in metrics):
        run_metrics = [metric for metric in metrics if metric.benchmark_run == run]
        for name in dict.fromkeys(metric.metric for metric in run_metrics):
            members = tuple(
                Member(run.benchmark, metric.subset, name)
                for metric in run_metrics
                if metric.metric == name
            )
            mean = Mean(f"{run}/{name}", members, "cases", partial=True)
            yield from compute_available_averages(preset, [mean], run_metrics, observations)


def _separate_repeated_runs(metrics: Sequence[Metric]) -> dict[BenchmarkRun | None, list[Metric]]:
    """Returns the metrics by run, without other runs of the same benchmark.

    If no benchmark has several runs over the same subsets, the only key is None.
    """
    counts = Counter((m.benchmark, m.subset, m.metric) for m in metrics)
    repeated_runs = dict.fromkeys(
        m.benchmark_run for m in metrics if counts[m.benchmark, m.subset, m.metric] > 1
    )
    return {
        run: [m for m in metrics if m.benchmark_run == run or m.benchmark_run not in repeated_runs]
        for run in repeated_runs
    } or {None: list(metrics)}


def _build_average(
    preset: str, resolved_mean: ResolvedMean, observations: Mapping[Metric, Observations | None]
) -> Average:
    used = [metric for metric, _ in resolved_mean.shares]
    value = low = high = None
    method = ""
    if resolved_mean.has_value:
        value = sum(share * (metric.value or 0) for metric, share in resolved_mean.shares)
        used_observations = [
            observed for observed in map(observations.get, used) if observed is not None
        ]
        if len(used_observations) == len(used):
            low, high, method = interval(
                used_observations, [share for _, share in resolved_mean.shares]
            )
            low, high = 100 * low, 100 * high
    return Average(
        preset,
        resolved_mean.name,
        value,
        resolved_mean.mean.weighting,
        tuple(str(m) for m in resolved_mean.mean.members),
        tuple(dict.fromkeys(resolved_mean.missing or resolved_mean.omitted_members)),
        sum(metric.n for metric in used),
        sum(metric.n_total for metric in used),
        low,
        high,
        method,
    )


@dataclass(frozen=True)
class _NodeShares:
    """The metrics that enter a mean or a member.

    Attributes:
        shares: Metrics with their shares in the mean, which sum to 1.
        n_cases: Number of cases.
        n_members: Number of available members.
        missing: Names of the missing members, because of which the mean has no value.
        omitted_members: Names of the members that a partial mean omits.
    """

    shares: list[tuple[Metric, float]]
    n_cases: int
    n_members: int
    missing: list[str]
    omitted_members: list[str] = field(default_factory=list)


def _compute_node_shares(node: Mean | Member, metrics: Sequence[Metric]) -> _NodeShares:
    if isinstance(node, Member):
        member_metrics = [
            entry
            for entry in metrics
            if entry.benchmark == node.benchmark
            and entry.metric == node.metric
            and node.subset in ("*", entry.subset)
        ]
        cases = sum(entry.n_total for entry in member_metrics)
        missing = (
            [
                _describe_missing_metric(entry)
                for entry in member_metrics
                if entry.value is None or entry.partial_gallery
            ]
            if member_metrics
            else [str(node)]
        )
        return _NodeShares(
            [(entry, entry.n_total / max(cases, 1)) for entry in member_metrics], cases, 1, missing
        )
    resolved = [_compute_node_shares(member, metrics) for member in node.members]
    left_out = [m for r in resolved for m in r.omitted_members]
    if node.partial:
        left_out += [m for r in resolved for m in r.missing]
        resolved = [r for r in resolved if r.shares and not r.missing]
    cases = sum(r.n_cases for r in resolved)
    weights = {
        "equal": [1 for _ in resolved],
        "cases": [r.n_cases for r in resolved],
        "members": [r.n_members for r in resolved],
    }[node.weighting]
    member_shares = [weight / max(sum(weights), 1) for weight in weights]
    shares = [
        (metric, part * share)
        for r, part in zip(resolved, member_shares, strict=True)
        for metric, share in r.shares
    ]
    missing = [m for r in resolved for m in r.missing]
    if not node.partial:  # a partial mean without any member is missing as a whole
        members = zip(node.members, resolved, strict=True)
        missing += [str(member) for member, r in members if not (r.shares or r.missing)]
    return _NodeShares(shares, cases, len(resolved), missing, left_out)


def _describe_missing_metric(metric: Metric) -> str:
    gallery = (
        f" (a gallery of {metric.images:,} of {metric.gallery_size:,})"
        if metric.partial_gallery
        else ""
    )
    return f"{metric}{gallery}"
