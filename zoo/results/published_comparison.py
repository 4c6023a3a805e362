"""A table that compares measured metrics and averages with published values."""

from collections.abc import Iterable, Sequence

from zoo.results.averages import Average
from zoo.results.metrics import Metric
from zoo.results.published_values import PublishedValue, published_values
from zoo.results.tables import TextTable, number

PUBLISHED = "published values of other models and values of this run, each under its own protocol"
_FigureKey = tuple[str, str]  # name and source of a published value


def published_table(
    models: Sequence[str], preset: str, metrics: Iterable[Metric], averages: Iterable[Average]
) -> TextTable:
    """Returns a table of published values for the measured metrics and averages.

    Args:
        models: Names of models with published values.
        preset: The preset of the averages.
        metrics: The measured metrics. Recalls over a part of a gallery, which are easier, are not
            compared, and neither are benchmarks with several runs.
        averages: The computed averages.

    Returns:
        A table with one row per metric or average and source, and one column per model. The lines
        above it give the sources and name the models without any value.
    """
    measured: dict[tuple[str, str], Metric | Average] = {
        ("", str(metric)): metric for metric in metrics if not metric.partial_gallery
    }
    measured |= {(preset, average.name): average for average in averages}
    rows: dict[_FigureKey, dict[str, PublishedValue]] = {}
    published_figures = [figure for model in models for figure in published_values(model)]
    for key in measured:
        for figure in published_figures:
            if (figure.preset, figure.name) == key:
                rows.setdefault((figure.name, figure.source), {})[figure.model] = figure
    protocols = {f.source: f.protocol for by_model in rows.values() for f in by_model.values()}
    numbers = {source: f"[{n}]" for n, source in enumerate(protocols, 1)}
    cells = (
        (
            name,
            *_value_and_coverage(measured.get(("", name)) or measured[preset, name]),
            *(number(by_model[model].value) if model in by_model else "" for model in models),
            numbers[source],
        )
        for (name, source), by_model in rows.items()
    )
    description = [
        PUBLISHED,
        *(f"{numbers[s]} {s}: {protocol_text}" for s, protocol_text in protocols.items()),
    ]
    models_with_figures = {model for by_model in rows.values() for model in by_model}
    description += [
        f"no published values of {model} for these metrics"
        for model in models
        if model not in models_with_figures
    ]
    header = ("metric or average", "this run", "n / of all", *models, "source")
    return TextTable(header, tuple(cells), tuple(description))


def _value_and_coverage(estimate: Metric | Average) -> tuple[str, str]:
    return number(estimate.value), f"{estimate.n:,} / {estimate.n_total:,}"
