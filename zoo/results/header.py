"""The header of results: the model, the scoring, the benchmarks and the software of a run."""

import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.ceilings import ceilings_to_dict, load_or_compute_ceilings
from zoo.benchmarks.protocols.base import VERSION
from zoo.errors import DISTRIBUTION
from zoo.results.metrics import Reference
from zoo.results.plan import Plan
from zoo.results.runs import BenchmarkRun
from zoo.support.configurable import to_config
from zoo.support.text_files import sha256

SCHEMA_VERSION = 10
SOFTWARE = (DISTRIBUTION, "torch", "lightning", "open_clip_torch", "numpy", "pillow", "scipy")
# keys of the header
REFERENCE_MODELS = "reference_models"
EXCLUDED_IMAGES = "excluded_images"
# keys of its `scoring`
TRUNCATED = "truncated_texts"
SHORT_LISTS = "retrieval"
SCALE = "scale"
DECODED = "image_decoder"  # recorded if it is not PIL
LIMIT = "limit"  # recorded if only the first cases of each subset were measured
TEXT_PROBE = "text_probe"
CACHED = "cached_vectors"
# key of its `model`
TRAINED_IMAGES = "trained_images"  # number per data set that the model was trained on


def build_header(
    plan: Plan,
    benchmarks: Sequence[Benchmark],
    roots: Sequence[Path],
    model: Mapping[str, Any],
    scoring: Mapping[str, Any],
    reference_models: Sequence[str] = (),
) -> dict[str, Any]:
    """Returns the content of results.json except metrics.

    Args:
        plan: The cases, images and texts of the run.
        benchmarks: The benchmarks, in the order of the plan.
        roots: Data folders.
        model: Description of the model.
        scoring: Description of the scoring.
        reference_models: Models whose published values are listed with those of the run.
    """
    header: dict[str, Any] = {
        "schema": SCHEMA_VERSION,
        "protocols": VERSION,
        "software": software(),
        "model": dict(model),
        "scoring": {**scoring, "images": len(plan.images), "texts": len(plan.texts)},
        "data_root": [str(root) for root in roots],
        "benchmarks": {
            str(run): _describe_benchmark(run, b, plan)
            for run, b in zip(plan.contents, benchmarks, strict=True)
        },
        "absent": [
            {
                **run._asdict(),
                "subset": subset.name,
                "files": list(subset.files),
                "instructions": subset.instructions,
            }
            for run, subset in plan.absent_subsets
        ],
    }
    if reference_models:
        header[REFERENCE_MODELS] = list(reference_models)
    return header


def references(header: Mapping[str, Any]) -> dict[tuple[BenchmarkRun, str], Reference]:
    """Returns the reference values from the header, by benchmark and subset."""
    return {
        (run_of_record(benchmark), name): Reference(
            subset["published_n"], subset["chance"], subset["published"]
        )
        for benchmark in header["benchmarks"].values()
        for name, subset in benchmark["subsets"].items()
    }


def run_of_record(record: Mapping[str, Any]) -> BenchmarkRun:
    """Returns the run that a benchmark or an absent subset of the header belongs to."""
    return BenchmarkRun(record["benchmark"], record["run"])


def describe_limit(header: Mapping[str, Any]) -> str:
    """Returns a warning if `--limit` left out cases, else an empty text."""
    limit = header["scoring"].get(LIMIT)
    if limit is None:
        return ""
    return f"at most {limit:,} cases per subset were measured (--limit): a test, not a result"


def software() -> dict[str, str]:
    """Returns the versions of the software that metrics depend on."""
    versions = {"python": platform.python_version()}
    for package in SOFTWARE:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _describe_benchmark(run: BenchmarkRun, benchmark: Benchmark, plan: Plan) -> dict[str, Any]:
    contents, subsets = plan.contents[run], plan.subsets[run]
    return {
        **run._asdict(),
        **to_config(benchmark),
        "version": benchmark.version,
        "licence": benchmark.licence,
        "citation": benchmark.citation,
        "notes": contents.notes,
        "baselines": contents.baselines,
        "ceilings": ceilings_to_dict(
            load_or_compute_ceilings(contents.cases, {s.name: s.chance for s in subsets})
        ),
        "files": {str(path): sha256(path) for path in _list_files(contents.files)},
        "subsets": {
            subset.name: {
                "published_n": subset.n,
                "chance": dict(subset.chance),
                "published": dict(subset.published),
            }
            for subset in subsets
        },
    }


def _list_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.is_file())
        else:
            yield path
