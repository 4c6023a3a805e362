"""Names of benchmark runs. Several runs of one benchmark are named by their arguments."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError
from zoo.support.configurable import to_config


class BenchmarkRun(NamedTuple):
    """A run of a benchmark. It prints as `sugarcrepe` or `retrieval:flickr8k`.

    Attributes:
        benchmark: Name of the benchmark.
        run: Distinguishes several runs of the same benchmark; empty if there is only one.
    """

    benchmark: str
    run: str = ""

    def __str__(self) -> str:
        return f"{self.benchmark}:{self.run}" if self.run else self.benchmark


def runs_of(benchmarks: Sequence[Benchmark]) -> list[BenchmarkRun]:
    """Returns the run name of each benchmark.

    Raises:
        ZooError: The same benchmark is given twice with equal arguments.
    """
    specs = [to_config(benchmark) for benchmark in benchmarks]
    runs = []
    for benchmark, benchmark_spec in zip(benchmarks, specs, strict=True):
        rival_arguments = [
            other_spec["init_args"]
            for b, other_spec in zip(benchmarks, specs, strict=True)
            if b.name == benchmark.name
        ]
        distinct_arguments = {
            k: v
            for k, v in benchmark_spec["init_args"].items()
            if v and any(arguments.get(k) != v for arguments in rival_arguments)
        }
        colon_value = distinct_arguments.pop(benchmark.colon_argument, None)
        labels = [] if colon_value is None else [_format_value(colon_value)]
        labels += [f"{key}={_format_value(value)}" for key, value in distinct_arguments.items()]
        runs.append(BenchmarkRun(benchmark.name, ",".join(labels)))
    duplicate = next((run for run in runs if runs.count(run) > 1), None)
    if duplicate is not None:
        raise ZooError(
            f"benchmark {duplicate} is given twice. "
            "Give it once, or with a different file or option"
        )
    return runs


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value))
    return (
        value["class_path"].rpartition(".")[2]
        if isinstance(value, dict) and "class_path" in value
        else str(value)
    )
