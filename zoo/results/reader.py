"""Reads results, and converts those of older schemas to the current one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zoo.errors import ZooError
from zoo.results.averages import Average
from zoo.results.leaks import LeakMetric
from zoo.results.metrics import Metric
from zoo.results.outcomes import SCHEMA
from zoo.results.presets.shipped import Official
from zoo.results.report import (
    CASES,
    HEADER,
    RESULTS,
    SCHEMA_VERSION,
    PresetResults,
    Results,
    count_under_presets,
)
from zoo.results.runs import BenchmarkRun
from zoo.support.class_paths import reject_untrusted_classes
from zoo.support.text_files import parse_json
from zoo.support.trust import trusting_code

RUN_FIELD_SCHEMA = 5  # the first schema in which benchmark and run are separate fields
NEVER_EMPTY = ("subset", "case", "protocol", "metric", "images", "trained", "texts")
# names in older schemas
FORMER = {
    "figure": "metric",
    "figures": "metrics",
    "photographs": "images",
    "photographs_of": "images_of",
    "parts": "subsets",
}


def read_results(run: Path, trust_code: bool = False) -> Results:
    """Reads the results of a run.

    The metrics are those of results.json or, if that file is missing, those of preset `official`.

    Args:
        run: Folder of the results.
        trust_code: Whether a protocol may be a class from outside zoo and installed packages.

    Raises:
        ZooError: The cases are missing, a file is damaged or has a newer schema, or a protocol is
            not trusted.
    """
    if not (run / CASES).is_file():
        raise ZooError(f"{run} has no {CASES}. Give a folder that `zoo validate --out` wrote")
    counted = None
    try:
        cases = pq.read_table(run / CASES)
        header = json.loads((cases.schema.metadata or {}).get(HEADER, b"null"))
        if (run / RESULTS).is_file():
            content = parse_json((run / RESULTS).read_text("utf-8"))
            counted = tuple(map(_read_counted, content.pop("presets")))
            header = header or content
        if header is None:
            raise ZooError(
                f"{run / CASES} was written by an older version, which stored chance levels, notes "
                f"and published values in {RESULTS}. Put that file into the same folder"
            )
        if header["schema"] > SCHEMA_VERSION:
            raise ZooError(
                f"{run} has results of schema {header['schema']}, "
                f"but this version reads schemas up to {SCHEMA_VERSION}. Update zoo"
            )
        if not isinstance(header["model"], Mapping):
            raise TypeError(f"the model is {header['model']!r}, not a mapping")
        _check_columns(cases)
        header, cases = _to_current_schema(header, cases)
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        pa.ArrowException,
    ) as error:
        raise ZooError(
            f"the results in {run} are damaged ({type(error).__name__}: {error}). "
            "Run `zoo validate` again"
        ) from error
    with trusting_code(trust_code):
        for protocol in pc.unique(cases["protocol"]).to_pylist():
            reject_untrusted_classes(protocol, Any, str(run / CASES))
        return Results(header, counted or count_under_presets(cases, [Official()], header), cases)


def _check_columns(cases: pa.Table) -> None:
    """Checks that required columns are complete.

    Raises:
        ValueError: A cell is empty, or the numbers of scores and answers differ.
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


def _to_current_schema(header: dict[str, Any], cases: pa.Table) -> tuple[dict[str, Any], pa.Table]:
    """Converts results of the current or an older schema to the current schema.

    Columns that an older schema did not have are empty.

    Args:
        header: The content of results.json except metrics.
        cases: The outcomes.
    """
    old_schema = header["schema"]
    if old_schema < RUN_FIELD_SCHEMA:
        header, cases = _separate_runs(header, cases)
    benchmarks = {name: _with_current_names(b) for name, b in header["benchmarks"].items()}
    cases = cases.rename_columns([FORMER.get(name, name) for name in cases.column_names])
    for field in SCHEMA:
        if old_schema < SCHEMA_VERSION and field.name not in cases.column_names:
            cases = cases.append_column(field, pa.nulls(len(cases), field.type))
    header = {**header, "schema": SCHEMA_VERSION, "benchmarks": benchmarks}
    return header, cases.select(SCHEMA.names).cast(SCHEMA)


def _separate_runs(header: dict[str, Any], cases: pa.Table) -> tuple[dict[str, Any], pa.Table]:
    """Separates benchmark and run, which an older schema joined with a colon.

    Args:
        header: The content of results.json except metrics.
        cases: The outcomes.

    Returns:
        Both, with benchmark and run as separate fields.
    """

    def run_of(name: str) -> BenchmarkRun:
        return BenchmarkRun(*name.split(":", 1))

    benchmarks = {n: {**run_of(n)._asdict(), **b} for n, b in header["benchmarks"].items()}
    absent = [{**subset, **run_of(subset["benchmark"])._asdict()} for subset in header["absent"]]
    runs = [run_of(name) for name in cases["benchmark"].to_pylist()]
    place = cases.column_names.index("benchmark")
    cases = cases.set_column(place, "benchmark", pa.array([run.benchmark for run in runs]))
    cases = cases.append_column("run", pa.array([run.run for run in runs]))
    return {**header, "benchmarks": benchmarks, "absent": absent}, cases


def _with_current_names(record: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a record with the field names of the current schema."""
    return {FORMER.get(name, name): value for name, value in record.items()}


def _read_counted(preset: Mapping[str, Any]) -> PresetResults:
    preset = _with_current_names(preset)
    return PresetResults(
        preset["preset"],
        preset["description"],
        tuple(Metric(**_with_current_names(metric)) for metric in preset["metrics"]),
        tuple(map(_read_average, preset["averages"])),
        tuple(Metric(**metric) for metric in preset.get("splits", ())),
        tuple(map(_read_average, preset.get("by_benchmark", ()))),
        tuple(LeakMetric(**leak) for leak in preset.get("leaks", ())),
    )


def _read_average(record: Mapping[str, Any]) -> Average:
    return Average(
        **{**record, "members": tuple(record["members"]), "missing": tuple(record["missing"])}
    )
