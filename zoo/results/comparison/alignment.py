"""Cuts the outcomes of several runs to the queries that they have in common, row by row."""

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

FROM_FIRST_RUN = ("identical", "bucket")  # properties of the texts: taken from the first run

BenchmarkSubset = tuple[BenchmarkRun, str]
RowsByQuery = dict[tuple[BenchmarkRun, str, tuple[Hashable, ...]], int]


@dataclass(frozen=True)
class AlignedRuns:
    """The outcomes of several runs for the queries that they have in common.

    Attributes:
        tables: Outcomes of each run, with the same query in the same row. An outcome that one run
            did not score is unscored in all.
        left_out_counts: Number of outcomes of each run for queries that another run does not have,
            by benchmark and subset.
        unscored_counts: Number of common outcomes that each run did not score and another run did,
            by benchmark and subset.
        unscored_by_all: Number of common outcomes that no run scored, by benchmark and subset.
    """

    tables: tuple[pa.Table, ...]
    left_out_counts: dict[BenchmarkSubset, tuple[int, ...]]
    unscored_counts: dict[BenchmarkSubset, tuple[int, ...]]
    unscored_by_all: dict[BenchmarkSubset, int]


def align_runs(runs: Sequence[pa.Table], names: Sequence[str] = ()) -> AlignedRuns:
    """Cuts the outcomes of runs to the queries that they have in common.

    Args:
        runs: Outcomes of each run, as in `cases.parquet`.
        names: Names of the runs, for error messages.

    Returns:
        The outcomes of all runs in the same order, and the number of outcomes left out.

    Raises:
        ZooError: A run has no query in common with the runs before it.
    """
    rows_by_run = list(map(rows_by_query, runs))
    shared = list(rows_by_run[0])
    for i, rows in enumerate(rows_by_run[1:], start=1):
        common_keys = [key for key in shared if key in rows]
        if not common_keys:
            raise ZooError(
                _nothing_shared_message([*names] or ["one run", *["another"] * i], i, rows_by_run)
            )
        shared = common_keys
    shared_keys = set(shared)
    unshared_counts = [
        Counter(key[:2] for key in rows if key not in shared_keys) for rows in rows_by_run
    ]
    tables = [
        run.take([rows[key] for key in shared]) for run, rows in zip(runs, rows_by_run, strict=True)
    ]
    for name in FROM_FIRST_RUN:
        column = SCHEMA.get_field_index(name)
        tables = [
            table.set_column(column, SCHEMA.field(column), tables[0][name]) for table in tables
        ]
    parts = [key[:2] for key in shared]
    unscored = np.stack([np.asarray(table["right"].is_null()) for table in tables])
    unscored_by_all = unscored.all(0)
    unscored_by_some = [
        Counter(parts[row] for row in np.flatnonzero(run_unscored & ~unscored_by_all))
        for run_unscored in unscored
    ]
    return AlignedRuns(
        tuple(_mask_unscored(tables)),
        _counts_by_subset(unshared_counts),
        _counts_by_subset(unscored_by_some),
        dict(Counter(parts[row] for row in np.flatnonzero(unscored_by_all))),
    )


def rows_by_query(run: pa.Table) -> RowsByQuery:
    """Returns the row of each query, by benchmark, subset and contents of the query.

    Queries that occur several times are numbered in order.

    Args:
        run: Outcomes of a run.
    """
    columns = ("benchmark", "run", "subset", "metric", "query", "fingerprint")
    occurrences: Counter[Hashable] = Counter()
    rows: RowsByQuery = {}
    for row, query in enumerate(zip(*(run[name].to_pylist() for name in columns), strict=True)):
        benchmark, run_label, subset, *rest = query
        rows[BenchmarkRun(benchmark, run_label), subset, (*rest, occurrences[query])] = row
        occurrences[query] += 1
    return rows


def largest_score_difference(first: pa.Table, second: pa.Table) -> float:
    """Returns the largest absolute difference between the scores of two runs, where both scored.

    Args:
        first: Outcomes of a run, one of `AlignedRuns.tables`.
        second: Outcomes of another run.
    """
    scored_by_both = pc.and_(
        *(pc.and_(run["right"].is_valid(), run["scores"].is_valid()) for run in (first, second))
    )
    first_scores, second_scores = (
        pc.list_flatten(run["scores"].filter(scored_by_both)).to_numpy().astype(np.float64)
        for run in (first, second)
    )
    # minus infinity, outside a short-list, does not differ from itself
    is_different = first_scores != second_scores
    return float(np.abs(first_scores[is_different] - second_scores[is_different]).max(initial=0.0))


def _mask_unscored(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """Returns the tables without the answers to queries that one of the runs did not score."""
    scored = reduce(pc.and_, (table["right"].is_valid() for table in tables))
    column = SCHEMA.get_field_index("right")
    missing = pa.scalar(None, pa.bool_())
    return [
        table.set_column(column, SCHEMA.field(column), pc.if_else(scored, table["right"], missing))
        for table in tables
    ]


def _counts_by_subset(
    counts: Sequence[Counter[BenchmarkSubset]],
) -> dict[BenchmarkSubset, tuple[int, ...]]:
    parts = sorted({part for counter in counts for part in counter})
    return {part: tuple(counter[part] for counter in counts) for part in parts}


def _nothing_shared_message(
    names: Sequence[str], run: int, rows_by_run: Sequence[RowsByQuery]
) -> str:
    other_count = f"{len(rows_by_run[0]):,}" if run == 1 else "common"
    return (
        f"{names[run]} has no case in common with {', '.join(names[:run])}: none of its "
        f"{len(rows_by_run[run]):,} outcomes is about the same images and texts as the "
        f"{other_count} outcomes of the other; compare runs of the same benchmarks, files and "
        "options"
    )
