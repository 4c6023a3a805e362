"""Common: the questions that several runs were asked and scored, row by row."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.results.outcomes import SCHEMA
from zoo.results.runs import BenchmarkRun

BY_NAME = ("case", "images", "match", "options")
OF_THE_FIRST = ("identical", "bucket")  # of the same texts, however each run told them

Part = tuple[BenchmarkRun, str]
Rows = dict[tuple[BenchmarkRun, str, tuple[Hashable, ...]], int]


@dataclass(frozen=True)
class Common:
    """What several runs were all asked.

    Attributes:
        tables: Outcomes of each run, of the same questions row by row. What a run did not score is
            unscored in all.
        left_out: Number of outcomes of each run about questions that another run was not asked, by
            benchmark and subset.
        unscored: Number of common outcomes that each run did not score and another run did, by
            benchmark and subset.
        unscored_by_all: Number of common outcomes that no run scored, by benchmark and subset.
        by_name: Whether a run of an older zoo keeps no hash of what was asked. Cases of one name,
            with the same images and right answers, then count as the same.
    """

    tables: tuple[pa.Table, ...]
    left_out: dict[Part, tuple[int, ...]]
    unscored: dict[Part, tuple[int, ...]]
    unscored_by_all: dict[Part, int]
    by_name: bool


def common(runs: Sequence[pa.Table], names: Sequence[str] = ()) -> Common:
    """Cuts the outcomes of runs to the questions that all were asked.

    Args:
        runs: Outcomes of each run, as `cases.parquet` keeps them.
        names: What messages call the runs.

    Returns:
        The outcomes of all in one order, with what was left out.

    Raises:
        ZooError: A run has no question in common with those before it.
    """
    by_name = any(run["question"].null_count for run in runs)
    found = rows_by_question(runs)
    shared = list(found[0])
    for i, rows in enumerate(found[1:], start=1):
        kept = [key for key in shared if key in rows]
        if not kept:
            raise ZooError(_nothing_shared([*names] or ["one run", *["another"] * i], i, found))
        shared = kept
    of_all = set(shared)
    alone = [Counter(key[:2] for key in rows if key not in of_all) for rows in found]
    tables = [
        run.take([rows[key] for key in shared]) for run, rows in zip(runs, found, strict=True)
    ]
    for name in OF_THE_FIRST:
        at = SCHEMA.get_field_index(name)
        tables = [table.set_column(at, SCHEMA.field(at), tables[0][name]) for table in tables]
    parts = [key[:2] for key in shared]
    unscored = np.stack([np.asarray(table["right"].is_null()) for table in tables])
    by_all = unscored.all(0)
    by_some = [Counter(parts[row] for row in np.flatnonzero(own & ~by_all)) for own in unscored]
    return Common(
        tuple(_scored_by_all(tables)),
        _by_part(alone),
        _by_part(by_some),
        dict(Counter(parts[row] for row in np.flatnonzero(by_all))),
        by_name,
    )


def rows_by_question(runs: Sequence[pa.Table]) -> list[Rows]:
    """Returns the rows of each run by benchmark, subset and what they ask.

    Args:
        runs: Outcomes of each run. Where one keeps no hash of what was asked, cases of one name,
            with the same images and right answers, count as the same in all.
    """
    asked = ["question"]
    if any(run["question"].null_count for run in runs):
        asked = [name for name in BY_NAME if all(r[name].null_count < len(r) for r in runs)]
    return [_rows_by_question(run, asked) for run in runs]


def largest_difference(first: pa.Table, second: pa.Table) -> float:
    """Returns the largest absolute difference of two runs' scores, over what both scored.

    Args:
        first: Outcomes of a run, one of `Common.tables`.
        second: Outcomes of another.
    """
    both = pc.and_(
        *(pc.and_(run["right"].is_valid(), run["scores"].is_valid()) for run in (first, second))
    )
    one, other = (
        pc.list_flatten(run["scores"].filter(both)).to_numpy().astype(np.float64)
        for run in (first, second)
    )
    differ = one != other  # minus infinity, off a short-list, has no difference from itself
    return float(np.abs(one[differ] - other[differ]).max(initial=0.0))


def _scored_by_all(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Returns the tables without the answers to what one of them did not score."""
    scored = reduce(pc.and_, (table["right"].is_valid() for table in tables))
    at = SCHEMA.get_field_index("right")
    nothing = pa.scalar(None, pa.bool_())
    return [
        table.set_column(at, SCHEMA.field(at), pc.if_else(scored, table["right"], nothing))
        for table in tables
    ]


def _by_part(counts: Sequence[Counter[Part]]) -> dict[Part, tuple[int, ...]]:
    parts = sorted({part for of in counts for part in of})
    return {part: tuple(of[part] for of in counts) for part in parts}


def _nothing_shared(names: Sequence[str], run: int, found: Sequence[Rows]) -> str:
    others = f"{len(found[0]):,}" if run == 1 else "the common"
    return (
        f"{names[run]} is not over the same cases as {', '.join(names[:run])}: none of its "
        f"{len(found[run]):,} outcomes and {others} outcomes of the other is about the same "
        "images and texts; compare runs of the same benchmarks, files and options"
    )


def _rows_by_question(run: pa.Table, asked: Sequence[str]) -> Rows:
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
    rows: Rows = {}
    for row, question in enumerate(zip(*columns, strict=True)):
        benchmark, told_apart, subset, *rest = question
        asked_for = BenchmarkRun(str(benchmark), str(told_apart))
        rows[asked_for, str(subset), (*rest, times[question])] = row
        times[question] += 1
    return rows
