"""Numbers of a report: values with intervals and coverage, with links to their cases."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from urllib.parse import urlencode

from zoo.results.averages import Average, Mean, resolve_available_means
from zoo.results.comparison.comparison import Comparison
from zoo.results.comparison.lines import FEW_QUERIES, ComparisonLine
from zoo.results.metrics import MACRO, Metric
from zoo.results.preset_results import PresetResults
from zoo.results.report import Results
from zoo.results.runs import BenchmarkRun
from zoo.results.site.answers import ReportAnswers

CASES = "cases.html"
SHOW = {"show": "all"}
MAX_NAMED = 3  # an average over more benchmarks shows only their number
EDGE = 1.0  # points from 0 or 100 %, within which runs cannot be distinguished
WEIGHTING_NOTES = {
    "equal": "",
    "cases": "weighted by cases in the files",
    "members": "weighted by numbers of members",
}


@dataclass(frozen=True)
class ReportCell:
    """The number of one run, or of the runs of a group, in a row.

    Attributes:
        value: Value in per cent, None if there is none; for a group, the mean over its runs.
        low: Lower end of its 95 % interval, None if there is none, and for a group.
        high: Upper end of its 95 % interval, None if there is none, and for a group.
        n: Number of scored queries.
        n_total: Number of queries in the files.
        href: Address of its cases, for a group those of its first run; empty if there are none.
        deviation: Standard deviation over the runs of a group in points, None for one run.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    n_total: int
    href: str
    deviation: float | None = None


@dataclass(frozen=True)
class ReportRow:
    """A row of the report.

    Attributes:
        names: The parts of its name.
        cells: The number of each run or group, None for one that was not measured.
        ties: Number of scored queries that are ties, run by run; empty for an average.
        chance: Chance level in per cent, None if it is not known.
        published: The published result of OpenAI's ViT-B/32, None if it is not known.
        note: Further notes on it.
    """

    names: tuple[str, ...]
    cells: tuple[ReportCell | None, ...]
    ties: tuple[int, ...] = ()
    chance: float | None = None
    published: float | None = None
    note: str = ""

    @property
    def coverage(self) -> str:
        """Scored queries of all queries; per run, if these differ."""
        counts = dict.fromkeys(f"{cell.n:,} of {cell.n_total:,}" for cell in self.cells if cell)
        return " / ".join(counts)


class Links:
    """Builds the addresses of cases.

    Args:
        answers: The answers on the page of cases.
    """

    def __init__(self, answers: ReportAnswers) -> None:
        self._parts = [part.key for part in answers.metric_ranges]

    def metric_link(
        self, metric: Metric, counted_metric: str, run: int, **filters: str | int
    ) -> str:
        """Returns the address of the cases of a metric.

        Args:
            metric: The metric.
            counted_metric: Name of the metric whose cases it counts; its own, except for a macro
                average.
            run: Number of the run.
            **filters: Further parameters of the page.
        """
        return self.case_link(
            str(metric.benchmark_run), metric.subset, counted_metric, run, **filters
        )

    def case_link(
        self, benchmark: str, subset: str, metric: str, run: int, **filters: str | int
    ) -> str:
        """Returns the address of the cases of a benchmark, subset and metric; see `metric`."""
        metric_names = [
            metric_name
            for name, part, metric_name in self._parts
            if (str(name), part) == (benchmark, subset)
        ]
        if metric == MACRO and metric_names:
            metric = metric_names[0]  # the metric that it averages over classes or objects
        if metric not in metric_names:
            return ""
        query = {
            "benchmark": benchmark,
            "subset": subset,
            "metric": metric,
            "a": run,
            **SHOW,
            **filters,
        }
        return f"{CASES}#{urlencode(query)}"

    def members_link(
        self,
        name: str,
        keys: Iterable[tuple[BenchmarkRun, str, str]],
        run: int,
        **filters: str | int,
    ) -> str:
        """Returns the address of the cases of several metrics together.

        Args:
            name: Name for all of them.
            keys: Benchmark, subset and metric of each.
            run: Number of the run.
            **filters: Further parameters of the page.
        """
        numbers = [self._parts.index(key) for key in keys if key in self._parts]
        query = {"in": ",".join(map(str, numbers)), "name": name, "a": run, **SHOW, **filters}
        return f"{CASES}#{urlencode(query)}" if numbers else ""

    def subsets_link(
        self, benchmark_run: BenchmarkRun, metric: str, run: int, **filters: str | int
    ) -> str:
        """Returns the address of the cases of a metric over all subsets of a benchmark.

        Args:
            benchmark_run: The benchmark.
            metric: Name of the metric.
            run: Number of the run.
            **filters: Further parameters of the page.
        """
        keys = [p for p in self._parts if (p[0], p[2]) == (benchmark_run, metric)]
        return self.members_link(f"{benchmark_run}, {metric}", keys, run, **filters)


def metric_rows(groups: Mapping[str, Sequence[Results]], links: Links) -> list[ReportRow]:
    """Returns a row for each metric of the first preset that any run has.

    Args:
        groups: Runs of each group, by name; a single run is a group of one.
        links: Addresses of cases.
    """
    groups_metrics = [
        [{m.metric_key: m for m in run.metrics} for run in runs] for runs in groups.values()
    ]
    all_metrics = [m for runs in groups.values() for run in runs for m in run.metrics]
    rows = []
    for key in dict.fromkeys(key for runs in groups_metrics for run in runs for key in run):
        group_metrics = [[run.get(key) for run in runs] for runs in groups_metrics]
        first_metric = next(m for metrics in group_metrics for m in metrics if m is not None)
        counted_name = _counted_metric_name(first_metric, all_metrics)
        cells = tuple(
            _group_cell(
                metrics,
                "" if metrics[0] is None else links.metric_link(metrics[0], counted_name, i),
            )
            for i, metrics in enumerate(group_metrics)
        )
        first_by_group = {
            name: metrics[0] for name, metrics in zip(groups, group_metrics, strict=True)
        }
        notes = (
            _direction_note(first_metric.lower_is_better),
            _gallery_note(first_metric),
            *_cautions(first_by_group, first_metric.chance),
        )
        rows.append(
            ReportRow(
                (str(key[0]), key[1], key[2]),
                cells,
                tuple(metrics[0].ties for metrics in group_metrics if metrics[0] is not None),
                first_metric.chance,
                first_metric.published,
                "; ".join(filter(None, notes)),
            )
        )
    return rows


def _direction_note(lower_is_better: bool | None) -> str:
    return "lower is better" if lower_is_better else ""


def _gallery_note(metric: Metric) -> str:
    if not metric.partial_gallery:
        return ""
    return f"only {metric.images:,} of the gallery's {metric.gallery_size:,} images (easier)"


def _cautions(metric_by_run: Mapping[str, Metric | None], chance: float | None) -> Iterator[str]:
    """Yields reasons why a metric says little: few queries, chance level, floor or ceiling.

    Args:
        metric_by_run: The metric of each run, or of the first run of each group.
        chance: Chance level in per cent, None if it is not known.
    """
    measured = {
        name: m for name, m in metric_by_run.items() if m is not None and m.value is not None
    }
    if not measured:
        return
    if max(metric.n for metric in measured.values()) < FEW_QUERIES:
        yield f"fewer than {FEW_QUERIES} queries"
    values = [metric.value or 0.0 for metric in measured.values()]
    if max(values) <= EDGE:
        yield "at the floor"
    if min(values) >= 100 - EDGE:
        yield "at the ceiling"
    if chance is None:
        return
    intervals = {
        name: (m.low, m.high) for name, m in measured.items() if m.low is not None is not m.high
    }
    if any(metric.lower_is_better for metric in measured.values()):
        side, worse = "above", [name for name, (low, _) in intervals.items() if low > chance]
    else:
        side, worse = "below", [name for name, (_, high) in intervals.items() if high < chance]
    if worse:
        yield f"{side} chance: {', '.join(worse)}"
    if intervals and all(low <= chance <= high for low, high in intervals.values()):
        yield "no run differs from chance"


def _counted_metric_name(metric: Metric, all_metrics: Iterable[Metric]) -> str:
    """Returns the metric whose cases a metric counts: itself, or the members of a macro average."""
    if metric.metric != MACRO:
        return metric.metric
    sibling_names = (
        m.metric
        for m in all_metrics
        if (m.benchmark_run, m.subset) == (metric.benchmark_run, metric.subset)
    )
    return next((name for name in sibling_names if name != MACRO), MACRO)


def average_rows(
    groups: Sequence[Sequence[PresetResults]], means: Sequence[Mean], links: Links
) -> list[ReportRow]:
    """Returns a row for each average under one preset that any run has.

    Args:
        groups: The counts of the runs of each group under the preset.
        means: The means of the preset.
        links: Addresses of cases.
    """
    groups_averages = [
        [{average.name: average for average in counts.averages} for counts in runs]
        for runs in groups
    ]
    groups_parts = [
        {part.name: part for part in resolve_available_means(means, runs[0].metrics)}
        for runs in groups
    ]
    rows = []
    for name in dict.fromkeys(name for runs in groups_averages for run in runs for name in run):
        group_averages = [[run.get(name) for run in runs] for runs in groups_averages]
        parts = [group_parts.get(name) for group_parts in groups_parts]
        members = [[m for m, _ in part.shares] if part else [] for part in parts]
        cells = tuple(
            _group_cell(
                averages,
                links.members_link(
                    name,
                    [
                        (m.benchmark_run, m.subset, _counted_metric_name(m, groups[i][0].metrics))
                        for m in members[i]
                    ],
                    i,
                ),
            )
            for i, averages in enumerate(group_averages)
        )
        known_averages = [a for averages in group_averages for a in averages if a is not None]
        names = dict.fromkeys(str(m.benchmark_run) for metrics in members for m in metrics)
        benchmarks = ", ".join(names) if len(names) <= MAX_NAMED else f"{len(names)} benchmarks"
        weighting = WEIGHTING_NOTES[known_averages[0].weighting]
        lower_is_better = any(part.lower_is_better for part in parts if part)
        notes = (
            f"over {benchmarks}",
            _direction_note(lower_is_better),
            weighting,
            _missing_note(known_averages),
        )
        rows.append(ReportRow((name,), cells, note="; ".join(filter(None, notes))))
    return rows


def _missing_note(averages: Iterable[Average]) -> str:
    """Returns a note on the missing members of averages; empty if there are none."""
    for average in averages:
        if average.missing:
            status = "not reported" if average.value is None else "partial"
            suffix = f" and {len(average.missing) - 1} more" if len(average.missing) > 1 else ""
            return f"{status}: {average.missing[0]}{suffix} missing"
    return ""


def _group_cell(run_numbers: Sequence[Metric | Average | None], href: str) -> ReportCell | None:
    """Returns the number of a group from those of its runs; None if one was not measured."""
    present = [number for number in run_numbers if number is not None]
    if len(present) < len(run_numbers):
        return None
    first = present[0]
    values = [number.value for number in present if number.value is not None]
    if len(present) == 1:
        return ReportCell(first.value, first.low, first.high, first.n, first.n_total, href)
    is_complete = len(values) == len(present)
    value, deviation = (mean(values), stdev(values)) if is_complete else (None, None)
    return ReportCell(value, None, None, first.n, first.n_total, href, deviation)


@dataclass(frozen=True)
class RunDifference:
    """The difference between a run and the first in one metric or average.

    Attributes:
        name: Name of the metric or average.
        run: Name of the run.
        difference: The run minus the first, in percentage points.
        href: Address of the cases of both; empty if there are none.
        low: Lower end of the 95 % interval in points.
        high: Upper end of the interval in points.
        p: The p-value.
        q: The adjusted p-value.
        lost: Number of queries that only the first run has right, with the address of their cases.
        gained: Number of queries that only this run has right, with the address of their cases.
    """

    name: str
    run: str
    difference: float
    href: str
    low: float | None
    high: float | None
    p: float
    q: float
    lost: tuple[int, str] | None
    gained: tuple[int, str] | None


def run_differences(
    comparison: Comparison, links: Links, averages: Mapping[str, Sequence[ReportRow]]
) -> Iterator[RunDifference]:
    """Yields the differences between the other runs and the first, metric by metric.

    Args:
        comparison: The runs.
        links: Addresses of cases.
        averages: Averages, by preset.
    """
    mean_addresses = {
        (preset, row.names[0]): row.cells[0].href
        for preset, rows in averages.items()
        for row in rows
        if row.cells[0] is not None
    }
    for line in comparison.lines:
        for test in line.tests_against_first():
            b = comparison.runs.index(test.second)
            mean_address = mean_addresses.get((line.name.preset, line.name.metric), "")
            all_cases, *one_sided = (
                _pair_address(mean_address, b, show)
                if line.name.is_mean
                else _metric_address(line, links, b, show)
                for show in ("apart", "lost", "gained")
            )
            counts = (
                comparison.has_right_only_counts
                and test.right_only
                and list(zip(test.right_only, one_sided, strict=True))
            )
            yield RunDifference(
                str(line.name),
                test.second,
                test.difference,
                all_cases,
                test.low,
                test.high,
                test.p,
                test.q,
                *(counts or (None, None)),
            )


def _pair_address(address: str, b: int, show: str) -> str:
    """Returns the address of a run's cases, restricted by `show`, next to those of run `b`."""
    changed = address.replace(urlencode(SHOW), urlencode({"show": show}))
    return address and f"{changed}&b={b}"


def _metric_address(line: ComparisonLine, links: Links, b: int, show: str) -> str:
    name = line.name
    split = {"split": name.split} if name.split not in ("", "full") else {}
    return links.case_link(name.benchmark, name.subset, name.metric, 0, b=b, show=show, **split)
