"""Runs: a benchmark that is asked for several times, told apart by what it is asked with."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError
from zoo.support.spec import to_config


class BenchmarkRun(NamedTuple):
    """A benchmark as it was asked for. It prints as `sugarcrepe` or `retrieval:flickr8k`.

    Attributes:
        benchmark: Name of the benchmark.
        run: What tells this run from others of the same benchmark; empty where it is the only one.
    """

    benchmark: str
    run: str = ""

    def __str__(self) -> str:
        return f"{self.benchmark}:{self.run}" if self.run else self.benchmark


def runs_of(benchmarks: Sequence[Benchmark]) -> list[BenchmarkRun]:
    """Returns what each benchmark is called.

    Raises:
        ZooError: A benchmark is asked for twice.
    """
    specs = [to_config(benchmark) for benchmark in benchmarks]
    runs = []
    for benchmark, own in zip(benchmarks, specs, strict=True):
        others = [
            other["init_args"]
            for b, other in zip(benchmarks, specs, strict=True)
            if b.name == benchmark.name
        ]
        apart = {
            k: v
            for k, v in own["init_args"].items()
            if v and any(other.get(k) != v for other in others)
        }
        first = apart.pop(benchmark.behind_colon, None)
        telling = [] if first is None else [_short(first)]
        telling += [f"{key}={_short(value)}" for key, value in apart.items()]
        runs.append(BenchmarkRun(benchmark.name, ",".join(telling)))
    twice = next((run for run in runs if runs.count(run) > 1), None)
    if twice is not None:
        raise ZooError(
            f"the benchmark {twice} is asked for twice: "
            "name it once, or with another file or option"
        )
    return runs


def _short(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(str, value))
    return (
        value["class_path"].rpartition(".")[2]
        if isinstance(value, dict) and "class_path" in value
        else str(value)
    )
