"""A comparison as tables, for the screen, Markdown, LaTeX and CSV."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from zoo.results.comparison.comparison import Comparison, ComparisonLine, Contrast, RunValue
from zoo.results.show import console_for, rich_table
from zoo.results.tables import Bold, TextTable, Underlined, number

PUBLISHED = "published"
MIN_P = 1e-4  # smaller p-values are printed as "< 0.0001"


def comparison_tables(comparison: Comparison) -> list[TextTable]:
    """Returns the tables of a comparison: metrics, means, splits, and differences to the first.

    Args:
        comparison: The comparison.
    """
    means = [line for line in comparison.lines if line.place.is_mean]
    metrics = [line for line in comparison.lines if not (line.place.is_mean or line.place.split)]
    splits = [line for line in comparison.lines if line.place.split]
    all_tables = [
        _value_table(comparison, metrics, "benchmark", "subset", "metric"),
        _value_table(comparison, means, "average"),
        _value_table(comparison, splits, "benchmark", "subset", "metric", "split"),
        _difference_table(comparison),
    ]
    return [table for table in all_tables if table.rows]


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Prints a comparison.

    Args:
        comparison: The comparison.
        console: Where it is printed; the terminal where None.
    """
    (console or console_for(_renderables(comparison))).print(Group(*_renderables(comparison)))


def as_text(comparison: Comparison) -> str:
    """Returns what `show` prints, 100 columns wide."""
    console = Console(width=100, file=StringIO(), color_system=None)
    with console.capture() as captured:
        print_comparison(comparison, console)
    return captured.get().rstrip()


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Returns records as comma-separated values with a header; None is an empty field."""
    buffer = StringIO()
    writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()


def _renderables(comparison: Comparison) -> Iterator[RenderableType]:
    for table in comparison_tables(comparison):
        yield rich_table(table)
        yield Text("")
    yield from map(Text, comparison.notes)


def _value_table(comparison: Comparison, lines: Sequence[ComparisonLine], *words: str) -> TextTable:
    """Returns a table of the values of the runs and the published results of other models."""
    published_headings = [f"{model}\n({PUBLISHED})" for model in comparison.reference_models]
    rows = (
        (
            *name,
            f"{line.n:,}" if line.n == line.of else f"{line.n:,} of {line.of:,}",
            *map(_format_value, line.values),
            *(_published_values(line, model) for model in comparison.reference_models),
        )
        for name, line in zip(_row_names(lines, len(words)), lines, strict=True)
    )
    return TextTable(
        (*words, "n", *comparison.runs, *published_headings), tuple(rows), n_text_columns=len(words)
    )


def _row_names(lines: Iterable[ComparisonLine], words: int) -> Iterator[tuple[str, ...]]:
    """Yields the names of each row, with blanks where they repeat those of the row above."""
    previous: tuple[str, ...] = ()
    for line in lines:
        place = line.place
        names = (place.benchmark, place.subset, place.metric, place.split)[:words]
        if place.is_mean:
            names = (place.metric,)
        first_change = next(
            (i for i, name in enumerate(names) if previous[i : i + 1] != (name,)), words
        )
        yield tuple("" if i < first_change else name for i, name in enumerate(names))
        previous = names


def _format_value(value: RunValue) -> str:
    text = number(value.value)
    if value.deviation is not None:
        text += f" ± {value.deviation:.1f}"
    if value.best:
        return Bold(text)
    return Underlined(text) if value.level else text


def _published_values(line: ComparisonLine, model: str) -> str:
    """Returns the published result of a model; if two sources differ, both."""
    values = (number(figure.value) for figure in line.published if figure.model == model)
    return " / ".join(dict.fromkeys(values))


def _difference_table(comparison: Comparison) -> TextTable:
    """Returns a table of the differences between the other runs and the first."""
    first_run, *other_runs = comparison.tested_runs
    if not other_runs:  # only the seeds of one recipe
        return TextTable((), ())
    has_run_column = len(other_runs) > 1
    with_counts = comparison.has_counts
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
        for i, test in enumerate(line.against_first()):
            name = (str(line.place) if i == 0 else "", *([test.second] if has_run_column else []))
            rows.append((*name, *_difference_cells(test, with_counts)))
    return TextTable(header, tuple(rows), n_text_columns=2 if has_run_column else 1)


def _difference_cells(test: Contrast, with_counts: bool) -> tuple[str, ...]:
    right = ("", "") if test.alone is None else tuple(f"{n:,}" for n in test.alone)
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


def format_points(difference: float | None) -> str:
    """Returns a difference in percentage points as it is printed; zero has no sign."""
    if difference is None:
        return ""
    text = f"{difference:+.1f}"
    return text[1:] if float(text) == 0 else text
