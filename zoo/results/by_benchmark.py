"""The summary of a run: a mean for each benchmark and each of its metrics, all cases alike."""

from collections.abc import Iterator, Mapping, Sequence

from zoo.results.averages import Average, Mean, Member, averages
from zoo.results.metrics import Metric
from zoo.results.statistics import Observations


def by_benchmark(
    preset: str, metrics: Sequence[Metric], observations: Mapping[Metric, Observations | None]
) -> Iterator[Average]:
    """Yields the mean of each metric of a benchmark over those of its subsets that were scored.

    Subsets weigh as many cases as they have in the file. A gallery of which images lack is left
    out, as it is easier than the whole.

    Args:
        preset: Name of the preset that the metrics were counted under.
        metrics: The metrics.
        observations: What they were made of.
    """
    for run in dict.fromkeys(metric.benchmark_run for metric in metrics):
        own = [metric for metric in metrics if metric.benchmark_run == run]
        for name in dict.fromkeys(metric.metric for metric in own):
            members = tuple(
                Member(run.benchmark, metric.subset, name)
                for metric in own
                if metric.metric == name
            )
            mean = Mean(f"{run}/{name}", members, "cases", partial=True)
            yield from averages(preset, [mean], own, observations)
