"""Compare: two runs over the same questions.

It tells which outcomes differ and by what margins, and whether they differ by more than chance.
"""

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from zoo.errors import ZooError
from zoo.results.metrics import Place, Rules, places
from zoo.results.outcomes import Judged, judged
from zoo.results.runs import BenchmarkRun
from zoo.results.statistics import benjamini_hochberg, paired_test

BY_NAME = ("case", "images", "match", "options")
GRADES = 1_000  # steps between the worst and the best grade
AS_KEPT = Rules(official_ties=False, drop_identical=False, macros={})


@dataclass(frozen=True)
class Matched:
    """What two runs were both asked.

    Attributes:
        first: Outcomes of the first run.
        second: Outcomes of the second run, of the same questions row by row.
        left_out: Number of outcomes of each run about questions that the other was not asked, by
            benchmark and subset.
        by_name: Whether a run of an older zoo keeps no hash of what was asked. Cases of one name,
            with the same images and right answers, then count as the same.
    """

    first: pa.Table
    second: pa.Table
    left_out: dict[tuple[BenchmarkRun, str], tuple[int, int]]
    by_name: bool


@dataclass(frozen=True)
class Difference:
    """An outcome that differs between two runs.

    A margin is the worst right score minus the best wrong one.

    Attributes:
        run: The benchmark, as it was asked for.
        subset: Name of the subset.
        case: Id of the case.
        query: Row or column that asks.
        metric: Name of the metric.
        first_right: Whether the first run is right.
        second_right: Whether the second run is right.
        first_margin: Margin of the first run.
        second_margin: Margin of the second run.
    """

    run: BenchmarkRun
    subset: str
    case: str
    query: int
    metric: str
    first_right: bool
    second_right: bool
    first_margin: float
    second_margin: float


@dataclass(frozen=True)
class Paired:
    """The test of one metric over the questions that both runs scored.

    Attributes:
        place: Benchmark, subset and metric.
        n: Number of questions that both runs scored.
        images: Number of images, or sets of images, that these questions are about.
        first_value: Share of right answers of the first run, or mean of its grades.
        second_value: Share of right answers of the second run, or mean of its grades.
        first: Number of answers that are right in the first run alone, or better where graded.
        second: Number of answers that are right in the second run alone, or better.
        p: The p-value of `paired_test`.
        q: The p-value adjusted over all compared metrics (Benjamini and Hochberg).
    """

    place: Place
    n: int
    images: int
    first_value: float
    second_value: float
    first: int
    second: int
    p: float
    q: float


def matched(first: pa.Table, second: pa.Table) -> Matched:
    """Cuts the outcomes of two runs to the questions that both were asked.

    Args:
        first: Outcomes of a run, as `cases.parquet` keeps them.
        second: Outcomes of another run.

    Returns:
        The outcomes of both in one order, with what was left out.

    Raises:
        ZooError: No question is the same in both.
    """
    by_name = any(run["question"].null_count for run in (first, second))
    kept = [
        name for name in BY_NAME if all(run[name].null_count < len(run) for run in (first, second))
    ]
    a, b = (_rows_by_question(run, kept if by_name else ["question"]) for run in (first, second))
    common = [key for key in a if key in b]
    if not common:
        raise ZooError(
            f"the two runs are not over the same cases: none of the {len(a):,} outcomes of one and "
            f"{len(b):,} of the other is about the same images and texts; compare runs of the same "
            "benchmarks, files and options"
        )
    alone = [
        Counter((key[0], key[1]) for key in run if key not in other)
        for run, other in ((a, b), (b, a))
    ]
    left_out = {part: (alone[0][part], alone[1][part]) for part in sorted({*alone[0], *alone[1]})}
    one, other = first.take([a[key] for key in common]), second.take([b[key] for key in common])
    same = other.column_names.index("identical")  # of the same texts, however each run told them
    return Matched(one, other.set_column(same, "identical", one["identical"]), left_out, by_name)


def paired(runs: Matched, rules: Rules = AS_KEPT) -> list[Paired]:
    """Tests every metric that both runs scored.

    Args:
        runs: The outcomes of both runs.
        rules: What counts as right. By default outcomes count as they are kept: every tie is wrong.
    """
    found = []
    for place, _, a, b in judged_by_both(runs, rules):
        first, second = a.value, b.value
        if len(first):
            p = paired_test(*_in_steps(first, second), a.image)
            alone = int((first > second).sum()), int((second > first).sum())
            values = float(first.mean()), float(second.mean())
            found.append((place, len(first), len(np.unique(a.image)), *values, *alone, p))
    if not found:
        return []
    q = benjamini_hochberg([test[-1] for test in found])
    return [Paired(*test, q=float(one)) for test, one in zip(found, q, strict=True)]


def _in_steps(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns values as whole numbers of steps, which the test needs; grades in thousandths."""
    steps = 1 if np.isin([first, second], (0, 1)).all() else GRADES
    return np.rint(steps * first).astype(np.int64), np.rint(steps * second).astype(np.int64)


def differences(runs: Matched, rules: Rules = AS_KEPT) -> list[Difference]:
    """Returns the outcomes that both runs scored and that differ, smallest margins first.

    Args:
        runs: The outcomes of both runs.
        rules: What counts as right, as in `paired`.
    """
    found = []
    for place, rows, a, b in judged_by_both(runs, rules):
        for i in np.flatnonzero(a.value != b.value):
            row = int(rows[i])
            case, query = runs.first["case"][row].as_py(), runs.first["query"][row].as_py()
            margins = (_margin(run, row, rules) for run in (runs.first, runs.second))
            right = bool(a.right[i]), bool(b.right[i])
            found.append(Difference(place[0], place[1], case, query, place[2], *right, *margins))
    return sorted(found, key=lambda d: (max(abs(d.first_margin), abs(d.second_margin)), d.case))


def largest_difference(runs: Matched) -> float:
    """Returns the largest absolute difference of two runs' scores, over what both scored."""
    both = pc.and_(runs.first["scores"].is_valid(), runs.second["scores"].is_valid())
    one, other = (
        pc.list_flatten(run["scores"].filter(both)).to_numpy().astype(np.float64)
        for run in (runs.first, runs.second)
    )
    differ = one != other  # minus infinity, off a short-list, has no difference from itself
    return float(np.abs(one[differ] - other[differ]).max(initial=0.0))


def judged_by_both(
    runs: Matched, rules: Rules
) -> Iterator[tuple[Place, NDArray[np.int64], Judged, Judged]]:
    """Yields each metric, its rows, and the counted outcomes that both runs scored."""
    for place, rows in places(runs.first).items():
        a, b = (
            judged(run.take(rows), rules.official_ties, rules.drop_identical)
            for run in (runs.first, runs.second)
        )
        both = a.scored & b.scored
        yield place, rows[a.row[both]], a.where(both), b.where(both)


def _margin(run: pa.Table, row: int, rules: Rules) -> float:
    scores = np.array(run["scores"][row].as_py(), dtype=np.float64)
    match = np.array(run["match"][row].as_py(), dtype=bool)
    identical = run["identical"][row].as_py()
    dropped = rules.drop_identical and identical is not None
    wrong = ~match & ~np.array(identical) if dropped else ~match
    return float(scores[match].min() - scores[wrong].max())


def _rows_by_question(
    run: pa.Table, asked: list[str]
) -> dict[tuple[BenchmarkRun, str, Hashable], int]:
    """Returns the number of each row by benchmark, subset and what it asks.

    What is asked several times is told apart by its order.

    Args:
        run: Outcomes of a run.
        asked: Columns that tell what a case asks.
    """
    names = ["benchmark", "run", "subset", "metric", "query"]
    columns: list[list[Hashable]] = [run[name].to_pylist() for name in names]
    columns += [list(map(str, run[name].to_pylist())) for name in asked]
    times: Counter[Hashable] = Counter()
    rows: dict[tuple[BenchmarkRun, str, Hashable], int] = {}
    for row, question in enumerate(zip(*columns, strict=True)):
        benchmark, told_apart, subset, *rest = question
        asked_for = BenchmarkRun(str(benchmark), str(told_apart))
        rows[asked_for, str(subset), (*rest, times[question])] = row
        times[question] += 1
    return rows
