"""Reads results, also those that the previous schema wrote under other names."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zoo.errors import ZooError
from zoo.results.averages import Average
from zoo.results.header import (
    CACHED,
    DECODED,
    EXCLUDED_IMAGES,
    REFERENCE_MODELS,
    SCHEMA_VERSION,
    TEXT_PROBE,
    TRUNCATED,
)
from zoo.results.leaks import UNKNOWN, LeakMetric
from zoo.results.metrics import Metric
from zoo.results.outcomes import SCHEMA
from zoo.results.preset_results import PresetResults, compute_preset_results
from zoo.results.presets.preset import Official
from zoo.results.report import CASES, HEADER, RESULTS, Results
from zoo.support.class_paths import reject_untrusted_classes
from zoo.support.text_files import parse_json
from zoo.support.trust import allow_all_code

PREVIOUS_SCHEMA = 9
NEVER_EMPTY = ("subset", "case", "protocol", "metric", "images", "trained", "texts")
# The names of schema 9, which version 0.1.0 wrote, and those of this schema.
RENAMED_COLUMNS = {"question": "fingerprint", "correct_first": "tie_is_right"}
RENAMED_KEYS = {
    "header": {"beside": REFERENCE_MODELS, "excluded": EXCLUDED_IMAGES},
    "scoring": {
        "told by texts alone": TEXT_PROBE,
        "texts over the context length, cut": TRUNCATED,
        "images decoded by": DECODED,
        "kept vectors": CACHED,
    },
    "familiarity": {"with": "training_captions", "bindings_by": "extractor"},
    "absent": {"how": "instructions"},
    "preset": {"says": "description"},
    "numbers": {
        "of": "n_total",
        "images_of": "images_total",
        "gallery_of": "gallery_size",
        "untold": "n_unknown",
    },
}


def read_results(run: Path, trust_code: bool = False) -> Results:
    """Reads the results of a run.

    The metrics are those of results.json or, if that file is missing, those of preset `official`.

    Args:
        run: Folder of the results.
        trust_code: Whether a protocol may be a class from outside zoo and installed packages.

    Raises:
        ZooError: The cases are missing, a file is damaged or has another schema, or a protocol is
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
            counted = tuple(map(_read_preset, content.pop("presets")))
            header = header or content
        if header is None:
            raise ZooError(f"{run / CASES} has no header. Run `zoo validate` again")
        if header["schema"] not in (SCHEMA_VERSION, PREVIOUS_SCHEMA):
            raise ZooError(
                f"{run} has results of schema {header['schema']}, but this version reads schemas "
                f"{PREVIOUS_SCHEMA} and {SCHEMA_VERSION}. Update zoo, or run `zoo validate` again"
            )
        if not isinstance(header["model"], Mapping):
            raise TypeError(f"the model is {header['model']!r}, not a mapping")
        if header["schema"] == PREVIOUS_SCHEMA:
            header, cases = _with_current_names(header, cases)
        _check_columns(cases)
        cases = cases.select(SCHEMA.names).cast(SCHEMA)
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
    with allow_all_code(trust_code):
        for protocol in pc.unique(cases["protocol"]).to_pylist():
            reject_untrusted_classes(protocol, Any, str(run / CASES))
        return Results(
            header, counted or compute_preset_results(cases, [Official()], header), cases
        )


def read_header(run: Path) -> dict[str, Any]:
    """Reads the header of results, without cases and metrics.

    Args:
        run: Folder of the results.

    Raises:
        ZooError: There is no header that can be read.
    """
    try:
        header: dict[str, Any] = json.loads(pq.read_schema(run / CASES).metadata[HEADER])
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise ZooError(
            f"{run / CASES} has no header that can be read ({type(error).__name__}: {error}). "
            "Run `zoo validate` again"
        ) from error
    return header


def _check_columns(cases: pa.Table) -> None:
    """Checks that required columns are complete.

    Raises:
        ValueError: A cell is empty, or the numbers of scores and answers differ.
    """
    for name in NEVER_EMPTY:
        column = cases[name]
        lists = pa.types.is_list(column.type)
        if column.null_count or (lists and pc.list_flatten(column).null_count):
            raise ValueError(f"column {name} of {CASES} has empty cells")
    counts = [pc.list_value_length(cases[name]) for name in ("scores", "match")]
    if pc.any(pc.not_equal(*counts)).as_py():
        raise ValueError(f"{CASES} has a row with more or fewer scores than answers in match")


def _with_current_names(header: dict[str, Any], cases: pa.Table) -> tuple[dict[str, Any], pa.Table]:
    """Returns header and outcomes of the previous schema with the names of the current one."""
    header = _rename(header, "header") | {"schema": SCHEMA_VERSION}
    header["scoring"] = _rename(header["scoring"], "scoring")
    header["absent"] = [_rename(subset, "absent") for subset in header["absent"]]
    if "familiarity" in header:
        header["familiarity"] = _rename(header["familiarity"], "familiarity")
    cases = cases.rename_columns([RENAMED_COLUMNS.get(name, name) for name in cases.column_names])
    leak = SCHEMA.get_field_index("leak")
    labels = pc.if_else(pc.equal(cases["leak"], "untold"), UNKNOWN, cases["leak"])
    return header, cases.set_column(leak, SCHEMA.field(leak), labels)


def _rename(record: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Returns a record with the current names of its keys."""
    return {RENAMED_KEYS[kind].get(name, name): value for name, value in record.items()}


def _read_preset(record: Mapping[str, Any]) -> PresetResults:
    preset = _rename(record, "preset")
    return PresetResults(
        preset["preset"],
        preset["description"],
        tuple(Metric(**_rename(metric, "numbers")) for metric in preset["metrics"]),
        tuple(map(_read_average, preset["averages"])),
        tuple(Metric(**_rename(metric, "numbers")) for metric in preset["splits"]),
        tuple(map(_read_average, preset["by_benchmark"])),
        tuple(LeakMetric(**_rename(leak, "numbers")) for leak in preset["leaks"]),
    )


def _read_average(record: Mapping[str, Any]) -> Average:
    fields = _rename(record, "numbers")
    return Average(
        **{**fields, "members": tuple(fields["members"]), "missing": tuple(fields["missing"])}
    )
