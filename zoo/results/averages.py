"""Averages: means of metrics and of means. A mean that lacks a member is withheld."""

from collections import Counter
from collections.abc import Mapping, Sequence
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
        subset: Name of the subset; '*' is all that the benchmark has.
        metric: Name of the metric.
        unscorable: Whether zoo has no such benchmark.
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
        members: Metrics and means that enter it.
        weighting: 'equal' weights all members alike, 'cases' by their numbers of cases in the file,
            'members' by their numbers of members.
        partial: Whether it is taken of those members that are there; else a missing one withholds
            it.
    """

    name: str
    members: tuple["Mean | Member", ...]
    weighting: Weighting = "equal"
    partial: bool = False

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Average:
    """A mean that was taken.

    Attributes:
        preset: Name of the preset.
        name: Name of the mean, with the run in brackets where a benchmark was asked for twice.
        value: Value in per cent, None where it is withheld.
        weighting: How members are weighted, as in `Mean`.
        members: Names of the members.
        missing: Names of the members that keep the mean from being taken, or that a partial one is
            taken without.
        n: Number of queries of its members that were scored.
        of: Number of queries of its members in the file.
        low: Lower end of the 95 % interval in per cent, None where there is none.
        high: Upper end of the 95 % interval in per cent, None where there is none.
        interval: How the interval was found, in words.
    """

    preset: str
    name: str
    value: float | None
    weighting: str
    members: tuple[str, ...]
    missing: tuple[str, ...]
    n: int
    of: int
    low: float | None = None
    high: float | None = None
    interval: str = ""


@dataclass(frozen=True)
class MeanPart:
    """A mean and what it comes to among metrics.

    Attributes:
        name: Name of the mean, with the run in brackets where a benchmark was asked for twice.
        mean: The mean.
        shares: Metrics with their shares in the mean, which sum to 1.
        missing: Names of the members that keep the mean from being taken.
        left_out: Names of the members that a partial mean is taken without.
    """

    name: str
    mean: Mean
    shares: tuple[tuple[Metric, float], ...]
    missing: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the mean has all that it needs."""
        return bool(self.shares) and not self.missing


def parts(means: Sequence[Mean], metrics: Sequence[Metric]) -> list[MeanPart]:
    """Returns the means that have at least one of their members among the metrics.

    Where a benchmark was asked for twice over the same subsets, each run gets means of its own.

    Args:
        means: The means.
        metrics: Metrics that were counted under one preset.
    """
    found: dict[MeanPart, None] = {}
    for run, chosen in _runs(metrics).items():
        for mean in means:
            taken = _take(mean, chosen)
            used = [metric for metric, _ in taken.shares]
            name = (
                f"{mean.name} ({run})" if any(f.benchmark_run == run for f in used) else mean.name
            )
            lists = tuple(taken.shares), tuple(taken.missing), tuple(taken.left_out)
            if any(metric.n for metric in used):
                found[MeanPart(name, mean, *lists)] = None
    return list(found)


def averages(
    preset: str,
    means: Sequence[Mean],
    metrics: Sequence[Metric],
    observations: Mapping[Metric, Observations | None] | None = None,
) -> list[Average]:
    """Takes the means that have at least one of their members among the metrics.

    Args:
        preset: Name of the preset that the means are of.
        means: The means.
        metrics: Metrics that were counted under the preset.
        observations: What the metrics were made of; without them, averages have no intervals.
    """
    return [_average(preset, part, observations or {}) for part in parts(means, metrics)]


def _runs(metrics: Sequence[Metric]) -> dict[BenchmarkRun | None, list[Metric]]:
    """Returns the metrics by run, without those of other runs of the same benchmark.

    Where no benchmark was asked for twice over the same subsets, all metrics stand under None.
    """
    times = Counter((f.benchmark, f.subset, f.metric) for f in metrics)
    again = dict.fromkeys(
        f.benchmark_run for f in metrics if times[f.benchmark, f.subset, f.metric] > 1
    )
    return {
        run: [f for f in metrics if f.benchmark_run == run or f.benchmark_run not in again]
        for run in again
    } or {None: list(metrics)}


def _average(
    preset: str, part: MeanPart, observations: Mapping[Metric, Observations | None]
) -> Average:
    used = [metric for metric, _ in part.shares]
    value = low = high = None
    how = ""
    if part.is_complete:
        value = sum(share * (metric.value or 0) for metric, share in part.shares)
        made_of = [observed for observed in map(observations.get, used) if observed is not None]
        if len(made_of) == len(used):
            low, high, how = interval(made_of, [share for _, share in part.shares])
            low, high = 100 * low, 100 * high
    return Average(
        preset,
        part.name,
        value,
        part.mean.weighting,
        tuple(str(m) for m in part.mean.members),
        tuple(dict.fromkeys(part.missing or part.left_out)),
        sum(f.n for f in used),
        sum(f.of for f in used),
        low,
        high,
        how,
    )


@dataclass(frozen=True)
class _Taken:
    """What a node of a mean comes to.

    Attributes:
        shares: Metrics with their shares in the mean, which sum to 1.
        cases: Number of cases.
        members: Number of members that it is taken of.
        missing: What keeps the mean from being taken.
        left_out: What a partial mean is taken without.
    """

    shares: list[tuple[Metric, float]]
    cases: int
    members: int
    missing: list[str]
    left_out: list[str] = field(default_factory=list)


def _take(node: Mean | Member, metrics: Sequence[Metric]) -> _Taken:
    if isinstance(node, Member):
        used = [
            f
            for f in metrics
            if f.benchmark == node.benchmark
            and f.metric == node.metric
            and node.subset in ("*", f.subset)
        ]
        cases = sum(f.of for f in used)
        missing = (
            [_metric_title(f) for f in used if f.value is None or f.partial_gallery]
            if used
            else [str(node)]
        )
        return _Taken([(f, f.of / max(cases, 1)) for f in used], cases, 1, missing)
    taken = [_take(member, metrics) for member in node.members]
    left_out = [m for t in taken for m in t.left_out]
    if node.partial:
        left_out += [m for t in taken for m in t.missing]
        taken = [t for t in taken if t.shares and not t.missing]
    cases = sum(t.cases for t in taken)
    weights = {
        "equal": [1 for _ in taken],
        "cases": [t.cases for t in taken],
        "members": [t.members for t in taken],
    }[node.weighting]
    parts = [weight / max(sum(weights), 1) for weight in weights]
    shares = [
        (metric, part * share)
        for t, part in zip(taken, parts, strict=True)
        for metric, share in t.shares
    ]
    missing = [m for t in taken for m in t.missing]
    return _Taken(shares, cases, len(taken), missing, left_out)


def _metric_title(metric: Metric) -> str:
    gallery = (
        f" (a gallery of {metric.images:,} of {metric.gallery_of:,})"
        if metric.partial_gallery
        else ""
    )
    return f"{metric}{gallery}"
