"""The form of results.json as a JSON Schema, for programs that read it without zoo.

Metrics and averages are the dataclasses of the code. Of the header, the keys that every file has
are described. A new key may be added without a new version; any other change has another `schema`.
"""

import inspect
import json
from pathlib import Path
from typing import Any, NotRequired, TypedDict

import msgspec

from zoo.results.preset_results import PresetResults

FILE = Path(__file__).with_name("results.schema.json")


class BenchmarkSubset(TypedDict):
    """What is known of a subset.

    Attributes:
        published_n: Number of cases that were published, null if unknown.
        chance: Chance level of each metric in per cent.
        published: Published values of OpenAI's ViT-B/32 in per cent.
    """

    published_n: int | None
    chance: dict[str, float | None]
    published: dict[str, float]


class BenchmarkRecord(TypedDict):
    """A benchmark of a run.

    Attributes:
        benchmark: Its name.
        run: Distinguishes runs of one benchmark with other settings; empty for one run.
        class_path: Its class.
        init_args: Arguments of the class.
        version: Increases when its cases or their order change.
        licence: Licence of its annotations.
        citation: Its paper.
        notes: Counts of cases that are left out, and other remarks.
        baselines: Values of models that see no image, by subset and metric.
        ceilings: What can be guessed from texts and order, by subset and metric.
        files: SHA-256 of its files.
        subsets: Its subsets.
    """

    benchmark: str
    run: str
    class_path: str
    init_args: dict[str, Any]
    version: int
    licence: str
    citation: str
    notes: dict[str, Any]
    baselines: dict[str, Any]
    ceilings: dict[str, Any]
    files: dict[str, str]
    subsets: dict[str, BenchmarkSubset]


class AbsentSubset(TypedDict):
    """A subset that was not measured, since a file of it is missing.

    Attributes:
        benchmark: Name of the benchmark.
        run: As in `BenchmarkRecord`.
        subset: Name of the subset.
        files: The files, any of which would do.
        instructions: How to get them.
    """

    benchmark: str
    run: str
    subset: str
    files: list[str]
    instructions: str


class ResultsFile(TypedDict):
    """results.json, as `zoo validate --out` and `zoo.evaluate(out=...)` write it.

    Attributes:
        schema: Version of this form.
        protocols: Version of the rules by which cases are judged.
        software: Versions of Python and packages, null for packages that are missing.
        model: What was evaluated: checkpoint, recipe, origin of the weights and their hash.
        scoring: How it was scored: device, precision, scale, texts that were cut.
        data_root: Data folders.
        benchmarks: The benchmarks that were measured, by name.
        absent: Subsets that were not measured.
        presets: Metrics and averages under each preset.
        reference_models: Models whose published values are listed with those of the run.
    """

    schema: int
    protocols: int
    software: dict[str, str | None]
    model: dict[str, Any]
    scoring: dict[str, Any]
    data_root: list[str]
    benchmarks: dict[str, BenchmarkRecord]
    absent: list[AbsentSubset]
    presets: list[PresetResults]
    reference_models: NotRequired[list[str]]


def build_results_schema() -> dict[str, Any]:
    """Returns the JSON Schema of the code's types, which `results.schema.json` has as well."""
    schema = _normalize(msgspec.json.schema(ResultsFile))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _normalize(value: Any) -> Any:
    """Makes a schema of msgspec equal in all processes and versions.

    Lists that msgspec makes of sets are sorted, and the indentation of docstrings is removed.
    """
    if isinstance(value, dict):
        return {name: _normalize(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return sorted(map(_normalize, value), key=str)
    return inspect.cleandoc(value) if isinstance(value, str) else value


if __name__ == "__main__":
    FILE.write_text(json.dumps(build_results_schema(), indent=1) + "\n", "utf-8")
