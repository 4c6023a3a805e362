"""Adds the results of further benchmarks to those of a model."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError
from zoo.results.header import LIMIT, TEXT_PROBE, TRUNCATED
from zoo.results.report import Results
from zoo.results.runs import BenchmarkRun, runs_of
from zoo.support.configurable import from_config, to_config

# integers of the header's `scoring` that are settings; all others are counts
SETTINGS = ("image_batch", "text_batch", "views per image", LIMIT)


def missing_benchmarks(
    benchmarks: Sequence[Benchmark], header: Mapping[str, Any]
) -> list[Benchmark]:
    """Returns the benchmarks that results do not have, or have with other arguments.

    Args:
        benchmarks: The benchmarks.
        header: The header of the results.
    """
    measured = list(map(_config, header["benchmarks"].values()))
    return [benchmark for benchmark in benchmarks if to_config(benchmark) not in measured]


def join_results(earlier: Results, added: Results) -> Results:
    """Returns the cases of two runs of one model on different benchmarks, without metrics.

    Counts of images and texts in `scoring` are sums: an image of both runs counts twice.

    Args:
        earlier: The results that the model had.
        added: Its results on further benchmarks.

    Raises:
        ZooError: The results are of different models.
    """
    if earlier.header["model"] != added.header["model"]:
        raise ZooError("the model has changed since its earlier results were measured")
    benchmarks = [
        from_config(_config(record), Benchmark)  # type: ignore[type-abstract]
        for results in (earlier, added)
        for record in results.header["benchmarks"].values()
    ]
    runs = runs_of(benchmarks)
    n = len(earlier.header["benchmarks"])
    header, added_header = (
        _rename_runs(results.header, names)
        for results, names in ((earlier, runs[:n]), (added, runs[n:]))
    )
    tables = [_rename_cases(earlier, runs[:n]), _rename_cases(added, runs[n:])]
    joined = {
        **header,
        "software": _join(header["software"], added_header["software"]),
        "scoring": _join(header["scoring"], added_header["scoring"]),
        "benchmarks": {**header["benchmarks"], **added_header["benchmarks"]},
        "absent": [*header["absent"], *added_header["absent"]],
    }
    return Results(joined, (), pa.concat_tables(tables).combine_chunks())


def _config(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the class and the arguments of a benchmark in a header."""
    return {name: record[name] for name in ("class_path", "init_args")}


def _old_runs(header: Mapping[str, Any]) -> list[BenchmarkRun]:
    return [BenchmarkRun(b["benchmark"], b["run"]) for b in header["benchmarks"].values()]


def _rename_runs(header: Mapping[str, Any], runs: Sequence[BenchmarkRun]) -> dict[str, Any]:
    """Returns a header in which the benchmarks have the given names, in order.

    A second run of a benchmark adds arguments to the name of the first: `pairs` becomes
    `pairs:a.csv`.
    """
    names = dict(zip(_old_runs(header), runs, strict=True))
    texts = {str(old): str(new) for old, new in names.items()}
    scoring = dict(header["scoring"])
    if TRUNCATED in scoring:
        scoring[TRUNCATED] = {
            texts[run] + place.removeprefix(run): n
            for place, n in scoring[TRUNCATED].items()
            for run in texts
            if place.startswith(f"{run}/")
        }
    if TEXT_PROBE in scoring:
        scoring[TEXT_PROBE] = {texts[run]: shares for run, shares in scoring[TEXT_PROBE].items()}
    return {
        **header,
        "scoring": scoring,
        "benchmarks": {
            str(run): {**record, **run._asdict()}
            for run, record in zip(runs, header["benchmarks"].values(), strict=True)
        },
        "absent": [
            {**subset, **names[BenchmarkRun(subset["benchmark"], subset["run"])]._asdict()}
            for subset in header["absent"]
        ],
    }


def _rename_cases(results: Results, runs: Sequence[BenchmarkRun]) -> pa.Table:
    """Returns the cases with the given names of runs, in order."""
    names = dict(zip(_old_runs(results.header), runs, strict=True))
    pairs = zip(*(results.cases[name].to_pylist() for name in ("benchmark", "run")), strict=True)
    column = pa.array([names[BenchmarkRun(*pair)].run for pair in pairs], pa.string())
    return results.cases.set_column(results.cases.schema.get_field_index("run"), "run", column)


def _join(earlier: Any, added: Any, name: str = "") -> Any:
    """Returns an entry of `scoring` or `software` for both runs."""
    if isinstance(earlier, dict) and isinstance(added, dict):
        return {
            key: _join(earlier[key], added[key], key)
            if key in earlier and key in added
            else {**earlier, **added}[key]
            for key in (*earlier, *(key for key in added if key not in earlier))
        }
    if isinstance(earlier, int) and isinstance(added, int) and name not in SETTINGS:
        return earlier + added
    return earlier if earlier == added else f"{earlier}; {added}"
