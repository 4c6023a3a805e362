"""Metrics and averages of outcomes under presets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from zoo.benchmarks.protocols.base import resolve_protocol
from zoo.results.averages import Average, compute_available_averages, summarize_runs
from zoo.results.header import references, run_of_record
from zoo.results.leaks import LeakMetric
from zoo.results.metrics import Metric, compute_metrics
from zoo.results.presets.preset import Official, Preset
from zoo.results.splits import compute_split_metrics


@dataclass(frozen=True)
class PresetResults:
    """The metrics and averages under one preset.

    Attributes:
        preset: Name of the preset.
        description: Description of the preset in the report.
        metrics: Metrics in the order of the report.
        averages: Averages of the preset.
        splits: Metrics by the familiarity of bindings, if requested.
        by_benchmark: Mean of each metric over the subsets of a benchmark, weighted by cases.
        leaks: Metrics without the images that the model has seen, if requested.
    """

    preset: str
    description: str
    metrics: tuple[Metric, ...]
    averages: tuple[Average, ...]
    splits: tuple[Metric, ...] = ()
    by_benchmark: tuple[Average, ...] = ()
    leaks: tuple[LeakMetric, ...] = ()


def compute_preset_results(
    cases: pa.Table, presets: Sequence[Preset], header: Mapping[str, Any]
) -> tuple[PresetResults, ...]:
    """Returns metrics and averages per preset.

    Metrics are in the order of the benchmarks and subsets in the header.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        presets: Rules for counting and averaging.
        header: The content of results.json except metrics.
    """
    order = [
        (run_of_record(benchmark), subset)
        for benchmark in header["benchmarks"].values()
        for subset in benchmark["subsets"]
    ]
    position = {key: i for i, key in enumerate(order)}
    reference_values, official = references(header), Official().rules
    by_preset = []
    for preset in presets:
        observations = compute_metrics(cases, preset.rules, reference_values, official)
        metrics = sorted(
            observations, key=lambda m: position.get((m.benchmark_run, m.subset), len(position))
        )
        by_preset.append(
            PresetResults(
                preset.name,
                f"{preset.description}{_describe_kept_options(preset, cases)}",
                tuple(metrics),
                tuple(compute_available_averages(preset.name, preset.means, metrics, observations)),
                compute_split_metrics(cases, preset.rules, reference_values),
                tuple(summarize_runs(preset.name, metrics, observations)),
            )
        )
    return tuple(by_preset)


def _describe_kept_options(preset: Preset, cases: pa.Table) -> str:
    """Returns a clause on options equal to the right text that the preset keeps, if there are any.

    A preset that drops them names the protocols where it cannot.
    """
    if not preset.rules.drop_identical:
        kept = pc.any(pc.list_flatten(cases["identical"])).as_py()
        return ", permutations identical to the caption are kept" if kept else ""
    keeping = pc.unique(cases.filter(cases["identical"].is_null())["protocol"]).to_pylist()
    names = sorted({resolve_protocol(protocol).name for protocol in keeping})
    return f", but kept by protocol {', '.join(names)}" if names else ""
