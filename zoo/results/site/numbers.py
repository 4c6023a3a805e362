"""Numbers of a report: values with intervals and coverage, each with its cases behind it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from urllib.parse import urlencode

from zoo.results.averages import Average, Mean, parts
from zoo.results.comparison.comparison import Comparison, ComparisonLine
from zoo.results.metrics import MACRO, Metric
from zoo.results.report import Counted, Results
from zoo.results.runs import BenchmarkRun
from zoo.results.site.answers import Answers

CASES = "cases.html"
SHOW = {"show": "all"}
FEW = 100  # queries, fewer of which say little
NAMED = 3  # benchmarks that an average is said to be of by their names
END = 1.0  # points from 0 or 100 %, within which runs cannot be told apart
WEIGHTED = {
    "equal": "",
    "cases": "weighted by cases in the files",
    "members": "weighted by numbers of members",
}


@dataclass(frozen=True)
class Cell:
    """What one run, or the runs of a group, have in a row.

    Attributes:
        value: Value in per cent, None where there is none; of a group, the mean over its runs.
        low: Lower end of its 95 % interval, None where there is none, and of a group.
        high: Upper end of its 95 % interval, None where there is none, and of a group.
        n: How many queries were scored.
        of: How many the files have.
        href: Where its cases are shown, of a group those of its first run; empty where there are
            none.
        deviation: Standard deviation over the runs of a group in points, None of one run.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    of: int
    href: str
    deviation: float | None = None


@dataclass(frozen=True)
class ReportRow:
    """A row of the report.

    Attributes:
        names: What it is called, in one or more words.
        cells: What each run or group has, None of one that was not asked.
        ties: How many scored queries are ties, run by run; empty of an average.
        chance: Chance level in per cent, None where it is not known.
        published: What was published of OpenAI's ViT-B/32, None where it is not known.
        note: What else is to be said of it.
    """

    names: tuple[str, ...]
    cells: tuple[Cell | None, ...]
    ties: tuple[int, ...] = ()
    chance: float | None = None
    published: float | None = None
    note: str = ""

    @property
    def coverage(self) -> str:
        """How many queries were scored of how many; of each run where these differ."""
        counts = dict.fromkeys(f"{cell.n:,} of {cell.of:,}" for cell in self.cells if cell)
        return " / ".join(counts)


class Links:
    """Addresses of cases.

    Args:
        answers: What the page of cases shows.
    """

    def __init__(self, answers: Answers) -> None:
        self._parts = [part.place for part in answers.parts]

    def metric(self, metric: Metric, counted: str, run: int, **more: str | int) -> str:
        """Returns the address of the cases of a metric.

        Args:
            metric: The metric.
            counted: Name of the metric that its cases count towards; its own but for a macro
                average.
            run: Number of the run.
            **more: What else the page is asked for.
        """
        return self.place(str(metric.benchmark_run), metric.subset, counted, run, **more)

    def place(self, asked: str, subset: str, metric: str, run: int, **more: str | int) -> str:
        """Returns the address of the cases of a benchmark, subset and metric; see `metric`."""
        own = [of for name, part, of in self._parts if (str(name), part) == (asked, subset)]
        if metric == MACRO and own:
            metric = own[0]  # whose mean over classes or objects it is
        if metric not in own:
            return ""
        asks = {"benchmark": asked, "subset": subset, "metric": metric, "a": run, **SHOW, **more}
        return f"{CASES}#{urlencode(asks)}"

    def members(
        self,
        name: str,
        places: Iterable[tuple[BenchmarkRun, str, str]],
        run: int,
        **more: str | int,
    ) -> str:
        """Returns the address of the cases of several metrics together.

        Args:
            name: What they are together.
            places: Benchmark, subset and metric of each.
            run: Number of the run.
            **more: What else the page is asked for.
        """
        numbers = [self._parts.index(place) for place in places if place in self._parts]
        asks = {"in": ",".join(map(str, numbers)), "name": name, "a": run, **SHOW, **more}
        return f"{CASES}#{urlencode(asks)}" if numbers else ""

    def subsets(self, asked: BenchmarkRun, metric: str, run: int, **more: str | int) -> str:
        """Returns the address of the cases of a metric over all subsets of a benchmark.

        Args:
            asked: The benchmark.
            metric: Name of the metric.
            run: Number of the run.
            **more: What else the page is asked for.
        """
        places = [place for place in self._parts if (place[0], place[2]) == (asked, metric)]
        return self.members(f"{asked}, {metric}", places, run, **more)


def metric_rows(groups: Mapping[str, Sequence[Results]], links: Links) -> list[ReportRow]:
    """Returns a row for each metric of the first preset that any run has.

    Args:
        groups: Runs that are taken together, by name; one alone is a group of itself.
        links: Addresses of cases.
    """
    found = [
        [{(m.benchmark_run, m.subset, m.metric): m for m in run.metrics} for run in runs]
        for runs in groups.values()
    ]
    rows = []
    for place in dict.fromkeys(place for runs in found for of in runs for place in of):
        own = [[of.get(place) for of in runs] for runs in found]
        first = next(metric for of in own for metric in of if metric is not None)
        counted = _counted_cases(first, (m for runs in found for of in runs for m in of.values()))
        cells = tuple(
            _cell(of, "" if of[0] is None else links.metric(of[0], counted, i))
            for i, of in enumerate(own)
        )
        firsts = {name: of[0] for name, of in zip(groups, own, strict=True)}
        notes = (_gallery(first), *_cautions(firsts, first.chance))
        rows.append(
            ReportRow(
                (str(place[0]), place[1], place[2]),
                cells,
                tuple(of[0].ties for of in own if of[0] is not None),
                first.chance,
                first.published,
                "; ".join(filter(None, notes)),
            )
        )
    return rows


def _gallery(metric: Metric) -> str:
    if not metric.partial_gallery:
        return ""
    return (
        f"among {metric.images:,} of the {metric.gallery_of:,} images of the gallery, which is "
        "easier"
    )


def _cautions(found: Mapping[str, Metric | None], chance: float | None) -> Iterator[str]:
    """Yields what keeps numbers of a metric from telling much: few queries, chance, an end.

    Args:
        found: What each run has, the first of a group.
        chance: Chance level in per cent, None where it is not known.
    """
    known = {name: m for name, m in found.items() if m is not None and m.value is not None}
    if not known:
        return
    if max(metric.n for metric in known.values()) < FEW:
        yield "few queries"
    values = [metric.value or 0.0 for metric in known.values()]
    if max(values) <= END:
        yield "at the floor"
    if min(values) >= 100 - END:
        yield "at the ceiling"
    if chance is None:
        return
    ends = {name: (m.low, m.high) for name, m in known.items() if m.low is not None is not m.high}
    below = [name for name, (_, high) in ends.items() if high < chance]
    if below:
        yield f"below chance: {', '.join(below)}"
    if ends and all(low <= chance <= high for low, high in ends.values()):
        yield "no run is told from chance"


def _counted_cases(metric: Metric, others: Iterable[Metric]) -> str:
    """Returns whose cases a metric counts: its own, or of a macro average those beside it."""
    if metric.metric != MACRO:
        return metric.metric
    beside = (
        m.metric
        for m in others
        if (m.benchmark_run, m.subset) == (metric.benchmark_run, metric.subset)
    )
    return next((name for name in beside if name != MACRO), MACRO)


def average_rows(
    groups: Sequence[Sequence[Counted]], means: Sequence[Mean], links: Links
) -> list[ReportRow]:
    """Returns a row for each average under one preset that any run has.

    Args:
        groups: What the runs of each group have under the preset.
        means: The means of the preset.
        links: Addresses of cases.
    """
    found = [[{one.name: one for one in of.averages} for of in runs] for runs in groups]
    used = [
        {part.name: [m for m, _ in part.shares] for part in parts(means, runs[0].metrics)}
        for runs in groups
    ]
    rows = []
    for name in dict.fromkeys(name for runs in found for of in runs for name in of):
        own = [[of.get(name) for of in runs] for runs in found]
        members = [of.get(name, []) for of in used]
        cells = tuple(
            _cell(
                of,
                links.members(
                    name,
                    [
                        (m.benchmark_run, m.subset, _counted_cases(m, groups[i][0].metrics))
                        for m in members[i]
                    ],
                    i,
                ),
            )
            for i, of in enumerate(own)
        )
        known = [average for of in own for average in of if average is not None]
        over = dict.fromkeys(str(m.benchmark_run) for of in members for m in of)
        of = ", ".join(over) if len(over) <= NAMED else f"{len(over)} benchmarks"
        notes = (f"of {of}", WEIGHTED[known[0].weighting], _missing(known))
        rows.append(ReportRow((name,), cells, note="; ".join(filter(None, notes))))
    return rows


def _missing(averages: Iterable[Average]) -> str:
    """Says what averages are taken without, or not taken for."""
    for average in averages:
        if average.missing:
            what = "not taken, without" if average.value is None else "taken without"
            more = f" and {len(average.missing) - 1} more" if len(average.missing) > 1 else ""
            return f"{what} {average.missing[0]}{more}"
    return ""


def _cell(found: Sequence[Metric | Average | None], href: str) -> Cell | None:
    """Returns what a group has, by what its runs have; None where one of them was not asked."""
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    first, values = known[0], [one.value for one in known if one.value is not None]
    if len(known) == 1:
        return Cell(first.value, first.low, first.high, first.n, first.of, href)
    whole = len(values) == len(known)
    value, deviation = (mean(values), stdev(values)) if whole else (None, None)
    return Cell(value, None, None, first.n, first.of, href, deviation)


@dataclass(frozen=True)
class RunDifference:
    """How a run differs from the first in one metric or average.

    Attributes:
        name: Name of the metric or average.
        run: Name of the run.
        difference: The run less the first, in percentage points.
        href: Where the cases of both are shown; empty where there are none.
        low: Lower end of the 95 % interval in points.
        high: Upper end of the interval in points.
        p: The p-value.
        q: The adjusted p-value.
        lost: How many questions the first alone has right, with the address of these cases.
        gained: How many questions the run alone has right, with the address of these cases.
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


def differences(
    comparison: Comparison, links: Links, averages: Mapping[str, Sequence[ReportRow]]
) -> Iterator[RunDifference]:
    """Yields how the other runs differ from the first, metric by metric.

    Args:
        comparison: The runs.
        links: Addresses of cases.
        averages: Averages, by preset.
    """
    means = {
        (preset, row.names[0]): row.cells[0].href
        for preset, rows in averages.items()
        for row in rows
        if row.cells[0] is not None
    }
    for line in comparison.lines:
        for test in line.against_first():
            b = comparison.runs.index(test.second)
            mean = means.get((line.place.preset, line.place.metric), "")
            whole, *each = (
                _pair_address(mean, b, show)
                if line.place.is_mean
                else _address(line, links, b, show)
                for show in ("apart", "lost", "gained")
            )
            alone = (
                comparison.has_counts and test.alone and list(zip(test.alone, each, strict=True))
            )
            yield RunDifference(
                str(line.place),
                test.second,
                test.difference,
                whole,
                test.low,
                test.high,
                test.p,
                test.q,
                *(alone or (None, None)),
            )


def _pair_address(address: str, b: int, show: str) -> str:
    """Returns the address of some of one run's cases, with those of another beside them."""
    shown = address.replace(urlencode(SHOW), urlencode({"show": show}))
    return address and f"{shown}&b={b}"


def _address(line: ComparisonLine, links: Links, b: int, show: str) -> str:
    place = line.place
    split = {"split": place.split} if place.split not in ("", "full") else {}
    return links.place(place.benchmark, place.subset, place.metric, 0, b=b, show=show, **split)
