"""Measured values of models next to the values that were published of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from zoo.results.comparison.comparison import Comparison
from zoo.results.number_formats import format_number, format_points
from zoo.results.tables import TextTable


@dataclass(frozen=True)
class PublishedDifference:
    """A measured value and a published one of the same model.

    Attributes:
        run: Name of the run in the comparison.
        model: Name of the model, as in `zoo ls models`.
        metric: Name of the metric or average.
        n: Number of queries that all runs of the comparison scored.
        n_total: Number of queries in the files.
        measured: Measured value in per cent.
        published: Published value in per cent.
        source: Where it was published.
        protocol: How it was counted there.
    """

    run: str
    model: str
    metric: str
    n: int
    n_total: int
    measured: float
    published: float
    source: str
    protocol: str

    @property
    def difference(self) -> float:
        """The measured value less the published one, in points."""
        return self.measured - self.published


def compare_with_published(
    comparison: Comparison, models: Mapping[str, str]
) -> list[PublishedDifference]:
    """Returns the metrics and averages of which a value of a run's model was published.

    Args:
        comparison: The comparison, with these models as its reference models.
        models: The model of each run.
    """
    return [
        PublishedDifference(
            value.run,
            figure.model,
            str(line.name),
            line.n,
            line.n_total,
            value.value,
            figure.value,
            figure.source,
            figure.protocol,
        )
        for line in comparison.lines
        for value in line.values
        for figure in line.published
        if figure.model == models.get(value.run)
    ]


def count_agreements(
    differences: Iterable[PublishedDifference], tolerance: float
) -> dict[str, tuple[int, int]]:
    """Returns for each run how many values lie within a tolerance, and of how many.

    Args:
        differences: The values, at least one for each run.
        tolerance: The largest difference in points.
    """
    counts: dict[str, tuple[int, int]] = {}
    for difference in differences:
        agreeing, total = counts.get(difference.run, (0, 0))
        counts[difference.run] = (agreeing + _is_within(difference, tolerance), total + 1)
    return counts


def published_differences_table(
    differences: Sequence[PublishedDifference], tolerance: float
) -> TextTable:
    """Returns a table of measured and published values, with the counts of agreements above it.

    Args:
        differences: The values.
        tolerance: The largest difference in points that counts as agreement.
    """
    sources = list(
        dict.fromkeys((difference.source, difference.protocol) for difference in differences)
    )
    numbers = {source: f"[{n}]" for n, (source, _) in enumerate(sources, 1)}
    description = ["measured and published values, in per cent"]
    description += [
        f"{run}: {agreeing} of {total} within {tolerance:g} points"
        for run, (agreeing, total) in count_agreements(differences, tolerance).items()
    ]
    description += [f"{numbers[source]} {source}: {protocol}" for source, protocol in sources]
    rows = (
        (
            difference.metric,
            difference.run,
            f"{difference.n:,} / {difference.n_total:,}",
            format_number(difference.measured),
            format_number(difference.published),
            format_points(difference.difference),
            "yes" if _is_within(difference, tolerance) else "no",
            numbers[difference.source],
        )
        for difference in differences
    )
    header = (
        *("metric or average", "model", "scored / total", "measured", "published"),
        *("difference", f"within {tolerance:g}", "source"),
    )
    return TextTable(header, tuple(rows), tuple(description), n_text_columns=2)


def differences_to_records(
    differences: Iterable[PublishedDifference], tolerance: float
) -> list[dict[str, object]]:
    """Returns the values as JSON has them, with `difference` and `within`.

    Args:
        differences: The values.
        tolerance: The largest difference in points that counts as agreement.
    """
    return [
        {
            **asdict(difference),
            "difference": difference.difference,
            "within": _is_within(difference, tolerance),
        }
        for difference in differences
    ]


def _is_within(each: PublishedDifference, tolerance: float) -> bool:
    return abs(each.difference) <= tolerance + 1e-9  # 0.5 of rounded values counts
