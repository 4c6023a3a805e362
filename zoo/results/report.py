"""The results of a run: results.json, cases.parquet and printed tables.

Metrics can be recomputed from cases.parquet.
"""

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.ceilings import ceilings, ceilings_to_dict
from zoo.benchmarks.protocols.base import VERSION, protocol_of
from zoo.errors import DISTRIBUTION, ZooError, import_optional, suggest_names
from zoo.familiarity.images import SeenImages
from zoo.results.averages import Average, compute_averages
from zoo.results.benchmark_means import by_benchmark
from zoo.results.bind_split_release import check_release, is_released, remove_release, write_release
from zoo.results.familiarity import Familiarity, summary, with_buckets
from zoo.results.leaks import LeakMetric, compute_leaks, with_seen_images
from zoo.results.metrics import Metric, Reference, compute_metrics, tie_warnings
from zoo.results.plan import Plan
from zoo.results.presets.base import Preset
from zoo.results.presets.shipped import Official
from zoo.results.published_comparison import published_table
from zoo.results.runs import BenchmarkRun
from zoo.results.splits import by_split
from zoo.results.tables import TextTable, averages_table, metrics_table, splits_table
from zoo.support.configurable import to_config
from zoo.support.files import temporary_path
from zoo.support.provenance import random_weights
from zoo.support.text_files import sha256

SCHEMA_VERSION = 9
SOFTWARE = (DISTRIBUTION, "torch", "lightning", "open_clip_torch", "numpy", "pillow", "scipy")
RESULTS, CASES = "results.json", "cases.parquet"
HEADER = b"zoo"
TRUNCATED = "texts over the context length, cut"
SHORT_LISTS = "retrieval"
SCALE = "scale"
DECODED = "images decoded by"  # recorded if the decoder is not PIL
TEXT_PROBE = "told by texts alone"
REFERENCE_MODELS = "reference_models"
EXCLUDED_IMAGES = "excluded"
TRAINED_IMAGES = "trained_images"  # number per data set that the model was trained on


@dataclass(frozen=True)
class PresetResults:
    """The metrics and averages under one preset.

    Attributes:
        preset: Name of the preset.
        description: Description of the preset in the report.
        metrics: Metrics in the order of the report.
        averages: Averages of the preset.
        splits: Metrics by the familiarity of bindings, if requested.
        by_benchmark: Mean of each metric over the subsets of a benchmark, weighted by cases.
        leaks: Metrics without the images that the model has seen, if requested.
    """

    preset: str
    description: str
    metrics: tuple[Metric, ...]
    averages: tuple[Average, ...]
    splits: tuple[Metric, ...] = ()
    by_benchmark: tuple[Average, ...] = ()
    leaks: tuple[LeakMetric, ...] = ()


@dataclass(frozen=True, repr=False)
class Results:
    """The results of a run. `print` shows them as the report.

    Attributes:
        header: The content of results.json except metrics.
        by_preset: Metrics and averages per preset.
        cases: Table with one row for each outcome.
    """

    header: dict[str, Any]
    by_preset: tuple[PresetResults, ...]
    cases: pa.Table

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of the first preset."""
        return self.by_preset[0].metrics

    @property
    def averages(self) -> tuple[Average, ...]:
        """The averages of the first preset."""
        return self.by_preset[0].averages

    def scalars(self) -> dict[str, float]:
        """Returns the values of the first preset in per cent, by 'benchmark/subset/metric'.

        Metrics without a scored case are omitted.
        """
        return {str(m): m.value for m in self.metrics if m.value is not None}

    def value(self, benchmark: str, subset: str, metric: str) -> float | None:
        """Returns one value of the first preset in per cent, None if it was not scored.

        Raises:
            ZooError: The metric does not exist.
        """
        for m in self.metrics:
            if (str(m.benchmark_run), m.subset, m.metric) == (benchmark, subset, metric):
                return m.value
        names = ", ".join(map(str, self.metrics))
        raise ZooError(
            f"the results have no metric {benchmark}/{subset}/{metric}. Available: {names}"
        )

    def __repr__(self) -> str:
        """The report as `zoo validate` prints it, 100 columns wide."""
        from zoo.results.show import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """The metrics and averages of every preset, for notebooks."""
        return "".join(
            table.html()
            for counted in self.by_preset
            for table in self._all_tables(counted)
            if table.rows
        )

    def records(self) -> list[dict[str, Any]]:
        """Returns one record per metric and preset, with all its fields from results.json."""
        return [
            {"preset": counted.preset, **asdict(metric)}
            for counted in self.by_preset
            for metric in (*counted.metrics, *counted.splits)
        ]

    def to_pandas(self) -> Any:
        """Returns `records` as a pandas.DataFrame.

        Raises:
            ZooError: pandas is not installed.
        """
        pandas: Any = import_optional("pandas")
        return pandas.DataFrame(self.records())

    def to_markdown(self, preset: str | None = None) -> str:
        """Returns the metrics and averages in Markdown, as tables.

        Args:
            preset: Name of a preset of these results; the first if None.

        Raises:
            ZooError: The results do not have this preset.
        """
        return "\n\n".join(table.markdown() for table in self._nonempty_tables(preset))

    def to_latex(self, preset: str | None = None) -> str:
        """Returns the metrics and averages in LaTeX, as tabulars that require the package booktabs.

        Args:
            preset: Name of a preset of these results; the first if None.

        Raises:
            ZooError: The results do not have this preset.
        """
        return "\n\n".join(table.latex() for table in self._nonempty_tables(preset))

    def _nonempty_tables(self, preset: str | None) -> list[TextTable]:
        counted = next((c for c in self.by_preset if preset in (None, c.preset)), None)
        if counted is None:
            preset_names = [c.preset for c in self.by_preset]
            raise ZooError(
                f"the results have no preset {preset!r}{suggest_names(str(preset), preset_names)}. "
                f"Available: {', '.join(preset_names)}. Add presets with `recount` or `zoo rescore`"
            )
        return [table for table in self._all_tables(counted) if table.rows]

    def _all_tables(self, counted: PresetResults) -> tuple[TextTable, ...]:
        averaged, split = averages_table(counted.averages), splits_table(counted.splits)
        return self._preset_table(counted), averaged, split, self.published_table(counted)

    def published_table(self, counted: PresetResults) -> TextTable:
        """Returns the table of published values for the metrics and averages of a preset.

        Metrics that equal those of the first preset are listed with the first preset only.
        """
        first_metrics = () if counted is self.by_preset[0] else self.metrics
        new_metrics = [metric for metric in counted.metrics if metric not in first_metrics]
        return published_table(
            self.header.get(REFERENCE_MODELS, ()), counted.preset, new_metrics, counted.averages
        )

    def _preset_table(self, counted: PresetResults) -> TextTable:
        lines = [f"preset {counted.preset}: {counted.description}"]
        random = random_weights(self.header["model"].get("weights", {}))
        lines += [] if random is None else [random]
        lines += tie_warnings(counted.metrics, counted.preset)
        return metrics_table(counted.metrics, lines)

    def as_json(self) -> dict[str, Any]:
        """Returns the content of results.json."""
        return {**self.header, "presets": [asdict(counted) for counted in self.by_preset]}

    def recount(self, presets: Sequence[Preset]) -> "Results":
        """Returns the same outcomes with the metrics of other presets.

        The header has no excluded images, because no metric is computed without them.
        """
        header = {name: value for name, value in self.header.items() if name != EXCLUDED_IMAGES}
        return Results(header, count_under_presets(self.cases, presets, header), self.cases)


def build_results(
    plan: Plan,
    benchmarks: Sequence[Benchmark],
    roots: Sequence[Path],
    presets: Sequence[Preset],
    cases: pa.Table,
    model: Mapping[str, Any],
    scoring: Mapping[str, Any],
    out: Path | None,
    familiarity: Familiarity | None = None,
    reference_models: Sequence[str] = (),
    seen: SeenImages | None = None,
) -> Results:
    """Computes metrics under the presets and writes results.json and cases.parquet.

    Args:
        plan: The cases, images and texts of the run.
        benchmarks: The benchmarks, in the order of the plan.
        roots: Data folders.
        presets: Rules for counting and averaging.
        cases: Table of `outcomes.SCHEMA`.
        model: Description of the model for results.json.
        scoring: Description of the scoring for results.json.
        out: Folder of both files; nothing is written if None.
        familiarity: Splits the cases by familiarity; None for no split.
        reference_models: Models whose published values are listed with those of the run.
        seen: Images whose cases are excluded from a second set of metrics; None for no such set.

    Raises:
        ZooError: The files cannot be written.
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
                "how": subset.instructions,
            }
            for run, subset in plan.absent
        ],
    }
    if reference_models:
        header[REFERENCE_MODELS] = list(reference_models)
    return finish_results(Results(header, (), cases), presets, out, familiarity, seen)


def finish_results(
    results: Results,
    presets: Sequence[Preset],
    out: Path | None,
    familiarity: Familiarity | None,
    seen: SeenImages | None = None,
) -> Results:
    """Splits cases, computes metrics and writes the results.

    Args:
        results: Header and cases; metrics are recomputed.
        presets: Rules for counting and averaging.
        out: Folder of the files; nothing is written if None.
        familiarity: Splits the cases by familiarity; None keeps them as they are.
        seen: Images whose cases are excluded from a second set of metrics; None for no such set.

    Raises:
        ZooError: The files cannot be written, or no case can be split.
    """
    overlaps = None
    if familiarity is not None:
        overlaps = familiarity.overlaps(results.cases)
        description = {**familiarity.describe(), "subsets": summary(overlaps)}
        header = {**results.header, "familiarity": description}
        results = Results(header, (), with_buckets(results.cases, overlaps))
    if seen is not None:
        results = replace(results, cases=with_seen_images(results.cases, seen))
    results = results.recount(presets)
    if seen is not None:
        reference_values = references(results.header)
        counted = (
            replace(c, leaks=tuple(compute_leaks(results.cases, preset.rules, reference_values)))
            for c, preset in zip(results.by_preset, presets, strict=True)
        )
        header = {**results.header, EXCLUDED_IMAGES: seen.describe()}
        results = Results(header, tuple(counted), results.cases)
    if out is not None:
        write_results(results, out)
        if familiarity is None or overlaps is None:
            remove_release(out)
        else:
            write_release(overlaps, familiarity.table, out)
    return results


def count_under_presets(
    cases: pa.Table, presets: Sequence[Preset], header: Mapping[str, Any]
) -> tuple[PresetResults, ...]:
    """Returns metrics and averages per preset.

    Metrics are in the order of the benchmarks and subsets in the header.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        presets: Rules for counting and averaging.
        header: The content of results.json except metrics.
    """
    order = [
        (_benchmark_run(benchmark), subset)
        for benchmark in header["benchmarks"].values()
        for subset in benchmark["subsets"]
    ]
    position = {key: i for i, key in enumerate(order)}
    reference_values, official, counted = references(header), Official().rules, []
    for preset in presets:
        observations = compute_metrics(cases, preset.rules, reference_values, official)
        preset_metrics = sorted(
            observations, key=lambda m: position.get((m.benchmark_run, m.subset), len(position))
        )
        means = compute_averages(preset.name, preset.means, preset_metrics, observations)
        description = f"{preset.description}{_describe_kept_options(preset, cases)}"
        splits = by_split(cases, preset.rules, reference_values)
        benchmark_means = tuple(by_benchmark(preset.name, preset_metrics, observations))
        counted.append(
            PresetResults(
                preset.name,
                description,
                tuple(preset_metrics),
                tuple(means),
                splits,
                benchmark_means,
            )
        )
    return tuple(counted)


def _describe_kept_options(preset: Preset, cases: pa.Table) -> str:
    """Returns the protocols whose identical options the preset cannot drop, as a clause."""
    if not preset.rules.drop_identical:
        return ""
    keeping = pc.unique(cases.filter(cases["identical"].is_null())["protocol"]).to_pylist()
    names = sorted({protocol_of(protocol).name for protocol in keeping})
    return f", but kept by protocol {', '.join(names)}" if names else ""


def references(header: Mapping[str, Any]) -> dict[tuple[BenchmarkRun, str], Reference]:
    """Returns the reference values from the header, by benchmark and subset."""
    return {
        (_benchmark_run(benchmark), name): Reference(
            subset["published_n"], subset["chance"], subset["published"]
        )
        for benchmark in header["benchmarks"].values()
        for name, subset in benchmark["subsets"].items()
    }


def software() -> dict[str, str]:
    """Returns the versions of the software that metrics depend on."""
    versions = {"python": platform.python_version()}
    for package in SOFTWARE:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def check_overwrite(out: Path | None, overwrite: bool, splits: bool) -> None:
    """Checks, before anything is computed, that no existing results will be overwritten.

    Args:
        out: Folder for the results; None if they are not written.
        overwrite: Whether existing results may be overwritten.
        splits: Whether cases are split by familiarity, which writes a separate folder.

    Raises:
        ZooError: The folder already holds results, or other files have the same names.
    """
    if out is None:
        return
    if splits:
        check_release(out)
    has_results = is_released(out) or any((out / name).exists() for name in (RESULTS, CASES))
    if has_results and not overwrite:
        raise ZooError(
            f"{out} already holds results. Choose another folder, or add --overwrite (in Python "
            "overwrite=True) to replace them"
        )


def write_results(results: Results, out: Path) -> None:
    """Writes results.json and cases.parquet.

    Both are written to temporary files and renamed when both are complete. If writing fails,
    existing files stay unchanged.

    Raises:
        ZooError: The files cannot be written.
    """
    text = json.dumps(results.as_json(), indent=1, ensure_ascii=False, allow_nan=False)
    header = json.dumps(results.header, ensure_ascii=False, allow_nan=False)
    cases = results.cases.replace_schema_metadata({HEADER: header})
    try:
        with temporary_path(out / RESULTS) as counted, temporary_path(out / CASES) as scored:
            pq.write_table(cases, scored, compression="zstd")
            counted.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ZooError(
            f"results cannot be written to {out} ({error}): "
            "free some disk space, or choose another folder with --out"
        ) from error


def _benchmark_run(described: Mapping[str, Any]) -> BenchmarkRun:
    return BenchmarkRun(described["benchmark"], described["run"])


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
        "ceilings": ceilings_to_dict(ceilings(contents.cases, {s.name: s.chance for s in subsets})),
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
