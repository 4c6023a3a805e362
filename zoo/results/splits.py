"""Splits: metrics over the cases whose bindings are familiar alike, by the buckets of the cases."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.familiarity.buckets import BUCKETS, CLOSE_ONLY, EXCLUDED, SPLITS
from zoo.results.familiar import PARSED
from zoo.results.metrics import Metric, Reference, Rules, metrics, places
from zoo.results.runs import BenchmarkRun


def by_split(
    cases: pa.Table,
    rules: Rules,
    known: Mapping[tuple[BenchmarkRun, str], Reference],
) -> tuple[Metric, ...]:
    """Counts the outcomes of each split into metrics; none where no case has a bucket.

    Every outcome counts alike: no macro average is taken, as groups are not whole in a split.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        rules: What counts as right.
        known: What is known beforehand, by benchmark and subset.

    Returns:
        The metrics of full, seen, mixed, unseen and excluded, one after the other for each metric
        of a subset that has cases in a split.
    """
    if cases["bucket"].null_count == len(cases):
        return ()
    plain = replace(rules, macros={})
    chances = {part: Reference(chance=reference.chance) for part, reference in known.items()}
    cases = cases.filter(pa.array(splittable(cases)))
    found = {
        (metric.benchmark_run, metric.subset, metric.metric, split): replace(metric, split=split)
        for split, keep in split_rows(cases).items()
        for metric in metrics(cases.filter(pa.array(keep)), plain, chances)
    }
    return tuple(
        found.get((*place, split), _empty_metric(*place, split))
        for place in places(cases)
        for split in SPLITS
    )


def split_rows(cases: pa.Table) -> dict[str, NDArray[np.bool_]]:
    """Returns which outcomes count towards each split, as BindSplit has it.

    `full` holds what is excluded, except of VG-Attribution, whose numbers the paper counts without.
    Cases of close matches alone are mixed and not counted there.

    Args:
        cases: Table of `outcomes.SCHEMA`, whose cases have buckets.
    """
    buckets = np.array(cases["bucket"].to_pylist(), dtype=object)
    benchmarks, subsets = (
        np.array(cases[name].to_pylist(), dtype=object) for name in ("benchmark", "subset")
    )
    excluded = buckets == EXCLUDED
    dropped = excluded & (benchmarks == PARSED[0]) & (subsets == PARSED[1])
    split = np.array([BUCKETS.get(name) for name in buckets], dtype=object)
    split[buckets == CLOSE_ONLY] = None
    return {
        "full": ~dropped,
        **{name: split == name for name in ("seen", "mixed", "unseen")},
        EXCLUDED: excluded,
    }


def splittable(cases: pa.Table) -> NDArray[np.bool_]:
    """Returns which outcomes are of a subset that has cases in a split.

    Args:
        cases: Table of `outcomes.SCHEMA`.
    """
    columns = (cases[name].to_pylist() for name in ("benchmark", "run", "subset"))
    parts = list(zip(*columns, strict=True))
    split = {
        part
        for part, name in zip(parts, cases["bucket"].to_pylist(), strict=True)
        if name in BUCKETS
    }
    return np.array([part in split for part in parts], dtype=bool)


def _empty_metric(run: BenchmarkRun, subset: str, metric: str, split: str) -> Metric:
    return Metric(
        *(run.benchmark, subset, metric),
        value=None,
        low=None,
        high=None,
        interval="",
        n=0,
        of=0,
        ties=0,
        images=0,
        images_of=0,
        trained_on=0,
        run=run.run,
        split=split,
    )
