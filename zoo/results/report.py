"""Report: what a run found, as results.json, cases.parquet and a table.

Metrics can be counted again from the cases.
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
from zoo.benchmarks.ceilings import as_plain, ceilings
from zoo.benchmarks.protocols.base import VERSION, protocol_of
from zoo.errors import DISTRIBUTION, ZooError, import_optional, suggest_names
from zoo.familiarity.images import SeenImages
from zoo.results.averages import Average, averages
from zoo.results.beside import beside_table
from zoo.results.by_benchmark import by_benchmark
from zoo.results.familiar import Familiarity, summary, with_buckets
from zoo.results.leaks import Leak, leaks, with_seen_images
from zoo.results.metrics import Metric, Reference, metrics, tie_warnings
from zoo.results.plan import Plan
from zoo.results.presets.base import Preset
from zoo.results.presets.shipped import Official
from zoo.results.released import check_release, is_released, release, withdraw
from zoo.results.runs import BenchmarkRun
from zoo.results.splits import by_split
from zoo.results.tables import TextTable, averages_table, metrics_table, splits_table
from zoo.support.files import temporary_path
from zoo.support.provenance import random_weights
from zoo.support.spec import to_config
from zoo.support.text_files import sha256

SCHEMA_VERSION = 9
SOFTWARE = (DISTRIBUTION, "torch", "lightning", "open_clip_torch", "numpy", "pillow", "scipy")
RESULTS, CASES = "results.json", "cases.parquet"
HEADER = b"zoo"
CUT = "texts over the context length, cut"
SHORT_LISTS = "retrieval"
SCALE = "scale"
DECODED = "images decoded by"  # where that is not PIL
TEXTS_ALONE = "told by texts alone"
BESIDE = "beside"
EXCLUDED_IMAGES = "excluded"
TRAINED_IMAGES = "trained_images"  # how many of each data set the model was trained on


@dataclass(frozen=True)
class Counted:
    """The metrics and averages under one preset.

    Attributes:
        preset: Name of the preset.
        says: What the report says of the preset.
        metrics: Metrics in the order of the report.
        averages: Averages that were taken.
        splits: Metrics by the familiarity of bindings, where that was asked.
        by_benchmark: The mean of each metric over the subsets of a benchmark, all cases alike.
        leaks: Metrics without the images that the model has seen, where that was asked.
    """

    preset: str
    says: str
    metrics: tuple[Metric, ...]
    averages: tuple[Average, ...]
    splits: tuple[Metric, ...] = ()
    by_benchmark: tuple[Average, ...] = ()
    leaks: tuple[Leak, ...] = ()


@dataclass(frozen=True, repr=False)
class Results:
    """What a run found; it prints as its table.

    Attributes:
        header: All that results.json says beside metrics.
        counted: Metrics and averages, by preset.
        cases: Table with one row for each outcome.
    """

    header: dict[str, Any]
    counted: tuple[Counted, ...]
    cases: pa.Table

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics of the first preset."""
        return self.counted[0].metrics

    @property
    def averages(self) -> tuple[Average, ...]:
        """The averages of the first preset."""
        return self.counted[0].averages

    def scalars(self) -> dict[str, float]:
        """Returns the first preset's values in per cent, by 'benchmark/subset/metric'.

        Metrics of which nothing was scored are left out.
        """
        return {str(f): f.value for f in self.metrics if f.value is not None}

    def value(self, benchmark: str, subset: str, metric: str) -> float | None:
        """Returns one value of the first preset in per cent, None where it was not scored.

        Raises:
            ZooError: There is no such metric.
        """
        for found in self.metrics:
            if (str(found.benchmark_run), found.subset, found.metric) == (
                benchmark,
                subset,
                metric,
            ):
                return found.value
        known = ", ".join(map(str, self.metrics))
        raise ZooError(
            f"the results have no metric {benchmark}/{subset}/{metric}: they have {known}"
        )

    def __repr__(self) -> str:
        """The report as `zoo validate` prints it, 100 columns wide."""
        from zoo.results.show import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        """The metrics and averages of every preset, for notebooks."""
        return "".join(
            table.html()
            for counted in self.counted
            for table in self._tables_of(counted)
            if table.rows
        )

    def records(self) -> list[dict[str, Any]]:
        """Returns a record for each metric and preset, with all that results.json says of it."""
        return [
            {"preset": counted.preset, **asdict(metric)}
            for counted in self.counted
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
            preset: Name of a counted preset; the first where None.

        Raises:
            ZooError: The results were not counted under that preset.
        """
        return "\n\n".join(table.markdown() for table in self._tables(preset))

    def to_latex(self, preset: str | None = None) -> str:
        """Returns the metrics and averages in LaTeX, as tabulars that need the package booktabs.

        Args:
            preset: Name of a counted preset; the first where None.

        Raises:
            ZooError: The results were not counted under that preset.
        """
        return "\n\n".join(table.latex() for table in self._tables(preset))

    def _tables(self, preset: str | None) -> list[TextTable]:
        counted = next((c for c in self.counted if preset in (None, c.preset)), None)
        if counted is None:
            known = [c.preset for c in self.counted]
            raise ZooError(
                f"the results are not counted under {preset!r}{suggest_names(str(preset), known)}, "
                f"but under {', '.join(known)}: use `recounted`, or `zoo rescore`"
            )
        return [table for table in self._tables_of(counted) if table.rows]

    def _tables_of(self, counted: Counted) -> tuple[TextTable, ...]:
        averaged, split = averages_table(counted.averages), splits_table(counted.splits)
        return self._table(counted), averaged, split, self.published_table(counted)

    def published_table(self, counted: Counted) -> TextTable:
        """Returns published figures of what was counted, of the models that were named.

        Metrics that the first preset has too stand with that one alone.
        """
        first = () if counted is self.counted[0] else self.metrics
        own = [metric for metric in counted.metrics if metric not in first]
        return beside_table(self.header.get(BESIDE, ()), counted.preset, own, counted.averages)

    def _table(self, counted: Counted) -> TextTable:
        said = [f"preset {counted.preset}: {counted.says}"]
        random = random_weights(self.header["model"].get("weights", {}))
        said += [] if random is None else [random]
        said += tie_warnings(counted.metrics, counted.preset)
        return metrics_table(counted.metrics, said)

    def as_json(self) -> dict[str, Any]:
        """Returns what results.json holds."""
        return {**self.header, "presets": [asdict(counted) for counted in self.counted]}

    def recount(self, presets: Sequence[Preset]) -> "Results":
        """Returns the same outcomes counted under other presets.

        They do not say which images were left out beside, since no metric is counted without them.
        """
        header = {name: said for name, said in self.header.items() if name != EXCLUDED_IMAGES}
        return Results(header, count(self.cases, presets, header), self.cases)


def report(
    plan: Plan,
    benchmarks: Sequence[Benchmark],
    roots: Sequence[Path],
    presets: Sequence[Preset],
    cases: pa.Table,
    model: Mapping[str, Any],
    scoring: Mapping[str, Any],
    out: Path | None,
    familiarity: Familiarity | None = None,
    beside: Sequence[str] = (),
    seen: SeenImages | None = None,
) -> Results:
    """Counts the cases under the presets and writes results.json and cases.parquet.

    Args:
        plan: What was asked.
        benchmarks: The benchmarks, in the order of the plan.
        roots: Data roots.
        presets: Ways of counting and averaging.
        cases: Table of `outcomes.SCHEMA`.
        model: What results say of the model.
        scoring: What results say of the scoring.
        out: Folder of both files; nothing is written where None.
        familiarity: What splits the cases, None where they are not split.
        beside: Models whose published figures stand beside the run's.
        seen: Images whose cases are left out beside, None where none are.

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
                "how": subset.how,
            }
            for run, subset in plan.absent
        ],
    }
    if beside:
        header[BESIDE] = list(beside)
    return finish_results(Results(header, (), cases), presets, out, familiarity, seen)


def finish_results(
    results: Results,
    presets: Sequence[Preset],
    out: Path | None,
    familiarity: Familiarity | None,
    seen: SeenImages | None = None,
) -> Results:
    """Splits, counts and writes results.

    Args:
        results: Header and cases; what was counted of them is counted anew.
        presets: Ways of counting and averaging.
        out: Folder of the files; nothing is written where None.
        familiarity: What splits the cases, None where they stay as they are.
        seen: Images whose cases are left out beside, None where none are.

    Raises:
        ZooError: The files cannot be written, or no case can be split.
    """
    overlaps = None
    if familiarity is not None:
        overlaps = familiarity.overlaps(results.cases)
        said = {**familiarity.describe(), "subsets": summary(overlaps)}
        header = {**results.header, "familiarity": said}
        results = Results(header, (), with_buckets(results.cases, overlaps))
    if seen is not None:
        results = replace(results, cases=with_seen_images(results.cases, seen))
    results = results.recount(presets)
    if seen is not None:
        known = references(results.header)
        counted = (
            replace(c, leaks=tuple(leaks(results.cases, preset.rules, known)))
            for c, preset in zip(results.counted, presets, strict=True)
        )
        header = {**results.header, EXCLUDED_IMAGES: seen.describe()}
        results = Results(header, tuple(counted), results.cases)
    if out is not None:
        write(results, out)
        if familiarity is None or overlaps is None:
            withdraw(out)
        else:
            release(overlaps, familiarity.table, out)
    return results


def count(
    cases: pa.Table, presets: Sequence[Preset], header: Mapping[str, Any]
) -> tuple[Counted, ...]:
    """Returns metrics and averages by preset.

    Metrics stand in the order of the header's benchmarks and their subsets.

    Args:
        cases: Table of `outcomes.SCHEMA`.
        presets: Ways of counting and averaging.
        header: All that results.json says beside metrics.
    """
    order = [
        (_run(benchmark), subset)
        for benchmark in header["benchmarks"].values()
        for subset in benchmark["subsets"]
    ]
    place = {key: i for i, key in enumerate(order)}
    known, official, counted = references(header), Official().rules, []
    for preset in presets:
        observations = metrics(cases, preset.rules, known, official)
        found = sorted(
            observations, key=lambda f: place.get((f.benchmark_run, f.subset), len(place))
        )
        means = averages(preset.name, preset.means, found, observations)
        says = f"{preset.says}{_describe_kept_options(preset, cases)}"
        splits = by_split(cases, preset.rules, known)
        whole = tuple(by_benchmark(preset.name, found, observations))
        counted.append(Counted(preset.name, says, tuple(found), tuple(means), splits, whole))
    return tuple(counted)


def _describe_kept_options(preset: Preset, cases: pa.Table) -> str:
    """Says which protocols keep the options that the preset drops of others; else nothing."""
    if not preset.rules.drop_identical:
        return ""
    keeping = pc.unique(cases.filter(cases["identical"].is_null())["protocol"]).to_pylist()
    names = sorted({protocol_of(named).name for named in keeping})
    return f", but kept by protocol {', '.join(names)}" if names else ""


def references(header: Mapping[str, Any]) -> dict[tuple[BenchmarkRun, str], Reference]:
    """Returns what the header says is known beforehand, by benchmark and subset."""
    return {
        (_run(benchmark), name): Reference(
            known["published_n"], known["chance"], known["published"]
        )
        for benchmark in header["benchmarks"].values()
        for name, known in benchmark["subsets"].items()
    }


def software() -> dict[str, str]:
    """Returns the versions of what metrics depend on."""
    found = {"python": platform.python_version()}
    for package in SOFTWARE:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def refuse_results(out: Path | None, overwrite: bool, splits: bool) -> None:
    """Makes sure, before anything is computed, that nothing in the folder of results will be lost.

    Args:
        out: Folder that results go to, None where they are not written.
        overwrite: Whether results that are there may be lost.
        splits: Whether cases are split by familiarity, whose files lie in a folder of their own.

    Raises:
        ZooError: The folder holds results that may not be lost, or anybody's files in their place.
    """
    if out is None:
        return
    if splits:
        check_release(out)
    there = is_released(out) or any((out / name).exists() for name in (RESULTS, CASES))
    if there and not overwrite:
        raise ZooError(
            f"{out} holds results: name another folder, or add --overwrite (in Python "
            "overwrite=True) if they may be lost"
        )


def write(results: Results, out: Path) -> None:
    """Writes results.json and cases.parquet.

    Both are written beside their places and renamed when both are whole. A failure leaves what was
    there.

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
            "make room, or name another folder by --out"
        ) from error


def _run(described: Mapping[str, Any]) -> BenchmarkRun:
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
        "ceilings": as_plain(ceilings(contents.cases, {s.name: s.chance for s in subsets})),
        "files": {str(path): sha256(path) for path in _files(contents.files)},
        "subsets": {
            subset.name: {
                "published_n": subset.n,
                "chance": dict(subset.chance),
                "published": dict(subset.published),
            }
            for subset in subsets
        },
    }


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from sorted(p for p in path.rglob("*") if p.is_file())
        else:
            yield path
