"""Figures that others published, laid out beside those that were measured, and mixed with none."""

from collections.abc import Iterable, Sequence

from zoo.results.averages import Average
from zoo.results.metrics import Metric
from zoo.results.published import Figure, figures
from zoo.results.tables import TextTable, number

PUBLISHED = "published figures of others beside this run's, each counted by its own protocol"
_Row = tuple[str, str]  # the name of a figure and its source


def beside_table(
    models: Sequence[str], preset: str, metrics: Iterable[Metric], averages: Iterable[Average]
) -> TextTable:
    """Lays out published figures of what was measured.

    Args:
        models: The models whose figures are wanted.
        preset: The preset of the averages.
        metrics: The metrics that were measured. Recalls among some of a gallery's images, which is
            easier, have no figures beside; nor has a benchmark that is asked for twice.
        averages: The averages that were taken.

    Returns:
        A table with a row for each metric or average and source, and a column for each model. Its
        lines say what the sources are, and of which models nothing is there.
    """
    here: dict[tuple[str, str], Metric | Average] = {
        ("", str(metric)): metric for metric in metrics if not metric.partial_gallery
    }
    here |= {(preset, average.name): average for average in averages}
    rows: dict[_Row, dict[str, Figure]] = {}
    known = [figure for model in models for figure in figures(model)]
    for place in here:
        for figure in known:
            if (figure.preset, figure.name) == place:
                rows.setdefault((figure.name, figure.source), {})[figure.model] = figure
    protocols = {f.source: f.protocol for found in rows.values() for f in found.values()}
    numbers = {source: f"[{n}]" for n, source in enumerate(protocols, 1)}
    cells = (
        (
            name,
            *_value_and_interval(here.get(("", name)) or here[preset, name]),
            *(number(found[model].value) if model in found else "" for model in models),
            numbers[source],
        )
        for (name, source), found in rows.items()
    )
    says = [PUBLISHED, *(f"{numbers[s]} {s}: {how}" for s, how in protocols.items())]
    there = {model for found in rows.values() for model in found}
    says += [f"nothing of this was published of {model}" for model in models if model not in there]
    header = ("metric or average", "this run", "n / of all", *models, "source")
    return TextTable(header, tuple(cells), tuple(says))


def _value_and_interval(found: Metric | Average) -> tuple[str, str]:
    return number(found.value), f"{found.n:,} / {found.of:,}"
