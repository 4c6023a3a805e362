"""Charts of a report and the sections that they stand in, kept as PNG, SVG and plain values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.results.averages import Average
from zoo.results.comparison.layout import as_csv
from zoo.results.drawing import png, standalone_svg, svg
from zoo.results.metrics import Metric
from zoo.results.site.drawings import Looks, Point, Series, bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "plots"
PER_CENT = "%, with the 95 % interval where it is known"
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
class Section:
    """A part of the page.

    Attributes:
        id: Its place in addresses.
        title: What it is about.
        says: What is to be known of it.
        charts: What is drawn.
        of_seeds: Whether its numbers are means over seeds, where there are several.
    """

    id: str
    title: str
    says: str
    charts: tuple[Chart, ...]
    of_seeds: bool = False


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


def bar_chart(
    name: str, title: str, labels: Sequence[str], series: Series, looks: Looks | None = None
) -> Chart:
    """Returns a chart of bars, a row for each label.

    Args:
        name: Name of its files.
        title: What it shows.
        labels: Names of the rows.
        series: The numbers of each series, row by row.
        looks: Whose colour each series has; that of its own number where None.
    """
    has_interval = any(point.low is not None for of in series.values() for point in of)
    says = PER_CENT if has_interval else "%"
    return Chart(name, title, records(labels, series), lambda: bars(labels, series, says, looks))


def records(labels: Sequence[str], series: Series) -> list[dict[str, object]]:
    """Returns a record for each number of series, with the address of its cases."""
    return [
        {"name": label, "series": name, **ends(p), CASES: p.href}
        for name, points in series.items()
        for label, p in zip(labels, points, strict=True)
    ]


def ends(of: Average | Metric | Point) -> dict[str, object]:
    """Returns a value with both ends of its interval, as a record has them."""
    return {"value": of.value, "low": of.low, "high": of.high}


def draw_chart(chart: Chart, out: Path) -> Drawn:
    """Draws a chart, and writes it as PNG, SVG and comma-separated values.

    Args:
        chart: The chart.
        out: The folder of the pages.
    """
    (out / FOLDER).mkdir(exist_ok=True)
    files = {kind: f"{FOLDER}/{chart.name}.{kind}" for kind in ("png", "svg", "csv")}
    figure = chart.draw()
    inside = svg(figure)
    by_itself = standalone_svg(inside).replace('href="cases.html', 'href="../cases.html')
    (out / files["png"]).write_bytes(png(figure))
    (out / files["svg"]).write_text(by_itself, "utf-8")
    kept = [{name: of for name, of in one.items() if name != CASES} for one in chart.records]
    (out / files["csv"]).write_text(as_csv(kept), "utf-8")
    labelled = inside.replace("<svg ", f'<svg aria-label="{escape(chart.title)}" ', 1)
    return Drawn(chart.title, labelled, files, [one for one in chart.records if one.get(CASES)])
