"""Results as tables of text, rendered for the terminal and as Markdown, LaTeX, HTML and CSV."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from io import StringIO
from typing import Any, Literal

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from zoo.benchmarks.base import Baselines
from zoo.errors import ZooError
from zoo.results.averages import Average
from zoo.results.metrics import Metric
from zoo.results.number_formats import format_number

INTERVAL, COVERAGE = "95 % interval", "scored / total"
METRICS = ("benchmark", "subset", "metric", "%", INTERVAL, COVERAGE, "ties", "chance", "B/32")
OPTIONAL = ("ties", "chance", "B/32")  # columns of METRICS
SPLIT = ("benchmark", "subset", "metric", "split", "%", INTERVAL, COVERAGE)
AVERAGES = ("average", "%", INTERVAL, "weighting", COVERAGE, "")
_LATEX = {
    **{mark: rf"\{mark}" for mark in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "\n": " ",
}
MAX_TABULAR_ROWS = 40  # longer tables become a longtable in LaTeX
UNLIMITED_WIDTH = 10_000  # columns
FOLDED = ("benchmark", "subset", "average", "metric or average", "")
# text columns, aligned to the left
TEXT_COLUMNS = (*FOLDED, "metric", "split", "weighting", "baseline", "condition")
_LABEL = re.compile(r"[\w:.-]+", re.ASCII)
_MINUS = re.compile(r"(?<![\w.)}-])-(?=\d)")  # the minus sign of a number


class Bold(str):
    """A cell in bold."""


class Underlined(str):
    """An underlined cell."""


@dataclass(frozen=True)
class TextTable:
    """Rows of text under a header.

    Attributes:
        header: Names of the columns.
        rows: Cells of each row.
        preamble: Lines above the table.
        n_text_columns: Number of leading text columns; the columns after them are numbers and
            right-aligned in LaTeX and Markdown. None aligns all columns to the left.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    preamble: tuple[str, ...] = ()
    n_text_columns: int | None = None

    def markdown(self) -> str:
        """Returns the table in GitHub Markdown."""
        rules = {"l": "---|", "r": "---:|"}
        lines = [_markdown_row(self.header), "|" + "".join(rules[side] for side in self._alignment)]
        lines += map(_markdown_row, self.rows)
        return "\n".join([*self.preamble, *([""] if self.preamble else []), *lines])

    def latex(self, caption: str = "", label: str = "") -> str:
        """Returns a tabular with booktabs rules, or a longtable if it is longer than a page.

        The lines of the preamble come first and span all columns.

        Args:
            caption: Its caption, as text without markup. With a caption or label, a tabular is put
                into a float.
            label: Its label for references.

        Raises:
            ZooError: The label has characters that a reference cannot have.
        """
        if label and not _LABEL.fullmatch(label):
            raise ZooError(f"label {label!r}: use only letters, digits and :.-_, as in tab:results")
        titles = [rf"\caption{{{_latex_cell(caption)}}}"] if caption else []
        titles += [rf"\label{{{label}}}"] if label else []
        n, long = len(self.header), len(self.rows) > MAX_TABULAR_ROWS
        preamble = [
            rf"\multicolumn{{{n}}}{{l}}{{{_latex_cell(line)}}} \\" for line in self.preamble
        ]
        kind = "longtable" if long else "tabular"
        floats = bool(titles) and not long
        return "\n".join(
            [
                *([r"\begin{table}[tbp]", r"\centering", *titles] if floats else []),
                r"{\footnotesize\setlength{\tabcolsep}{3pt}",
                rf"\begin{{{kind}}}{{@{{}}{self._alignment}@{{}}}}",
                *([rf"{''.join(titles)} \\"] if titles and long else []),
                r"\toprule",
                *preamble,
                *self._latex_header(),
                r"\midrule",
                *([r"\endhead"] if long else []),
                *map(_latex_row, self.rows),
                r"\bottomrule",
                rf"\end{{{kind}}}",
                "}",
                *([r"\end{table}"] if floats else []),
            ]
        )

    def html(self) -> str:
        """Returns the table in HTML, for notebooks."""
        caption = (
            f"<caption>{'<br>'.join(map(escape, self.preamble))}</caption>" if self.preamble else ""
        )
        body = "".join(f"<tr>{_html_cells(row, 'td')}</tr>" for row in self.rows)
        head = f"<thead><tr>{_html_cells(self.header, 'th')}</tr></thead>"
        return f"<table>{caption}{head}<tbody>{body}</tbody></table>"

    def rich(self) -> Table:
        """Returns the table for the terminal, with text columns on the left, numbers on the right.

        If `n_text_columns` is None, text columns are identified by their names.
        """
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        for i, name in enumerate(self.header):
            words, folded = name in TEXT_COLUMNS, name in FOLDED
            if self.n_text_columns is not None:
                words = folded = i < self.n_text_columns
            side: Literal["left", "right"] = "left" if words else "right"
            table.add_column(name, justify=side, overflow="fold", no_wrap=not folded)
        for row in self.rows:
            table.add_row(*map(_rich_cell, row))
        return table

    def _latex_header(self) -> list[str]:
        """Returns one row per line of the header cells, aligned at the bottom."""
        cells = [cell.split("\n") for cell in self.header]
        deep = max(map(len, cells))
        rows = zip(*([""] * (deep - len(cell)) + cell for cell in cells), strict=True)
        return [_latex_row(row) for row in rows]

    @property
    def _alignment(self) -> str:
        words = len(self.header) if self.n_text_columns is None else self.n_text_columns
        return "l" * words + "r" * (len(self.header) - words)


def print_parts(parts: Sequence[RenderableType], console: Console | None = None) -> None:
    """Prints tables and lines.

    Args:
        parts: The content to print.
        console: The console; by default the terminal, or one wide enough for a file or pipe.
    """
    (console or _console_for(parts)).print(Group(*parts))


def plain_text(parts: Sequence[RenderableType]) -> str:
    """Returns tables and lines as `print_parts` prints them, 100 columns wide."""
    console = Console(width=100, file=StringIO(), color_system=None)
    with console.capture() as captured:
        print_parts(parts, console)
    return captured.get().rstrip()


def default_console() -> Console:
    """Returns the terminal, or a console of 100 columns if the output is not a terminal."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=100)


def _console_for(parts: Iterable[RenderableType]) -> Console:
    """Returns the terminal, or a console for a file or pipe that is as wide as the tables."""
    console = default_console()
    if not console.is_terminal:
        unbroken = console.options.update(width=UNLIMITED_WIDTH)
        tables = (part for part in parts if isinstance(part, Table))
        widths = (console.measure(table, options=unbroken).maximum for table in tables)
        console.width = max(console.width, *widths, 0)
    return console


def to_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Returns records as comma-separated values with a header; None is an empty field."""
    buffer = StringIO()
    writer = csv.DictWriter(buffer, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return buffer.getvalue()


def metrics_table(metrics: Sequence[Metric], preamble: Sequence[str] = ()) -> TextTable:
    """Returns a table with one row per metric, without columns of optional numbers that are empty.

    Args:
        metrics: Metrics in the order of their rows. Only the first row of a benchmark names it.
        preamble: Lines above the table.
    """
    previous_runs = [None, *(m.benchmark_run for m in metrics)]
    rows = tuple(
        (
            str(m.benchmark_run) if m.benchmark_run != previous_run else "",
            m.subset,
            m.metric,
            format_number(m.value),
            format_interval(m),
            f"{m.n:,} / {m.n_total:,}",
            f"{m.ties:,}" if m.ties else "",
            format_number(m.chance),
            format_number(m.published),
        )
        for m, previous_run in zip(metrics, previous_runs, strict=False)
    )
    shown = [
        i for i, name in enumerate(METRICS) if name not in OPTIONAL or any(row[i] for row in rows)
    ]
    return TextTable(
        tuple(METRICS[i] for i in shown),
        tuple(tuple(row[i] for i in shown) for row in rows),
        tuple(preamble),
    )


def splits_table(metrics: Sequence[Metric]) -> TextTable:
    """Returns a table with one row per metric and familiarity split.

    Only the first row of a metric names it. There is a column of ties if there are any.

    Args:
        metrics: Metrics in the order of their rows, with all splits of a metric in succession.
    """
    any_ties = any(m.ties for m in metrics)
    names = [(str(m.benchmark_run), m.subset, m.metric) for m in metrics]
    rows = (
        (
            *(("", "", "") if name == previous else name),
            m.split,
            format_number(m.value),
            format_interval(m),
            f"{m.n:,} / {m.n_total:,}",
            *([f"{m.ties:,}" if m.ties else ""] if any_ties else []),
        )
        for m, name, previous in zip(metrics, names, [None, *names], strict=False)
    )
    return TextTable((*SPLIT, "ties") if any_ties else SPLIT, tuple(rows))


def averages_table(averages: Iterable[Average]) -> TextTable:
    """Returns a table with one row per average."""
    rows = (
        (
            a.name,
            format_number(a.value),
            format_interval(a),
            a.weighting,
            f"{a.n:,} / {a.n_total:,}",
            _coverage_note(a),
        )
        for a in averages
    )
    return TextTable(AVERAGES, tuple(rows))


def baselines_table(baselines: Baselines) -> TextTable:
    """Returns a table with one row per baseline and metric and one column per subset."""
    subsets = dict.fromkeys(subset for by_subset in baselines.values() for subset in by_subset)
    rows = (
        (
            name,
            metric,
            *(format_number(by_subset.get(subset, {}).get(metric)) for subset in subsets),
        )
        for name, by_subset in baselines.items()
        for metric in dict.fromkeys(metric for metrics in by_subset.values() for metric in metrics)
    )
    return TextTable(("baseline", "metric", *subsets), tuple(rows))


def format_interval(estimate: Metric | Average) -> str:
    """Returns a 95 % interval with one decimal, empty if there is none."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{format_number(estimate.low)} to {format_number(estimate.high)}"


def _coverage_note(average: Average) -> str:
    if average.value is None:
        return f"not reported: {len(average.missing)} missing"
    missing_note = [f"{len(average.missing)} missing"] if average.missing else []
    unscored_note = [] if average.n == average.n_total else ["some cases not scored"]
    return ", ".join(missing_note + unscored_note)


def _rich_cell(cell: str) -> RenderableType:
    """Returns a cell with its style and a sign, because a file or pipe has no styles."""
    if isinstance(cell, Bold):
        return Text(f"{cell}*", "bold")
    return Text(f"{cell}~", "underline") if isinstance(cell, Underlined) else cell


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_markdown_cell, cells))} |"


def _markdown_cell(text: str) -> str:
    cell = text.replace("|", "\\|").replace("\n", " ")
    return _mark_cell(text, cell, "**{}**", "<ins>{}</ins>")


def _latex_row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(map(_latex_cell, cells))} \\"


def _latex_cell(text: str) -> str:
    cell = _MINUS.sub("$-$", "".join(_LATEX.get(letter, letter) for letter in text))
    return _mark_cell(text, cell, r"\textbf{{{}}}", r"\underline{{{}}}")


def _html_cells(cells: Iterable[str], tag: str) -> str:
    marked_cells = (_mark_cell(cell, escape(cell), "<b>{}</b>", "<u>{}</u>") for cell in cells)
    return "".join(f"<{tag}>{cell}</{tag}>" for cell in marked_cells)


def _mark_cell(text: str, cell: str, bold: str, underlined: str) -> str:
    """Returns a cell with the markup of its text."""
    if isinstance(text, Bold):
        return bold.format(cell)
    return underlined.format(cell) if isinstance(text, Underlined) else cell
