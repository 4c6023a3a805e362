"""Comparison of runs of several seeds, of which each seed has its own cases.

An example is BindSplit on PUG:SPARE, where a seed draws the block of bindings that are held out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from zoo.errors import ZooError
from zoo.results.comparison.alignment import align_runs
from zoo.results.comparison.common_metrics import MetricName, common_metrics
from zoo.results.comparison.compare import PRESETS, compare
from zoo.results.comparison.comparison import Comparison
from zoo.results.comparison.lines import ComparisonLine, RunValue
from zoo.results.outcomes import SCHEMA
from zoo.results.presets.preset import Preset, preset_of
from zoo.results.report import Results


def compare_seeds_with_own_cases(
    rows: Mapping[str, Mapping[int, Results]],
    presets: Sequence[Preset | str] = PRESETS,
    **arguments: Any,
) -> Comparison:
    """Compares rows over the seeds that all of them have.

    Values are means over seeds with their standard deviation, each over the cases of its seed.
    Intervals and tests pool the cases of all seeds.

    Args:
        rows: The results of each row by seed.
        presets: Ways of counting and averaging, or their names.
        arguments: Further arguments of `compare`.

    Raises:
        ZooError: The rows have no seed in common, or `compare` refuses them.
    """
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in rows.values())))
    if not seeds:
        raise ZooError(f"{', '.join(rows)} have no seed in common: run the missing seeds")
    resolved = [preset_of(preset) for preset in presets]
    pooled = {
        row: _pool_seeds({seed: by_seed[seed] for seed in seeds}) for row, by_seed in rows.items()
    }
    comparison = compare(pooled, presets=resolved, **arguments)
    if len(seeds) == 1:
        return comparison
    totals = [
        _totals_by_name([by_seed[seed] for by_seed in rows.values()], list(rows), resolved)
        for seed in seeds
    ]
    note = (
        f"mean and standard deviation of {len(seeds)} seeds ({', '.join(map(str, seeds))}), each "
        "with its own cases; intervals and tests pool the cases of all seeds"
    )
    return replace(
        comparison,
        lines=tuple(_with_seed_values(line, totals) for line in comparison.lines),
        notes=(note, *comparison.notes),
    )


def _pool_seeds(by_seed: Mapping[int, Results]) -> Results:
    """Returns the outcomes of several seeds as one run, in which no case occurs twice."""
    column = SCHEMA.get_field_index("fingerprint")
    tables = []
    for seed, results in by_seed.items():
        names = pc.binary_join_element_wise(
            results.cases["fingerprint"], pa.scalar(str(seed)), "/seed "
        )
        tables.append(results.cases.set_column(column, SCHEMA.field(column), names))
    first = next(iter(by_seed.values()))
    return Results(first.header, (), pa.concat_tables(tables).combine_chunks())


def _totals_by_name(
    runs: Sequence[Results], names: Sequence[str], presets: Sequence[Preset]
) -> dict[MetricName, list[float]]:
    """Returns the value of each run in per cent, by metric or mean."""
    tables = align_runs([run.cases for run in runs], names).tables
    return {
        metric.name: [100 * float(total) for total in metric.totals]
        for metric in common_metrics(tables, presets, runs[0].header)
    }


def _with_seed_values(
    line: ComparisonLine, totals: Sequence[Mapping[MetricName, Sequence[float]]]
) -> ComparisonLine:
    """Returns a row with means and deviations over the seeds that have it."""
    by_seed = [seed_totals[line.name] for seed_totals in totals if line.name in seed_totals]
    if len(by_seed) < 2:
        return line
    values: list[RunValue] = [
        replace(value, value=fmean(run_totals), deviation=stdev(run_totals), seeds=len(run_totals))
        for value, run_totals in zip(line.values, zip(*by_seed, strict=True), strict=True)
    ]
    return replace(line, values=tuple(values))
