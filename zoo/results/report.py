"""The results of a run: results.json, cases.parquet and printed tables.

Metrics can be recomputed from cases.parquet.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from zoo.benchmarks.base import Benchmark
from zoo.errors import ZooError, import_optional, suggest_names
from zoo.familiarity.images import SeenImages
from zoo.results.averages import Average
from zoo.results.bind_split_release import (
    check_release_folder,
    has_release,
    remove_release,
    write_release,
)
from zoo.results.display_names import benchmark_name
from zoo.results.familiarity import Familiarity, add_bucket_column, count_overlaps
from zoo.results.header import EXCLUDED_IMAGES, build_header, references
from zoo.results.leaks import add_leak_column, compute_leaks
from zoo.results.metrics import Metric
from zoo.results.plan import Plan
from zoo.results.preset_results import PresetResults, compute_preset_results
from zoo.results.presets.preset import Preset
from zoo.results.summary_tables import preset_tables, report_parts
from zoo.results.tables import TextTable, plain_text, print_parts
from zoo.support.files import temporary_path

RESULTS, CASES = "results.json", "cases.parquet"
HEADER = b"zoo"  # the key of the header in the metadata of cases.parquet


@dataclass(frozen=True, repr=False)
class Results:
    """The results of a run. `print(results)` shows the report.

    Attributes:
        header: The content of results.json, except for metrics and averages.
        by_preset: Metrics and averages per preset.
        cases: Table with one row per query of each case, as in cases.parquet.
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
        """Returns the values of the first preset in per cent, with keys 'benchmark/subset/metric'.

        Metrics without a scored case are omitted.
        """
        return {str(m): m.value for m in self.metrics if m.value is not None}

    def value(self, benchmark: str, subset: str, metric: str) -> float | None:
        """Returns the value of a metric of the first preset in per cent; None if it was not scored.

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
        return plain_text(list(report_parts(self.header, self.by_preset)))

    def _repr_html_(self) -> str:
        """The metrics and averages of every preset, for notebooks."""
        return "".join(
            table.html()
            for counted in self.by_preset
            for table in preset_tables(self.header, self.by_preset, counted)
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
        return "\n\n".join(table.markdown() for table in self._tables(preset))

    def to_latex(self, preset: str | None = None, caption: str = "", label: str = "") -> str:
        """Returns the metrics and averages in LaTeX, as tables that require the package booktabs.

        Benchmarks are named as in papers.

        Args:
            preset: Name of a preset of these results; the first if None.
            caption: Caption of the tables. If a caption or a label is given, the tables are floats.
            label: Label of the tables, to which `-1` is added for the first, `-2` for the second,
                and so on.

        Raises:
            ZooError: The results do not have this preset, or the label has other characters than
                letters, digits and `:.-_`.
        """
        tables = (
            replace(table, rows=tuple((benchmark_name(row[0]), *row[1:]) for row in table.rows))
            for table in self._tables(preset)
        )
        return "\n\n".join(
            table.latex(caption, label and f"{label}-{i}") for i, table in enumerate(tables, 1)
        )

    def _tables(self, preset: str | None) -> list[TextTable]:
        counted = next((c for c in self.by_preset if preset in (None, c.preset)), None)
        if counted is None:
            preset_names = [c.preset for c in self.by_preset]
            raise ZooError(
                f"the results have no preset {preset!r}{suggest_names(str(preset), preset_names)}. "
                f"Available: {', '.join(preset_names)}. Add presets with `recount` or `zoo rescore`"
            )
        return preset_tables(self.header, self.by_preset, counted)

    def as_json(self) -> dict[str, Any]:
        """Returns the content of results.json."""
        return {**self.header, "presets": [asdict(counted) for counted in self.by_preset]}

    def recount(self, presets: Sequence[Preset]) -> "Results":
        """Returns the results with the metrics of other presets, from the same scores.

        Metrics that leave out the images of `Evaluation.exclude_images` are not computed, and
        `header` does not mention these images.
        """
        header = {name: value for name, value in self.header.items() if name != EXCLUDED_IMAGES}
        return Results(header, compute_preset_results(self.cases, presets, header), self.cases)


def print_results(results: Results, console: Console | None = None, long: bool = False) -> None:
    """Prints the report.

    Args:
        results: The results.
        console: The console; by default the terminal, or one wide enough for a file or pipe.
        long: Whether to print everything, however many metrics there are.
    """
    print_parts(list(report_parts(results.header, results.by_preset, long)), console)


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
    header = build_header(plan, benchmarks, roots, model, scoring, reference_models)
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
        description = {**familiarity.describe(), "subsets": count_overlaps(overlaps)}
        header = {**results.header, "familiarity": description}
        results = Results(header, (), add_bucket_column(results.cases, overlaps))
    if seen is not None:
        results = replace(results, cases=add_leak_column(results.cases, seen))
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
        check_release_folder(out)
    has_results = has_release(out) or any((out / name).exists() for name in (RESULTS, CASES))
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
