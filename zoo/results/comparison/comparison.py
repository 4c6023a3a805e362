"""Comparison: the numbers of several runs over the same questions, and what tells them apart."""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import combinations
from typing import TYPE_CHECKING, Any

from zoo.errors import ZooError, import_optional, suggest_names
from zoo.results.comparison.paired import Paired, compare_pair, paired_interval
from zoo.results.comparison.rows import ComparisonRow, RowName
from zoo.results.published import Figure
from zoo.results.statistics import benjamini_hochberg

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

    from zoo.results.tables import TextTable

LEVEL = 0.05  # the q above which two runs are not significantly apart


@dataclass(frozen=True)
class Contrast:
    """Two runs in one row.

    Attributes:
        first: Name of the first run.
        second: Name of the second run.
        difference: The second less the first, in percentage points.
        low: Lower end of the 95 % interval in points; None but against the first run of all.
        high: Upper end of the interval in points.
        p: The p-value of `paired`.
        q: The p-value adjusted over all pairs of runs and all metrics of a split, or all means
            (Benjamini and Hochberg).
        alone: Number of questions that each alone has right; None where answers are graded or
            averaged.
        by_question: The p-value of McNemar's test over questions, None where `alone` is.
    """

    first: str
    second: str
    difference: float
    low: float | None
    high: float | None
    p: float
    q: float
    alone: tuple[int, int] | None
    by_question: float | None


@dataclass(frozen=True)
class Value:
    """What one run has in a row.

    Attributes:
        run: Name of the run, or of the group of runs.
        value: Value in per cent; of a group, the mean over its seeds.
        deviation: Standard deviation over seeds in points, None where there is one seed.
        seeds: Number of runs that it is the mean of.
        best: Whether no other run that is tested has a higher value.
        level: Whether it is not the best, and not significantly worse than it.
    """

    run: str
    value: float
    deviation: float | None
    seeds: int
    best: bool
    level: bool


@dataclass(frozen=True)
class ComparisonLine:
    """One row of a comparison.

    Attributes:
        place: What it is called.
        n: Number of questions that all runs scored.
        of: Number of questions in the files.
        images: Number of images, or sets of images, that the questions are about.
        values: What each run has, in the order of the runs.
        tests: The tests of all pairs of runs.
        published: Figures that were published of other models.
        missing: Names of the members that a partial mean is taken without.
    """

    place: RowName
    n: int
    of: int
    images: int
    values: tuple[Value, ...]
    tests: tuple[Contrast, ...]
    published: tuple[Figure, ...]
    missing: tuple[str, ...]

    def against_first(self) -> list[Contrast]:
        """Returns the tests of the other runs against the first."""
        return [test for test in self.tests if test.first == self.values[0].run]


@dataclass(frozen=True, repr=False)
class Comparison:
    """Several runs over the questions that all were asked and scored; it prints as its tables.

    Attributes:
        runs: Names of the runs, or of the groups of runs.
        lines: The rows: metrics, means and splits.
        notes: Sentences on what was compared.
        beside: Names of the models whose published figures stand beside.
        resamples: Number of resamples of images.
        seed: Seed of the resamples.
        aside: Names of the runs that are shown and take part in no test.
    """

    runs: tuple[str, ...]
    lines: tuple[ComparisonLine, ...]
    notes: tuple[str, ...]
    beside: tuple[str, ...]
    resamples: int
    seed: int
    aside: tuple[str, ...] = ()

    @property
    def tested_runs(self) -> tuple[str, ...]:
        """Names of the runs that are tested against each other, the first of all before them."""
        return tuple(run for run in self.runs if run not in self.aside)

    @property
    def has_counts(self) -> bool:
        """Whether tests say how many questions each run alone has right; seeds have means."""
        seeds = max((value.seeds for line in self.lines for value in line.values), default=1)
        tests = (test for line in self.lines for test in line.against_first())
        return seeds == 1 and any(test.alone for test in tests)

    def __repr__(self) -> str:
        """The comparison as `zoo compare` prints it, 100 columns wide."""
        from zoo.results.comparison.layout import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """The tables, for notebooks."""
        return "".join(table.html() for table in self._tables())

    def records(self) -> list[dict[str, Any]]:
        """Returns a record for each row and run, with its difference to the first run.

        Published figures are records too, marked so.
        """
        return [record for line in self.lines for record in _records(line)]

    def to_pandas(self) -> Any:
        """Returns `records` as a pandas.DataFrame.

        Raises:
            ZooError: pandas is not installed.
        """
        pandas: Any = import_optional("pandas")
        return pandas.DataFrame(self.records())

    def to_csv(self) -> str:
        """Returns `records` as a table of comma-separated values, numbers in full."""
        from zoo.results.comparison.layout import as_csv

        return as_csv(self.records())

    def to_json(self) -> str:
        """Returns all that the comparison holds in JSON, with the tests of all pairs of runs."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)

    def to_markdown(self) -> str:
        """Returns the tables in Markdown, the best in bold and what is level with it underlined."""
        return "\n\n".join([*(table.markdown() for table in self._tables()), *self.notes])

    def to_latex(self) -> str:
        """Returns the tables in LaTeX, as tabulars and, beyond a page, longtables.

        The packages that they need, and notes, stand before them as comments.
        """
        needs = r"\usepackage{booktabs,longtable}; a page of A4 with margins of 2 cm holds six runs"
        notes = "\n".join(f"% {note}" for note in (needs, *self.notes))
        return "\n\n".join([notes, *(table.latex() for table in self._tables())])

    def figure(self) -> "Drawing":
        """Draws the differences to the first run with their intervals, a row for each metric."""
        from zoo.results.comparison.forest import forest

        return forest(self)

    def _tables(self) -> "list[TextTable]":
        from zoo.results.comparison.layout import tables

        return tables(self)


def lines_of(
    rows: Sequence[ComparisonRow],
    names: Sequence[str],
    groups: Sequence[Sequence[int]],
    resamples: int,
    seed: int,
    aside: Collection[str] = (),
) -> list[ComparisonLine]:
    """Tests all pairs of groups in every row.

    Args:
        rows: What runs have in common.
        names: Names of the groups.
        groups: Numbers of the runs of each group.
        resamples: Number of resamples of an interval.
        seed: Seed of resamples and exchanges.
        aside: Names of the groups that take part in no test; not the first.
    """
    tested = [i for i, name in enumerate(names) if name not in aside]
    pairs = list(combinations(tested, 2))
    answers = [[row.values[list(group)].mean(0) for group in groups] for row in rows]
    tests = [
        [compare_pair(row, of[a], of[b], seed) for a, b in pairs]
        for row, of in zip(rows, answers, strict=True)
    ]
    found = []
    for row, of, own, q in zip(rows, answers, tests, _adjusted_p_values(rows, tests), strict=True):
        made = []
        for (a, b), test, adjusted in zip(pairs, own, q, strict=True):
            ends = paired_interval(row, of[a], of[b], seed, resamples) if a == 0 else None
            made.append(_contrast((names[a], names[b]), test, ends, adjusted))
        values = _values(row, names, groups, made, aside)
        counts = row.n, row.of, row.images
        found.append(ComparisonLine(row.place, *counts, values, tuple(made), (), row.missing))
    return found


def select_rows(rows: Sequence[ComparisonRow], patterns: Sequence[str]) -> list[ComparisonRow]:
    """Returns the rows whose names match a pattern, as a shell's; all where none is given.

    Args:
        rows: The rows.
        patterns: Patterns of metrics, as `sugarcrepe/*/i2t`, or of means.

    Raises:
        ZooError: A pattern matches no row.
    """
    known = [str(row.place) for row in rows]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise ZooError(
                f"--metrics {pattern!r} is no metric or mean that the runs have in common"
                f"{suggest_names(pattern, known)}: leave it out, or name one of the table's "
                "rows, * for any"
            )
    return [
        row
        for row, name in zip(rows, known, strict=True)
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
    ]


def _adjusted_p_values(
    rows: Sequence[ComparisonRow], tests: Sequence[Sequence[Paired]]
) -> list[list[float]]:
    """Returns the q of every test, adjusted over all metrics of its split, or over all means.

    Means of a preset that are of the same metrics with the same shares count once.
    """
    adjusted = [[float("nan")] * len(own) for own in tests]
    families = [(row.place.split, row.place.is_mean) for row in rows]
    for family in dict.fromkeys(families):
        same: dict[object, list[int]] = {}
        for i, (row, other) in enumerate(zip(rows, families, strict=True)):
            if other == family:
                key = (row.place.preset, row.shares) if row.place.is_mean else row.place
                same.setdefault(key, []).append(i)
        own = [(of, j) for of in same.values() for j in range(len(tests[of[0]]))]
        found = benjamini_hochberg([tests[of[0]][j].p for of, j in own])
        for (of, j), q in zip(own, found, strict=True):
            for i in of:
                adjusted[i][j] = float(q)
    return adjusted


def _contrast(
    names: tuple[str, str], test: Paired, interval: tuple[float, float] | None, q: float
) -> Contrast:
    low, high = (None, None) if interval is None else (100 * end for end in interval)
    return Contrast(
        *names, 100 * test.difference, low, high, test.p, q, test.alone, test.by_question
    )


def _values(
    row: ComparisonRow,
    names: Sequence[str],
    groups: Sequence[Sequence[int]],
    tests: Sequence[Contrast],
    aside: Collection[str],
) -> tuple[Value, ...]:
    of_runs = 100 * row.totals
    totals = [float(of_runs[list(group)].mean()) for group in groups]
    tested = {name: total for name, total in zip(names, totals, strict=True) if name not in aside}
    most = max(tested.values())
    best = max(tested, key=lambda name: tested[name])
    level = {
        name
        for test in tests
        for name in (test.first, test.second)
        if best in (test.first, test.second) and test.q > LEVEL
    }
    return tuple(
        Value(
            name,
            total,
            float(of_runs[list(group)].std(ddof=1)) if len(group) > 1 else None,
            len(group),
            best=name in tested and total >= most - 1e-9,
            level=name in level and total < most - 1e-9,
        )
        for name, group, total in zip(names, groups, totals, strict=True)
    )


def _records(line: ComparisonLine) -> list[dict[str, Any]]:
    place = {"kind": "mean" if line.place.is_mean else "metric", **asdict(line.place)}
    counted = {"n": line.n, "of": line.of, "images": line.images}
    against = {test.second: test for test in line.against_first()}
    found = [
        {
            **place,
            **asdict(value),
            **counted,
            **_contrast_fields(against.get(value.run)),
            "source": None,
        }
        for value in line.values
    ]
    empty = dict.fromkeys(found[0])
    found += [
        {**empty, **place, "run": figure.model, "value": figure.value, "source": figure.source}
        for figure in line.published
    ]
    return found


def _contrast_fields(test: Contrast | None) -> dict[str, Any]:
    """Returns what a record says of a run against the first; of the first itself, nothing."""
    alone = (None, None) if test is None or test.alone is None else test.alone
    names = ("difference", "low", "high", "p", "q", "by_question")
    told = {name: None if test is None else getattr(test, name) for name in names}
    return {**told, "right_in_first_alone": alone[0], "right_in_run_alone": alone[1]}
