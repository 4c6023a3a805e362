"""Reads the results that a run wrote, those of older schemas under the names of this one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zoo.errors import ZooError
from zoo.results.averages import Average
from zoo.results.leaks import Leak
from zoo.results.metrics import Metric
from zoo.results.outcomes import SCHEMA
from zoo.results.presets.shipped import Official
from zoo.results.report import CASES, HEADER, RESULTS, SCHEMA_VERSION, Counted, Results, count
from zoo.results.runs import BenchmarkRun
from zoo.support.class_paths import refuse_code
from zoo.support.text_files import json_value
from zoo.support.trust import trusting_code

TOLD_APART_BY_FIELD = 5  # the first schema in which runs of one benchmark are
NEVER_EMPTY = ("subset", "case", "protocol", "metric", "images", "trained", "texts")
# names in older schemas
FORMER = {
    "figure": "metric",
    "figures": "metrics",
    "photographs": "images",
    "photographs_of": "images_of",
    "parts": "subsets",
}


def read(run: Path, trust_code: bool = False) -> Results:
    """Reads the results that a run wrote.

    They are counted as results.json says or, where that is not there, under `official`.

    Args:
        run: Folder of the results.
        trust_code: Whether a protocol may be a class that neither zoo nor an installed package
            offers.

    Raises:
        ZooError: The cases are missing, a file is broken or of a newer schema, or a protocol is
            not trusted.
    """
    if not (run / CASES).is_file():
        raise ZooError(f"{run} holds no {CASES}: name the folder that `zoo validate --out` wrote")
    counted = None
    try:
        cases = pq.read_table(run / CASES)
        header = json.loads((cases.schema.metadata or {}).get(HEADER, b"null"))
        if (run / RESULTS).is_file():
            content = json_value((run / RESULTS).read_text("utf-8"))
            counted = tuple(map(_read_counted, content.pop("presets")))
            header = header or content
        if header is None:
            raise ZooError(
                f"{run / CASES} is of an older zoo, which kept chance, notes and published values "
                f"in {RESULTS}: put that file beside it"
            )
        if header["schema"] > SCHEMA_VERSION:
            raise ZooError(
                f"{run} has results of schema {header['schema']}, "
                f"and this zoo reads up to {SCHEMA_VERSION}: update zoo"
            )
        if not isinstance(header["model"], Mapping):
            raise TypeError(f"the model is {header['model']!r} and not described by names")
        _check_columns(cases)
        header, cases = _of_this_schema(header, cases)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        pa.ArrowException,
    ) as error:
        raise ZooError(
            f"{run} does not hold whole results ({type(error).__name__}: {error}): measure again"
        ) from error
    with trusting_code(trust_code):
        for protocol in pc.unique(cases["protocol"]).to_pylist():
            refuse_code(protocol, Any, str(run / CASES))
        return Results(header, counted or count(cases, [Official()], header), cases)


def _check_columns(cases: pa.Table) -> None:
    """Makes sure that outcomes have what all that counts them relies on.

    Raises:
        ValueError: A cell is empty, or scores are not as many as the answers that they are of.
    """
    for name in set(NEVER_EMPTY) & set(cases.column_names):
        column = cases[name]
        lists = pa.types.is_list(column.type)
        if column.null_count or (lists and pc.list_flatten(column).null_count):
            raise ValueError(f"column {name} of {CASES} has empty cells")
    if "match" in cases.column_names:
        counts = [pc.list_value_length(cases[name]) for name in ("scores", "match")]
        if pc.any(pc.not_equal(*counts)).as_py():
            raise ValueError(f"{CASES} has a row with more or fewer scores than answers in match")


def _of_this_schema(header: dict[str, Any], cases: pa.Table) -> tuple[dict[str, Any], pa.Table]:
    """Returns results of this or an older schema under the names of this one.

    Columns that an older schema did not have are empty.

    Args:
        header: All that results.json says beside metrics.
        cases: The outcomes.
    """
    former = header["schema"]
    if former < TOLD_APART_BY_FIELD:
        header, cases = _told_apart(header, cases)
    benchmarks = {name: _named_anew(b) for name, b in header["benchmarks"].items()}
    cases = cases.rename_columns([FORMER.get(name, name) for name in cases.column_names])
    for field in SCHEMA:
        if former < SCHEMA_VERSION and field.name not in cases.column_names:
            cases = cases.append_column(field, pa.nulls(len(cases), field.type))
    header = {**header, "schema": SCHEMA_VERSION, "benchmarks": benchmarks}
    return header, cases.select(SCHEMA.names).cast(SCHEMA)


def _told_apart(header: dict[str, Any], cases: pa.Table) -> tuple[dict[str, Any], pa.Table]:
    """Returns results of an older schema, where a colon in its name told a benchmark's runs apart.

    Args:
        header: All that results.json says beside metrics.
        cases: The outcomes.

    Returns:
        Both, with benchmark and run apart.
    """

    def run_of(name: str) -> BenchmarkRun:
        return BenchmarkRun(*name.split(":", 1))

    benchmarks = {n: {**run_of(n)._asdict(), **b} for n, b in header["benchmarks"].items()}
    absent = [{**lacking, **run_of(lacking["benchmark"])._asdict()} for lacking in header["absent"]]
    runs = [run_of(name) for name in cases["benchmark"].to_pylist()]
    place = cases.column_names.index("benchmark")
    cases = cases.set_column(place, "benchmark", pa.array([run.benchmark for run in runs]))
    cases = cases.append_column("run", pa.array([run.run for run in runs]))
    return {**header, "benchmarks": benchmarks, "absent": absent}, cases


def _named_anew(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record of an older schema under the names of this one."""
    return {FORMER.get(name, name): value for name, value in record.items()}


def _read_counted(preset: Mapping[str, Any]) -> Counted:
    preset = _named_anew(preset)
    return Counted(
        preset["preset"],
        preset["says"],
        tuple(Metric(**_named_anew(metric)) for metric in preset["metrics"]),
        tuple(map(_average, preset["averages"])),
        tuple(Metric(**metric) for metric in preset.get("splits", ())),
        tuple(map(_average, preset.get("by_benchmark", ()))),
        tuple(Leak(**leak) for leak in preset.get("leaks", ())),
    )


def _average(plain: Mapping[str, Any]) -> Average:
    return Average(
        **{**plain, "members": tuple(plain["members"]), "missing": tuple(plain["missing"])}
    )
