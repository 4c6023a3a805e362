"""A comparison of several runs on the same queries, with its tables and figures."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.console import Console, RenderableType
from rich.text import Text

from zoo.errors import import_optional
from zoo.results.comparison.forest_plot import draw_forest_figure
from zoo.results.comparison.lines import (
    LEVEL,
    ComparisonLine,
    Contrast,
    RunValue,
    names_with_lower_better,
)
from zoo.results.comparison.split_gaps import compute_split_gaps
from zoo.results.display_names import benchmark_name, method_name
from zoo.results.drawing import render_figure
from zoo.results.number_formats import format_number, format_points
from zoo.results.tables import (
    Bold,
    TextTable,
    Underlined,
    plain_text,
    print_parts,
    to_csv,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PUBLISHED = "published"
MARKS = (
    "bold, or *: the best; underlined, or ~: not significantly worse than the best "
    f"(q above {LEVEL})"
)
LATEX_MARKS = (
    f"Bold: significantly better than every other tested run (q at most {LEVEL}). "
    "Underlined: the best, or not significantly worse than the best."
)
LATEX_CAPTIONS = {
    "metrics": f"Metrics in per cent; n: number of cases. {LATEX_MARKS}",
    "averages": f"Averages in per cent; n: number of cases. {LATEX_MARKS}",
    "splits": f"Metrics by familiarity in per cent; n: number of cases. {LATEX_MARKS}",
    "gaps": "Gaps between familiarity splits, in percentage points; a positive gap is a drop.",
    "differences": "Differences from {first} in percentage points, with 95 % intervals under "
    "resampling of images, p-values, and q-values (Benjamini and Hochberg).",
}
MIN_P = 1e-4  # smaller p-values are printed as "< 0.0001"


@dataclass(frozen=True, repr=False)
class Comparison:
    """A comparison of runs on the queries that all of them scored. Printing it shows the tables.

    Attributes:
        runs: Names of the runs, or of the groups of runs.
        lines: The rows of the tables: metrics, averages, and metrics by familiarity.
        notes: Notes on what was compared and how.
        reference_models: Names of the models whose published results are shown.
        resamples: Number of resamples of images for each confidence interval.
        seed: Seed of the resamples.
        excluded_from_tests: Names of the runs that are shown, but excluded from the tests.
    """

    runs: tuple[str, ...]
    lines: tuple[ComparisonLine, ...]
    notes: tuple[str, ...]
    reference_models: tuple[str, ...]
    resamples: int
    seed: int
    excluded_from_tests: tuple[str, ...] = ()

    @property
    def tested_runs(self) -> tuple[str, ...]:
        """Names of the runs that are tested against each other, beginning with the first run."""
        return tuple(run for run in self.runs if run not in self.excluded_from_tests)

    @property
    def has_right_only_counts(self) -> bool:
        """Whether tests of two runs report how many queries are right in only one of the runs.

        This is false if runs are grouped by seed.
        """
        seeds = max((value.seeds for line in self.lines for value in line.values), default=1)
        tests = (test for line in self.lines for test in line.tests_against_first())
        return seeds == 1 and any(test.right_only for test in tests)

    def __repr__(self) -> str:
        """The comparison as `zoo compare` prints it, 100 columns wide."""
        return plain_text(self.parts())

    def _repr_html_(self) -> str:
        """The tables, for notebooks."""
        return "".join(table.html() for table in self._tables().values())

    def records(self) -> list[dict[str, Any]]:
        """Returns one record per row and run, with the run's difference from the first run.

        Published results are included, with their `source`.
        """
        return [record for line in self.lines for record in _line_records(line)]

    def to_pandas(self) -> Any:
        """Returns `records` as a pandas.DataFrame.

        Raises:
            ZooError: pandas is not installed.
        """
        pandas: Any = import_optional("pandas")
        return pandas.DataFrame(self.records())

    def to_csv(self) -> str:
        """Returns `records` as comma-separated values, with numbers in full precision."""
        return to_csv(self.records())

    def to_json(self) -> str:
        """Returns the whole comparison as JSON, with the tests of all pairs of runs."""
        return json.dumps(asdict(self), indent=1, ensure_ascii=False, allow_nan=False)

    def to_markdown(self) -> str:
        """Returns the tables in Markdown, with the best values in bold.

        Values that are not significantly worse than the best are underlined.
        """
        return "\n\n".join([*(table.markdown() for table in self._tables().values()), *self.notes])

    def to_latex(self, caption: str = "", label: str = "") -> str:
        """Returns the tables in LaTeX: `tabular`, or `longtable` if a table is longer than a page.

        Methods and benchmarks have the names that papers use. The best value is bold only if it is
        significantly better than the values of all other tested runs. Comments before the tables
        list the LaTeX packages that the tables need, and contain the notes.

        Args:
            caption: Beginning of the captions. With a caption or a label, the tables are floats.
            label: Beginning of the labels, which end with `-metrics`, `-averages`, `-splits`,
                `-gaps` or `-differences`.

        Raises:
            ZooError: The label has characters that LaTeX does not allow in labels.
        """
        shown = _with_display_names(self)
        packages = r"\usepackage{booktabs,longtable}; an A4 page with margins of 2 cm fits six runs"
        notes = (LATEX_MARKS if note == MARKS else note for note in self.notes)
        parts = ["\n".join(f"% {note}" for note in (packages, *notes))]
        for kind, table in shown._tables().items():
            content = LATEX_CAPTIONS[kind].format(first=shown.runs[0])
            if lower := names_with_lower_better(shown._lines_of(kind)):
                content += f" Lower is better: {', '.join(lower)}."
            full_caption = f"{caption.removesuffix('.')}. {content}" if caption else content
            titles = (full_caption, f"{label}-{kind}" if label else "") if caption or label else ()
            parts.append(table.latex(*titles))
        return "\n\n".join(parts)

    def figure(self) -> "Figure":
        """Draws the differences from the first run with their intervals, one row per metric."""
        return draw_forest_figure(self.lines, self.tested_runs, self.runs)

    def parts(self) -> list[RenderableType]:
        """Returns the tables and notes as objects that the library rich can print."""
        parts: list[RenderableType] = []
        for table in self._tables().values():
            parts += [table.rich(), Text("")]
        return [*parts, *map(Text, self.notes)]

    def _tables(self) -> dict[str, TextTable]:
        """Returns the tables that have rows, by what they are of (a key of LATEX_CAPTIONS)."""
        names = ("benchmark", "subset", "metric", "split")
        tables = [
            _value_table(self, self._lines_of("metrics"), *names[:3]),
            _value_table(self, self._lines_of("averages"), "average"),
            _value_table(self, self._lines_of("splits"), *names),
            _gap_table(self),
            _difference_table(self),
        ]
        kinds = zip(LATEX_CAPTIONS, tables, strict=True)
        return {kind: table for kind, table in kinds if table.rows}

    def _lines_of(self, kind: str) -> list[ComparisonLine]:
        """Returns the rows that a table is about, by a key of LATEX_CAPTIONS."""
        is_shown: dict[str, Callable[[ComparisonLine], bool]] = {
            "metrics": lambda line: not (line.name.is_mean or line.name.split),
            "averages": lambda line: line.name.is_mean,
            "splits": lambda line: bool(line.name.split),
            "gaps": lambda line: bool(line.name.split),
            "differences": lambda line: True,
        }
        return list(filter(is_shown[kind], self.lines))


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Prints a comparison.

    Args:
        comparison: The comparison.
        console: Where it is printed; the terminal if None.
    """
    print_parts(comparison.parts(), console)


def render_forest(comparison: Comparison, kind: str) -> bytes:
    """Returns the forest plot of a comparison as the contents of a file.

    Args:
        comparison: The comparison.
        kind: A format, one of `drawing.FORMATS`.
    """
    return render_figure(comparison.figure(), kind)


def _with_display_names(comparison: Comparison) -> Comparison:
    """Returns a comparison with names as papers print them, and significance as LaTeX marks it."""
    names = {run: method_name(run) for run in comparison.runs}
    if len(set(names.values())) < len(names):
        names = dict(zip(names, names, strict=True))
    lines = []
    for line in comparison.lines:
        name = line.name
        shown_name = (
            replace(name, metric=benchmark_name(name.metric))
            if name.is_mean
            else replace(name, benchmark=benchmark_name(name.benchmark))
        )
        leaders = [value for value in line.values if value.best or value.near_best]
        alone = len(leaders) == 1 and bool(line.tests)
        values = (
            replace(
                value,
                run=names[value.run],
                best=value.best and alone,
                near_best=value in leaders and not alone,
            )
            for value in line.values
        )
        tests = (
            replace(test, first=names[test.first], second=names[test.second]) for test in line.tests
        )
        lines.append(replace(line, name=shown_name, values=tuple(values), tests=tuple(tests)))
    excluded = tuple(names[run] for run in comparison.excluded_from_tests)
    return replace(
        comparison, runs=tuple(names.values()), lines=tuple(lines), excluded_from_tests=excluded
    )


def _value_table(
    comparison: Comparison, lines: Sequence[ComparisonLine], *columns: str
) -> TextTable:
    """Returns a table of the values of the runs and the published results of other models."""
    published_headings = [f"{model}\n({PUBLISHED})" for model in comparison.reference_models]
    rows = (
        (
            *name,
            f"{line.n:,}" if line.n == line.n_total else f"{line.n:,} of {line.n_total:,}",
            *map(_format_value, line.values),
            *(_format_published_values(line, model) for model in comparison.reference_models),
        )
        for name, line in zip(_row_names(lines, len(columns)), lines, strict=True)
    )
    return TextTable(
        (*columns, "n", *comparison.runs, *published_headings),
        tuple(rows),
        n_text_columns=len(columns),
    )


def _gap_table(comparison: Comparison) -> TextTable:
    """Returns a table of the gaps between splits, of the runs and of published models."""
    gaps = compute_split_gaps(comparison.lines, comparison.reference_models)
    rows = (
        (
            "" if previous == gap.metric else gap.metric,
            " to ".join(gap.splits),
            *map(format_points, (*gap.values, *gap.published)),
        )
        for gap, previous in zip(gaps, [None, *(gap.metric for gap in gaps)], strict=False)
    )
    published_headings = [f"{model}\n({PUBLISHED})" for model in comparison.reference_models]
    return TextTable(
        ("metric", "split gap", *comparison.runs, *published_headings),
        tuple(rows),
        n_text_columns=2,
    )


def _row_names(lines: Iterable[ComparisonLine], n_columns: int) -> Iterator[tuple[str, ...]]:
    """Yields the names of each row, with blanks where they repeat those of the row above."""
    previous: tuple[str, ...] = ()
    for line in lines:
        row_name = line.name
        names = (row_name.benchmark, row_name.subset, row_name.metric, row_name.split)[:n_columns]
        if row_name.is_mean:
            names = (row_name.metric,)
        first_change = next(
            (i for i, name in enumerate(names) if previous[i : i + 1] != (name,)), n_columns
        )
        yield tuple("" if i < first_change else name for i, name in enumerate(names))
        previous = names


def _format_value(value: RunValue) -> str:
    text = format_number(value.value)
    if value.deviation is not None:
        text += f" ± {format_number(value.deviation)}"
    if value.best:
        return Bold(text)
    return Underlined(text) if value.near_best else text


def _format_published_values(line: ComparisonLine, model: str) -> str:
    """Returns the published result of a model; if two sources differ, both."""
    values = (format_number(figure.value) for figure in line.published if figure.model == model)
    return " / ".join(dict.fromkeys(values))


def _difference_table(comparison: Comparison) -> TextTable:
    """Returns a table of the differences between the other runs and the first."""
    first_run, *other_runs = comparison.tested_runs
    if not other_runs:  # only the seeds of one recipe
        return TextTable((), ())
    has_run_column = len(other_runs) > 1
    with_counts = comparison.has_right_only_counts
    run_heading = "the run" if has_run_column else other_runs[0]
    header = (
        "metric or average",
        *(["run"] if has_run_column else []),
        f"{run_heading}\nvs {first_run}",
        "95 % interval",
        "p",
        "q",
        *([f"right only\nin {first_run}", f"right only\nin {run_heading}"] if with_counts else []),
    )
    rows = []
    for line in comparison.lines:
        for i, test in enumerate(line.tests_against_first()):
            name = (str(line.name) if i == 0 else "", *([test.second] if has_run_column else []))
            rows.append((*name, *_difference_cells(test, with_counts)))
    return TextTable(header, tuple(rows), n_text_columns=2 if has_run_column else 1)


def _difference_cells(test: Contrast, with_counts: bool) -> tuple[str, ...]:
    right = ("", "") if test.right_only is None else tuple(f"{n:,}" for n in test.right_only)
    return (
        format_points(test.difference),
        f"{format_points(test.low)} to {format_points(test.high)}",
        format_p_value(test.p),
        format_p_value(test.q),
        *(right if with_counts else ()),
    )


def format_p_value(p: float) -> str:
    """Returns a p-value as it is printed: with two digits, or `< 0.0001`."""
    return f"< {MIN_P}" if p < MIN_P else f"{p:.2g}"


def _line_records(line: ComparisonLine) -> list[dict[str, Any]]:
    name_fields = {
        "kind": "mean" if line.name.is_mean else "metric",
        **asdict(line.name),
        "lower_is_better": line.lower_is_better,
    }
    counts = {"n": line.n, "n_total": line.n_total, "images": line.images}
    test_by_run = {test.second: test for test in line.tests_against_first()}
    records = [
        {
            **name_fields,
            **asdict(value),
            **counts,
            **_contrast_fields(test_by_run.get(value.run)),
            "source": None,
        }
        for value in line.values
    ]
    empty = dict.fromkeys(records[0])
    records += [
        {
            **empty,
            **name_fields,
            "run": figure.model,
            "value": figure.value,
            "source": figure.source,
        }
        for figure in line.published
    ]
    return records


def _contrast_fields(test: Contrast | None) -> dict[str, Any]:
    """Returns the fields of a record that compare a run with the first; None for the first run."""
    right_only = (None, None) if test is None or test.right_only is None else test.right_only
    names = ("difference", "low", "high", "p", "q", "p_by_query")
    fields = {name: None if test is None else getattr(test, name) for name in names}
    return {**fields, "right_only_in_first": right_only[0], "right_only_in_run": right_only[1]}
