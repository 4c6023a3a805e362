"""Metrics per familiarity split, computed from the buckets of the cases."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from zoo.familiarity.buckets import BUCKETS, CLOSE_ONLY, EXCLUDED, SPLITS
from zoo.results.familiarity import PARSED
from zoo.results.metrics import Metric, Reference, Rules, compute_metrics, group_rows_by_metric
from zoo.results.runs import BenchmarkRun

ALL_SUBSETS = "*"


def compute_split_metrics(
    cases: pa.Table,
    rules: Rules,
    references: Mapping[tuple[BenchmarkRun, str], Reference],
) -> tuple[Metric, ...]:
    """Computes the metrics of each split; none if no case has a bucket.

    All outcomes have equal weight. Macro averages are omitted, because a split has incomplete
    groups. A benchmark with several subsets also has the metrics of all of them together, as
    subset `*`.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        rules: Rules for right answers.
        references: Reference values, by benchmark and subset.

    Returns:
        The metrics of full, seen, mixed, unseen and excluded, in this order, for each metric of a
        subset with cases in a split.
    """
    if cases["bucket"].null_count == len(cases):
        return ()
    rules_without_macros = replace(rules, macros={})
    chances = {
        run_subset: Reference(chance=reference.chance)
        for run_subset, reference in references.items()
    }
    cases = cases.filter(pa.array(split_subset_mask(cases)))
    metric_by_split = {
        (*metric.metric_key, split): replace(metric, split=split)
        for split, keep in split_masks(cases).items()
        for metric in compute_metrics(
            select_with_pooled_subsets(cases, keep), rules_without_macros, chances
        )
    }
    every_case = select_with_pooled_subsets(cases, np.ones(len(cases), dtype=bool))
    return tuple(
        metric_by_split.get((*key, split), _empty_metric(*key, split))
        for key in group_rows_by_metric(every_case)
        for split in SPLITS
    )


def select_with_pooled_subsets(cases: pa.Table, keep: NDArray[np.bool_]) -> pa.Table:
    """Returns outcomes, and those of benchmarks with several subsets again under subset `*`.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        keep: Which outcomes are selected.
    """
    columns = (cases[name].to_pylist() for name in ("benchmark", "run", "subset"))
    subsets: dict[tuple[str, str], set[str]] = {}
    runs = []
    for benchmark, run, subset in zip(*columns, strict=True):
        subsets.setdefault((benchmark, run), set()).add(subset)
        runs.append((benchmark, run))
    pooled = cases.filter(pa.array(keep & np.array([len(subsets[run]) > 1 for run in runs], bool)))
    column = pooled.schema.get_field_index("subset")
    names = pa.array([ALL_SUBSETS] * len(pooled), pa.string())
    pooled = pooled.set_column(column, pooled.schema.field(column), names)
    return pa.concat_tables([cases.filter(pa.array(keep)), pooled])


def split_masks(cases: pa.Table) -> dict[str, NDArray[np.bool_]]:
    """Returns the outcomes of each split as boolean arrays, as defined by BindSplit.

    `full` includes excluded cases, except for VG-Attribution, where the paper omits them. Cases
    with only close matches belong to no split but full, although their bucket is mixed.

    Args:
        cases: Table of `outcomes.SCHEMA` with buckets.
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


def split_subset_mask(cases: pa.Table) -> NDArray[np.bool_]:
    """Returns which outcomes belong to a subset with cases in a split.

    Args:
        cases: Table of `outcomes.SCHEMA`.
    """
    columns = (cases[name].to_pylist() for name in ("benchmark", "run", "subset"))
    run_subsets = list(zip(*columns, strict=True))
    split_subsets = {
        run_subset
        for run_subset, name in zip(run_subsets, cases["bucket"].to_pylist(), strict=True)
        if name in BUCKETS
    }
    return np.array([run_subset in split_subsets for run_subset in run_subsets], dtype=bool)


def _empty_metric(run: BenchmarkRun, subset: str, metric: str, split: str) -> Metric:
    return Metric(
        *(run.benchmark, subset, metric),
        value=None,
        low=None,
        high=None,
        interval="",
        n=0,
        n_total=0,
        ties=0,
        images=0,
        images_total=0,
        trained_on=0,
        run=run.run,
        split=split,
    )
