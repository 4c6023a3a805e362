"""Charts of a report: each drawn on the page, and kept as PNG, SVG and comma-separated values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.results.comparison.layout import as_csv
from zoo.results.half_truth_pictures import INK, png, svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "plots"
CASES = "cases"  # entry of a record: where the cases of its number are shown


@dataclass(frozen=True)
class Chart:
    """A chart of the report.

    Attributes:
        name: Name of its files.
        title: What it shows.
        records: The numbers that it is drawn from, some with the address of their `cases`.
        draw: Draws it.
    """

    name: str
    title: str
    records: Sequence[Mapping[str, Any]]
    draw: "Callable[[], Figure]"


@dataclass(frozen=True)
class Drawn:
    """A chart as the page has it.

    Attributes:
        title: What it shows.
        svg: The drawing.
        files: Where it is kept, by format.
        numbers: The records whose cases are shown.
    """

    title: str
    svg: str
    files: Mapping[str, str]
    numbers: Sequence[Mapping[str, Any]]


def drawn(chart: Chart, out: Path) -> Drawn:
    """Draws a chart, and writes it as PNG, SVG and comma-separated values.

    Args:
        chart: The chart.
        out: The folder of the pages.
    """
    (out / FOLDER).mkdir(exist_ok=True)
    files = {kind: f"{FOLDER}/{chart.name}.{kind}" for kind in ("png", "svg", "csv")}
    figure = chart.draw()
    inside = svg(figure)
    # a file by itself has the ink of paper, and its links start from its own folder
    alone = inside.replace("currentColor", INK).replace('href="cases.html', 'href="../cases.html')
    (out / files["png"]).write_bytes(png(figure))
    (out / files["svg"]).write_text(alone, "utf-8")
    kept = [{name: of for name, of in one.items() if name != CASES} for one in chart.records]
    (out / files["csv"]).write_text(as_csv(kept), "utf-8")
    labelled = inside.replace("<svg ", f'<svg aria-label="{escape(chart.title)}" ', 1)
    return Drawn(chart.title, labelled, files, [one for one in chart.records if one.get(CASES)])
