"""Layout: a comparison as tables, for the screen, in Markdown, LaTeX and comma-separated values."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.text import Text

from zoo.results.comparison.comparison import Comparison, ComparisonLine, Contrast, Value
from zoo.results.show import rich_table, wide_enough
from zoo.results.tables import Bold, TextTable, Underlined, number

PUBLISHED = "published"
LEAST = 1e-4  # a p-value under it is said to be so


def tables(comparison: Comparison) -> list[TextTable]:
    """Returns the tables of a comparison: metrics, means, splits, and differences to the first.

    Args:
        comparison: The comparison.
    """
    means = [line for line in comparison.lines if line.place.is_mean]
    metrics = [line for line in comparison.lines if not (line.place.is_mean or line.place.split)]
    splits = [line for line in comparison.lines if line.place.split]
    made = [
        _values(comparison, metrics, "benchmark", "subset", "metric"),
        _values(comparison, means, "average"),
        _values(comparison, splits, "benchmark", "subset", "metric", "split"),
        _differences(comparison),
    ]
    return [table for table in made if table.rows]


def show(comparison: Comparison, console: Console | None = None) -> None:
    """Prints a comparison.

    Args:
        comparison: The comparison.
        console: Where it is printed; the terminal where None.
    """
    (console or wide_enough(_renderables(comparison))).print(Group(*_renderables(comparison)))


def as_text(comparison: Comparison) -> str:
    """Returns what `show` prints, 100 columns wide."""
    console = Console(width=100, file=StringIO(), color_system=None)
    with console.capture() as captured:
        show(comparison, console)
    return captured.get().rstrip()


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Returns records as comma-separated values under their names; None is an empty field."""
    out = StringIO()
    writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue()


def _renderables(comparison: Comparison) -> Iterator[RenderableType]:
    for table in tables(comparison):
        yield rich_table(table)
        yield Text("")
    yield from map(Text, comparison.notes)


def _values(comparison: Comparison, lines: Sequence[ComparisonLine], *words: str) -> TextTable:
    """Lays out the values of runs, and the figures that were published of other models."""
    beside = [f"{model}\n({PUBLISHED})" for model in comparison.beside]
    rows = (
        (
            *name,
            f"{line.n:,}" if line.n == line.of else f"{line.n:,} of {line.of:,}",
            *map(_value, line.values),
            *(_published_values(line, model) for model in comparison.beside),
        )
        for name, line in zip(_names(lines, len(words)), lines, strict=True)
    )
    return TextTable((*words, "n", *comparison.runs, *beside), tuple(rows), words=len(words))


def _names(lines: Iterable[ComparisonLine], words: int) -> Iterator[tuple[str, ...]]:
    """Yields what names each row, without what the row above has said."""
    last: tuple[str, ...] = ()
    for line in lines:
        place = line.place
        whole = (place.benchmark, place.subset, place.metric, place.split)[:words]
        if place.is_mean:
            whole = (place.metric,)
        same = next((i for i, name in enumerate(whole) if last[i : i + 1] != (name,)), words)
        yield tuple("" if i < same else name for i, name in enumerate(whole))
        last = whole


def _value(value: Value) -> str:
    shown = number(value.value)
    if value.deviation is not None:
        shown += f" ± {value.deviation:.1f}"
    if value.best:
        return Bold(shown)
    return Underlined(shown) if value.level else shown


def _published_values(line: ComparisonLine, model: str) -> str:
    """Returns what was published of a model; where two sources differ, both."""
    found = (number(figure.value) for figure in line.published if figure.model == model)
    return " / ".join(dict.fromkeys(found))


def _differences(comparison: Comparison) -> TextTable:
    """Lays out how the other runs differ from the first."""
    first, *others = comparison.tested_runs
    if not others:  # the seeds of one recipe alone
        return TextTable((), ())
    several = len(others) > 1
    alone = comparison.has_counts
    second = "the run" if several else others[0]
    header = (
        "metric or average",
        *(["run"] if several else []),
        f"{second}\nless {first}",
        "95 % interval",
        "p",
        "q",
        *([f"right in\n{first} alone", f"right in\n{second} alone"] if alone else []),
    )
    rows = []
    for line in comparison.lines:
        for i, test in enumerate(line.against_first()):
            name = (str(line.place) if i == 0 else "", *([test.second] if several else []))
            rows.append((*name, *_difference(test, alone)))
    return TextTable(header, tuple(rows), words=2 if several else 1)


def _difference(test: Contrast, alone: bool) -> tuple[str, ...]:
    right = ("", "") if test.alone is None else tuple(f"{n:,}" for n in test.alone)
    return (
        points(test.difference),
        f"{points(test.low)} to {points(test.high)}",
        probability(test.p),
        probability(test.q),
        *(right if alone else ()),
    )


def probability(p: float) -> str:
    """Returns a p-value as it is printed: to two digits, or that it is under one in 10,000."""
    return f"< {LEAST}" if p < LEAST else f"{p:.2g}"


def points(difference: float | None) -> str:
    """Returns a difference in percentage points as it is printed; nothing has no sign."""
    if difference is None:
        return ""
    shown = f"{difference:+.1f}"
    return shown[1:] if float(shown) == 0 else shown
