"""Results as tables of text: rows as the report prints them, in Markdown, LaTeX and HTML."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from zoo.benchmarks.base import Baselines
from zoo.results.averages import Average
from zoo.results.metrics import Metric

METRICS = ("benchmark", "subset", "metric", "%", "95 % interval", "n / of all", "ties", "chance")
PUBLISHED = "B/32"
SPLIT = ("benchmark", "subset", "metric", "split", "%", "95 % interval", "n / of all")
AVERAGES = ("average", "%", "95 % interval", "weighting", "n / of all", "")
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
ON_A_PAGE = 40  # rows that LaTeX sets as one block
_MINUS = re.compile(r"(?<![\w.)}-])-(?=\d)")  # of a number, which is longer than a hyphen


class Bold(str):
    """A cell that is shown in bold."""


class Underlined(str):
    """A cell that is shown underlined."""


@dataclass(frozen=True)
class TextTable:
    """Rows of text under a header.

    Attributes:
        header: Names of the columns.
        rows: Cells of each row.
        says: Lines that are to be read before the table.
        words: How many columns are words; those after them are numbers, to the right in LaTeX and
            Markdown. None aligns all to the left.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    says: tuple[str, ...] = ()
    words: int | None = None

    def markdown(self) -> str:
        """Returns the table as GitHub reads it."""
        rules = {"l": "---|", "r": "---:|"}
        lines = [_markdown(self.header), "|" + "".join(rules[side] for side in self._sides)]
        lines += map(_markdown, self.rows)
        return "\n".join([*self.says, *([""] if self.says else []), *lines])

    def latex(self) -> str:
        """Returns a small tabular with the rules of booktabs, or a longtable beyond a page.

        The lines of `says` come first, over all columns.
        """
        n, long = len(self.header), len(self.rows) > ON_A_PAGE
        said = [rf"\multicolumn{{{n}}}{{l}}{{{_latex(line)}}} \\" for line in self.says]
        kind = "longtable" if long else "tabular"
        return "\n".join(
            [
                r"{\footnotesize\setlength{\tabcolsep}{3pt}",
                rf"\begin{{{kind}}}{{@{{}}{self._sides}@{{}}}}",
                r"\toprule",
                *said,
                *self._latex_header(),
                r"\midrule",
                *([r"\endhead"] if long else []),
                *map(_latex_row, self.rows),
                r"\bottomrule",
                rf"\end{{{kind}}}",
                "}",
            ]
        )

    def html(self) -> str:
        """Returns the table as a notebook shows it."""
        said = f"<caption>{'<br>'.join(map(escape, self.says))}</caption>" if self.says else ""
        body = "".join(f"<tr>{_cells(row, 'td')}</tr>" for row in self.rows)
        head = f"<thead><tr>{_cells(self.header, 'th')}</tr></thead>"
        return f"<table>{said}{head}<tbody>{body}</tbody></table>"

    def _latex_header(self) -> list[str]:
        """Returns a row for each line of the header's cells, the last lines together."""
        cells = [cell.split("\n") for cell in self.header]
        deep = max(map(len, cells))
        rows = zip(*([""] * (deep - len(cell)) + cell for cell in cells), strict=True)
        return [_latex_row(row) for row in rows]

    @property
    def _sides(self) -> str:
        words = len(self.header) if self.words is None else self.words
        return "l" * words + "r" * (len(self.header) - words)


def metrics_table(metrics: Sequence[Metric], says: Sequence[str] = ()) -> TextTable:
    """Lays metrics out.

    Args:
        metrics: Metrics in the order of their rows. A benchmark is named in the first of its rows.
        says: Lines that are to be read before the table.

    Returns:
        A table with a row for each metric.
    """
    before = [None, *(f.benchmark_run for f in metrics)]
    rows = tuple(
        (
            str(f.benchmark_run) if f.benchmark_run != last else "",
            f.subset,
            f.metric,
            number(f.value),
            interval(f),
            f"{f.n:,} / {f.of:,}",
            f"{f.ties:,}" if f.ties else "",
            number(f.chance),
            number(f.published),
        )
        for f, last in zip(metrics, before, strict=False)
    )
    return TextTable((*METRICS, PUBLISHED), rows, tuple(says))


def splits_table(metrics: Sequence[Metric]) -> TextTable:
    """Lays out metrics by the familiarity of bindings, of which each has all its splits in a row.

    Args:
        metrics: Metrics in the order of their rows.

    Returns:
        A table with a row for each metric and split; the first of a metric names it. The number of
        ties is a column where there are any.
    """
    any_ties = any(f.ties for f in metrics)
    named = [(str(f.benchmark_run), f.subset, f.metric) for f in metrics]
    rows = (
        (
            *(("", "", "") if name == last else name),
            f.split,
            number(f.value),
            interval(f),
            f"{f.n:,} / {f.of:,}",
            *([f"{f.ties:,}" if f.ties else ""] if any_ties else []),
        )
        for f, name, last in zip(metrics, named, [None, *named], strict=False)
    )
    return TextTable((*SPLIT, "ties") if any_ties else SPLIT, tuple(rows))


def averages_table(averages: Iterable[Average]) -> TextTable:
    """Returns a table with a row for each average."""
    rows = (
        (a.name, number(a.value), interval(a), a.weighting, f"{a.n:,} / {a.of:,}", _state(a))
        for a in averages
    )
    return TextTable(AVERAGES, tuple(rows))


def baselines_table(guessed: Baselines) -> TextTable:
    """Returns a table with a row for each baseline and metric and a column for each subset."""
    subsets = dict.fromkeys(subset for found in guessed.values() for subset in found)
    rows = (
        (name, metric, *(number(found.get(subset, {}).get(metric)) for subset in subsets))
        for name, found in guessed.items()
        for metric in dict.fromkeys(metric for metrics in found.values() for metric in metrics)
    )
    return TextTable(("baseline", "metric", *subsets), tuple(rows))


def number(value: float | None) -> str:
    """Returns a value in per cent as it is printed, nothing where it is not known."""
    return "" if value is None else f"{value:.1f}"


def interval(found: Metric | Average) -> str:
    """Returns a 95 % interval as it is printed, nothing where there is none."""
    return "" if found.low is None or found.high is None else f"{found.low:.1f} to {found.high:.1f}"


def _state(average: Average) -> str:
    if average.value is None:
        return f"not taken: {len(average.missing)} missing"
    without = [f"{len(average.missing)} missing"] if average.missing else []
    unscored = [] if average.n == average.of else ["some cases not scored"]
    return ", ".join(without + unscored)


def _markdown(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_markdown_cell, cells))} |"


def _markdown_cell(text: str) -> str:
    cell = text.replace("|", "\\|").replace("\n", " ")
    return _mark_cell(text, cell, "**{}**", "<ins>{}</ins>")


def _latex_row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(map(_latex, cells))} \\"


def _latex(text: str) -> str:
    cell = _MINUS.sub("$-$", "".join(_LATEX.get(letter, letter) for letter in text))
    return _mark_cell(text, cell, r"\textbf{{{}}}", r"\underline{{{}}}")


def _cells(cells: Iterable[str], tag: str) -> str:
    shown = (_mark_cell(cell, escape(cell), "<b>{}</b>", "<u>{}</u>") for cell in cells)
    return "".join(f"<{tag}>{cell}</{tag}>" for cell in shown)


def _mark_cell(text: str, cell: str, bold: str, underlined: str) -> str:
    """Returns a cell with the mark of its text around it."""
    if isinstance(text, Bold):
        return bold.format(cell)
    return underlined.format(cell) if isinstance(text, Underlined) else cell
