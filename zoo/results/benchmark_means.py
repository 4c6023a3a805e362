"""The summary of a run: the mean of each metric of each benchmark, weighted by cases."""

from collections.abc import Iterator, Mapping, Sequence

from zoo.results.averages import Average, Mean, Member, compute_averages
from zoo.results.metrics import Metric
from zoo.results.statistics import Observations


def by_benchmark(
    preset: str, metrics: Sequence[Metric], observations: Mapping[Metric, Observations | None]
) -> Iterator[Average]:
    """Yields the mean of each metric of a benchmark over its scored subsets.

    Subsets are weighted by their numbers of cases in the file. A gallery with missing images is
    omitted, because it is easier than the full gallery.

    Args:
        preset: Name of the preset of the metrics.
        metrics: The metrics.
        observations: Observations of the metrics.
    """
    for run in dict.fromkeys(metric.benchmark_run for metric in metrics):
        run_metrics = [metric for metric in metrics if metric.benchmark_run == run]
        for name in dict.fromkeys(metric.metric for metric in run_metrics):
            members = tuple(
                Member(run.benchmark, metric.subset, name)
                for metric in run_metrics
                if metric.metric == name
            )
            mean = Mean(f"{run}/{name}", members, "cases", partial=True)
            yield from compute_averages(preset, [mean], run_metrics, observations)
