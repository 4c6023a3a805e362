"""Charts and sections of a report; charts are saved as PNG, SVG and CSV."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.results.averages import Average
from zoo.results.drawing import standalone_svg, svg_and_png
from zoo.results.metrics import Metric
from zoo.results.site.chart_drawing import Looks, Point, Series, draw_bars
from zoo.results.tables import to_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "plots"
PER_CENT = "%, with the 95 % interval where it is known"
CASES = "cases"  # key of a record: the address of the cases behind its number


@dataclass(frozen=True)
class Chart:
    """A chart of the report.

    Attributes:
        name: Name of its files.
        title: Its title.
        records: The numbers that it shows, some with the address of their `cases`.
        draw: Draws it.
    """

    name: str
    title: str
    records: Sequence[Mapping[str, Any]]
    draw: "Callable[[], Figure]"


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes:
        id: Its anchor in addresses.
        title: Its title.
        description: Its description.
        charts: Its charts.
        of_seeds: Whether its numbers are means over seeds, if there are several seeds.
    """

    id: str
    title: str
    description: str
    charts: tuple[Chart, ...]
    of_seeds: bool = False


@dataclass(frozen=True)
class DrawnChart:
    """A drawn chart, as the page shows it.

    Attributes:
        title: Its title.
        svg: The drawing.
        files: Paths of its files, by format.
        numbers: The records with an address of their cases.
    """

    title: str
    svg: str
    files: Mapping[str, str]
    numbers: Sequence[Mapping[str, Any]]


def bar_chart(
    name: str, title: str, labels: Sequence[str], series: Series, looks: Looks | None = None
) -> Chart:
    """Returns a bar chart with one row per label.

    Args:
        name: Name of its files.
        title: Its title.
        labels: Names of the rows.
        series: The numbers of each series, row by row.
        looks: Colour and hatch of each series; by its name if None.
    """
    has_interval = any(point.low is not None for points in series.values() for point in points)
    axis_label = PER_CENT if has_interval else "%"
    return Chart(
        name,
        title,
        chart_records(labels, series),
        lambda: draw_bars(labels, series, axis_label, looks),
    )


def chart_records(labels: Sequence[str], series: Series) -> list[dict[str, object]]:
    """Returns a record for each number of each series, with the address of its cases."""
    return [
        {"name": label, "series": name, **interval_fields(p), CASES: p.href}
        for name, points in series.items()
        for label, p in zip(labels, points, strict=True)
    ]


def interval_fields(number: Average | Metric | Point) -> dict[str, object]:
    """Returns a value and both ends of its interval, as fields of a record."""
    return {"value": number.value, "low": number.low, "high": number.high}


def draw_chart(chart: Chart, out: Path) -> DrawnChart:
    """Draws a chart, and writes it as PNG, SVG and CSV.

    Args:
        chart: The chart.
        out: The folder of the pages.
    """
    (out / FOLDER).mkdir(exist_ok=True)
    files = {kind: f"{FOLDER}/{chart.name}.{kind}" for kind in ("png", "svg", "csv")}
    drawing, picture = svg_and_png(chart.draw())
    standalone = standalone_svg(drawing).replace('href="cases.html', 'href="../cases.html')
    (out / files["png"]).write_bytes(picture)
    (out / files["svg"]).write_text(standalone, "utf-8")
    rows = [
        {name: value for name, value in record.items() if name != CASES} for record in chart.records
    ]
    (out / files["csv"]).write_text(to_csv(rows), "utf-8")
    labelled = drawing.replace("<svg ", f'<svg aria-label="{escape(chart.title)}" ', 1)
    return DrawnChart(
        chart.title, labelled, files, [record for record in chart.records if record.get(CASES)]
    )
