"""The outcomes that differ between two runs, with their margins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.results.comparison.lines import ComparisonLine
from zoo.results.metrics import MACRO, MetricKey, Rules, group_rows_by_metric
from zoo.results.outcomes import JudgedOutcomes, judge_outcomes
from zoo.results.presets.preset import Preset
from zoo.results.runs import BenchmarkRun
from zoo.results.splits import ALL_SUBSETS, split_masks

AS_KEPT = Rules(official_ties=False, drop_identical=False, macros={})


@dataclass(frozen=True)
class OutcomeDifference:
    """An outcome that differs between two runs.

    A margin is the worst right score minus the best wrong one.

    Attributes:
        run: The benchmark with its options.
        subset: Name of the subset.
        case: Id of the case.
        query: Number of the row or column of the scores that the query is about.
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


def outcome_differences(
    first: pa.Table, second: pa.Table, rules: Rules = AS_KEPT
) -> list[OutcomeDifference]:
    """Returns the outcomes that both runs scored and that differ, smallest margins first.

    Args:
        first: Outcomes of a run, one of `AlignedRuns.tables`.
        second: Outcomes of another run.
        rules: What counts as right. By default, as in the files: every tie is wrong.
    """
    differing_outcomes = []
    for key, rows, a, b in jointly_scored_outcomes(first, second, rules):
        for i in np.flatnonzero(a.value != b.value):
            row = int(rows[i])
            case, query = first["case"][row].as_py(), first["query"][row].as_py()
            margins = (_margin(run, row, rules) for run in (first, second))
            right = bool(a.right[i]), bool(b.right[i])
            differing_outcomes.append(
                OutcomeDifference(key[0], key[1], case, query, key[2], *right, *margins)
            )
    return sorted(
        differing_outcomes, key=lambda d: (max(abs(d.first_margin), abs(d.second_margin)), d.case)
    )


def select_counted(
    outcomes: pa.Table, lines: Sequence[ComparisonLine], presets: Sequence[Preset]
) -> NDArray[np.bool_]:
    """Returns which outcomes the rows of a comparison count, `[n]`.

    Args:
        outcomes: Outcomes of a run, one of `AlignedRuns.tables`.
        lines: The rows: metrics, means and splits.
        presets: The presets of the comparison.
    """
    rules_by_preset = {preset.name: preset.rules for preset in presets}
    masks = split_masks(outcomes)
    counted = np.zeros(len(outcomes), dtype=bool)
    for key, rows in group_rows_by_metric(outcomes).items():
        for line in lines:
            if _counts_metric(line, key, rules_by_preset[line.name.preset]):
                counted[rows] |= masks[line.name.split][rows] if line.name.split else True
    return counted


def _counts_metric(line: ComparisonLine, key: MetricKey, rules: Rules) -> bool:
    """Returns whether a row counts outcomes of a metric, itself or in a macro average or mean."""
    run, subset, metric = key
    names = {f"{run}/{subset}/{metric}"}
    macro = rules.macro_average(run.benchmark, subset)
    if macro is not None and macro.metric in ("", metric):
        names.add(f"{run}/{subset}/{MACRO}")
    if line.name.split:
        names.add(f"{run}/{ALL_SUBSETS}/{metric}")
    return not names.isdisjoint(line.members or (str(replace(line.name, split="")),))


def jointly_scored_outcomes(
    first: pa.Table, second: pa.Table, rules: Rules
) -> Iterator[tuple[MetricKey, NDArray[np.int64], JudgedOutcomes, JudgedOutcomes]]:
    """Yields each metric, its rows, and the counted outcomes that both runs scored.

    Args:
        first: Outcomes of a run, one of `AlignedRuns.tables`.
        second: Outcomes of another run.
        rules: What counts as right.
    """
    for key, rows in group_rows_by_metric(first).items():
        a, b = (
            judge_outcomes(run.take(rows), rules.official_ties, rules.drop_identical)
            for run in (first, second)
        )
        scored_by_both = a.scored & b.scored
        yield key, rows[a.row[scored_by_both]], a.select(scored_by_both), b.select(scored_by_both)


def _margin(run: pa.Table, row: int, rules: Rules) -> float:
    scores = np.array(run["scores"][row].as_py(), dtype=np.float64)
    match = np.array(run["match"][row].as_py(), dtype=bool)
    identical = run["identical"][row].as_py()
    dropped = rules.drop_identical and identical is not None
    wrong = ~match & ~np.array(identical) if dropped else ~match
    return float(scores[match].min() - scores[wrong].max())
