"""Reading a benchmark from several data roots. Free of torch."""

from collections.abc import Sequence
from pathlib import Path

from zoo.benchmarks.base import Benchmark, Reading


def read(benchmark: Benchmark, roots: Sequence[Path]) -> Reading:
    """Returns the benchmark's cases, each part from the first root that has its annotation files."""
    whole = benchmark.read(roots[0])
    for root in roots[1:]:
        absent = {part.subset for part in whole.absent}
        if not absent:
            break
        more = benchmark.read(root)
        gained = absent - {part.subset for part in more.absent}
        if gained:
            whole = Reading(
                [*whole.cases, *(case for case in more.cases if case.subset in gained)],
                list(dict.fromkeys([*whole.files, *more.files])),
                [part for part in whole.absent if part.subset not in gained],
                {**more.notes, **whole.notes},
            )
    return whole
