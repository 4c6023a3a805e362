"""The rows of a comparison: the values of all runs, with the tests of their differences."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import combinations

from zoo.errors import ZooError, suggest_names
from zoo.results.comparison.common_metrics import CommonMetric, MetricName
from zoo.results.comparison.paired_tests import PairedTest, compare_pair, paired_interval
from zoo.results.published_values import PublishedValue
from zoo.results.statistics import benjamini_hochberg

LEVEL = 0.05  # runs whose q is above it do not differ significantly
FEW_QUERIES = 100  # with fewer queries, only large differences are significant


@dataclass(frozen=True)
class Contrast:
    """The test of two runs in one metric or mean.

    Attributes:
        first: Name of the first run.
        second: Name of the second run.
        difference: The second minus the first, in percentage points.
        low: Lower end of the 95 % interval in points; None unless `first` is the first of all runs.
        high: Upper end of the interval in points.
        p: The p-value of `compare_pair`.
        q: The p-value adjusted over all pairs of runs and all metrics of a split, or all means
            (Benjamini and Hochberg).
        right_only: Numbers of queries that only the first run has right, and only the second. None
            where answers are graded or averaged.
        p_by_query: The p-value of McNemar's test over queries, None where `right_only` is None.
    """

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    p: float
    q: float
    right_only: tuple[int, int] | None
    p_by_query: float | None


@dataclass(frozen=True)
class RunValue:
    """The value of one run in a metric or mean.

    Attributes:
        run: Name of the run, or of the group of runs.
        value: Value in per cent; for a group, the mean over its seeds.
        deviation: Standard deviation over seeds in points, None where there is one seed.
        seeds: Number of runs that it is the mean of.
        lowest: The lowest value over seeds in per cent, the value itself where there is one seed.
        highest: The highest value over seeds in per cent.
        best: Whether no other tested run has a better value.
        near_best: Whether it is not the best, but not significantly worse than the best.
    """

    run: str
    value: float
    deviation: float | None
    seeds: int
    lowest: float
    highest: float
    best: bool
    near_best: bool


@dataclass(frozen=True)
class ComparisonLine:
    """One metric or mean of a comparison.

    Attributes:
        name: Name of the row.
        n: Number of queries that all runs scored.
        n_total: Number of queries in the files.
        images: Number of images, or sets of images, that the queries are about.
        values: The values of the runs, in their order.
        tests: The tests of all pairs of runs.
        published: Published results of other models.
        missing: Names of the members that are missing from a partial mean.
        lower_is_better: Whether lower values are better.
        members: Names of the metrics that a mean is computed from; empty for a metric.
    """

    name: MetricName
    n: int
    n_total: int
    images: int
    values: tuple[RunValue, ...]
    tests: tuple[Contrast, ...]
    published: tuple[PublishedValue, ...]
    missing: tuple[str, ...]
    lower_is_better: bool = False
    members: tuple[str, ...] = ()

    def tests_against_first(self) -> list[Contrast]:
        """Returns the tests of the other runs against the first."""
        return [test for test in self.tests if test.first == self.values[0].run]

    def improvement(self, test: Contrast) -> float:
        """Returns by how many points the second run of a test is better than the first."""
        return -test.difference if self.lower_is_better else test.difference

    def with_direction(self, label: str) -> str:
        """Returns a label of the row that says whether lower values are better."""
        return add_direction(label, self.lower_is_better)


def add_direction(label: str, lower_is_better: bool) -> str:
    """Returns the label of a number in a figure, which says whether lower values are better."""
    return f"{label} (lower is better)" if lower_is_better else label


def names_with_lower_better(lines: Sequence[ComparisonLine]) -> list[str]:
    """Returns the metrics and means whose lower values are better, without subsets and splits."""
    names = (line.name for line in lines if line.lower_is_better)
    return list(
        dict.fromkeys(
            name.metric if name.is_mean else f"{name.benchmark}/{name.metric}" for name in names
        )
    )


def summarise_differences(lines: Sequence[ComparisonLine]) -> list[str]:
    """Returns one sentence per run: on how many metrics it differs significantly from the first.

    A run with the same correct answers as an earlier run is named with it instead. A last sentence
    gives the number of metrics with few queries. Means of metrics are not counted.

    Args:
        lines: The rows of a comparison.
    """
    lines = [line for line in lines if not line.name.is_mean and not line.name.split]
    first = lines[0].values[0].run if lines else ""
    sentences = []
    for run in dict.fromkeys(test.second for line in lines for test in line.tests):
        tests = [(line, test) for line in lines for test in line.tests if test.second == run]
        equal_run = _run_with_equal_answers([test for _, test in tests])
        if equal_run:
            sentences.append(f"{run} has the same correct answers as {equal_run} in all metrics")
            continue
        improvements = [
            line.improvement(test) if test.q <= LEVEL else 0.0
            for line, test in tests
            if test.first == first
        ]
        better, worse = sum(i > 0 for i in improvements), sum(i < 0 for i in improvements)
        if better or worse:
            sentences.append(
                f"{run} is significantly better than {first} (q ≤ {LEVEL}) on {better} of "
                f"{len(improvements)} metrics, and worse on {worse}"
            )
        else:
            sentences.append(
                f"{run} does not differ significantly from {first} (q ≤ {LEVEL}) on any of "
                f"{len(improvements)} metrics"
            )
    if few := sum(line.n < FEW_QUERIES for line in lines):
        sentences.append(
            f"{few} of {len(lines)} metrics {'has' if few == 1 else 'have'} fewer than "
            f"{FEW_QUERIES} queries, so that only large differences are significant there"
        )
    return sentences


def _run_with_equal_answers(tests: Sequence[Contrast]) -> str:
    """Returns the first run with the same correct answers in all tests; empty if there is none."""
    counts: dict[str, set[tuple[int, int] | None]] = {}
    for test in tests:
        counts.setdefault(test.first, set()).add(test.right_only)
    return next((run for run, right_only in counts.items() if right_only == {(0, 0)}), "")


def compare_metrics(
    metrics: Sequence[CommonMetric],
    names: Sequence[str],
    groups: Sequence[Sequence[int]],
    resamples: int,
    seed: int,
    excluded_from_tests: Collection[str] = (),
) -> list[ComparisonLine]:
    """Tests all pairs of groups in every metric.

    Args:
        metrics: The metrics and means that the runs have in common.
        names: Names of the groups.
        groups: Numbers of the runs of each group.
        resamples: Number of resamples for an interval.
        seed: Seed of resamples and permutations.
        excluded_from_tests: Names of the groups that are excluded from the tests; not the first.
    """
    tested = [i for i, name in enumerate(names) if name not in excluded_from_tests]
    pairs = list(combinations(tested, 2))
    answers = [[metric.values[list(group)].mean(0) for group in groups] for metric in metrics]
    tests = [
        [compare_pair(metric, metric_answers[a], metric_answers[b], seed) for a, b in pairs]
        for metric, metric_answers in zip(metrics, answers, strict=True)
    ]
    lines = []
    for metric, metric_answers, metric_tests, q_values in zip(
        metrics, answers, tests, _adjusted_p_values(metrics, tests), strict=True
    ):
        contrasts = []
        for (a, b), test, q_value in zip(pairs, metric_tests, q_values, strict=True):
            interval = (
                paired_interval(metric, metric_answers[a], metric_answers[b], seed, resamples)
                if a == 0
                else None
            )
            contrasts.append(_to_contrast((names[a], names[b]), test, interval, q_value))
        values = _run_values(metric, names, groups, contrasts, excluded_from_tests)
        counts = metric.n, metric.n_total, metric.n_images
        lines.append(
            ComparisonLine(
                metric.name,
                *counts,
                values,
                tuple(contrasts),
                (),
                metric.missing,
                metric.lower_is_better,
                tuple(sorted(name for name, _ in metric.shares)),
            )
        )
    return lines


def select_metrics(metrics: Sequence[CommonMetric], patterns: Sequence[str]) -> list[CommonMetric]:
    """Returns the metrics whose names match one of the shell-style patterns; all if there are none.

    Args:
        metrics: The metrics and means.
        patterns: Patterns of metrics, such as `sugarcrepe/*/i2t`, or of means.

    Raises:
        ZooError: A pattern matches no metric or mean.
    """
    names = [str(metric.name) for metric in metrics]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ZooError(
                f"--metrics {pattern!r} matches no metric or mean that the runs have in common"
                f"{suggest_names(pattern, names)}: leave it out, or name one of the table's "
                "rows (* matches anything)"
            )
    return [
        metric
        for metric, name in zip(metrics, names, strict=True)
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def _adjusted_p_values(
    metrics: Sequence[CommonMetric], tests: Sequence[Sequence[PairedTest]]
) -> list[list[float]]:
    """Returns the q of every test, adjusted over all metrics of its split, or over all means.

    Means of one preset over the same metrics with the same shares count once.
    """
    q_values = [[float("nan")] * len(metric_tests) for metric_tests in tests]
    families = [(metric.name.split, metric.name.is_mean) for metric in metrics]
    for family in dict.fromkeys(families):
        metrics_by_key: dict[object, list[int]] = {}
        for i, (metric, metric_family) in enumerate(zip(metrics, families, strict=True)):
            if metric_family == family:
                key = (metric.name.preset, metric.shares) if metric.name.is_mean else metric.name
                metrics_by_key.setdefault(key, []).append(i)
        hypotheses = [
            (same_metrics, j)
            for same_metrics in metrics_by_key.values()
            for j in range(len(tests[same_metrics[0]]))
        ]
        adjusted_p = benjamini_hochberg(
            [tests[same_metrics[0]][j].p for same_metrics, j in hypotheses]
        )
        for (same_metrics, j), q in zip(hypotheses, adjusted_p, strict=True):
            for i in same_metrics:
                q_values[i][j] = float(q)
    return q_values


def _to_contrast(
    names: tuple[str, str], test: PairedTest, interval: tuple[float, float] | None, q: float
) -> Contrast:
    low, high = (None, None) if interval is None else (100 * end for end in interval)
    return Contrast(
        *names, 100 * test.difference, low, high, test.p, q, test.right_only, test.p_by_query
    )


def _run_values(
    metric: CommonMetric,
    names: Sequence[str],
    groups: Sequence[Sequence[int]],
    tests: Sequence[Contrast],
    excluded_from_tests: Collection[str],
) -> tuple[RunValue, ...]:
    run_totals = 100 * metric.totals
    totals = [float(run_totals[list(group)].mean()) for group in groups]
    sign = -1 if metric.lower_is_better else 1
    goodness = {
        name: sign * total
        for name, total in zip(names, totals, strict=True)
        if name not in excluded_from_tests
    }
    best = max(goodness, key=lambda name: goodness[name])
    best_names = {name for name in goodness if goodness[name] >= goodness[best] - 1e-9}
    near_best_names = {
        name
        for test in tests
        for name in (test.first, test.second)
        if best in (test.first, test.second) and test.q > LEVEL
    }
    return tuple(
        RunValue(
            name,
            total,
            float(run_totals[list(group)].std(ddof=1)) if len(group) > 1 else None,
            len(group),
            float(run_totals[list(group)].min()),
            float(run_totals[list(group)].max()),
            best=name in best_names,
            near_best=name in near_best_names - best_names,
        )
        for name, group, total in zip(names, groups, totals, strict=True)
    )
