"""Published values of models, each with its source and protocol, and their table.

They are listed with measured values and enter no average.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from msgspec import Struct

from zoo.errors import ZooError, suggest_names
from zoo.results.averages import Average
from zoo.results.metrics import Metric
from zoo.results.number_formats import format_number
from zoo.results.tables import TextTable
from zoo.support.schema import Text, validate_record

FOLDER = Path(__file__).parent / "figures"
PUBLISHED = "published values of other models and values of this run, each under its own protocol"


@dataclass(frozen=True)
class PublishedValue:
    """A published value of a model.

    Attributes:
        model: Name of the model, as in `zoo ls models`, or of a row of a paper that begins with
            the paper's name.
        name: The metric, such as 'sugarcrepe/swap_obj/i2t' or 'vismin/*/group, seen' on a split of
            familiarity, or the name of an average.
        preset: The preset that defines the average; empty for a metric.
        value: Value in per cent.
        source: Publication of the value.
        protocol: How the value was computed.
    """

    model: str
    name: str
    preset: str
    value: float
    source: str
    protocol: str


class _FiguresFile(Struct, forbid_unknown_fields=True):
    """A file of published values: one row per model, null for a value that was not published."""

    source: Text
    protocol: Text
    names: list[Text]
    models: dict[str, list[float | None]]
    preset: str = ""  # preset of the names that are averages


def published_values(model: str) -> tuple[PublishedValue, ...]:
    """Returns the published values of a model.

    Args:
        model: Name of the model.

    Raises:
        ZooError: The model has no published values.
    """
    model_figures = tuple(figure for figure in _all_published_values() if figure.model == model)
    if not model_figures:
        raise ZooError(
            f"no published values of {model!r}{suggest_names(model, published_models())}. "
            f"Available: {', '.join(published_models())}"
        )
    return model_figures


def published_models() -> tuple[str, ...]:
    """Returns the names of the models with published values."""
    return tuple(sorted({figure.model for figure in _all_published_values()}))


def is_metric(name: str) -> bool:
    """Returns whether a name is a metric; otherwise it is an average."""
    return name.count("/") > 1


@cache
def _all_published_values() -> tuple[PublishedValue, ...]:
    return tuple(
        figure for file in sorted(FOLDER.glob("*.yaml")) for figure in read_published_values(file)
    )


def read_published_values(file: Path) -> Iterator[PublishedValue]:
    """Reads a file of published values.

    Args:
        file: A YAML file in the format of `figures/`.

    Yields:
        The values, by model.

    Raises:
        ZooError: The file does not have this format.
    """
    table = validate_record(yaml.safe_load(file.read_text("utf-8")), _FiguresFile, str(file))
    for model, values in table.models.items():
        if len(values) != len(table.names):
            raise ZooError(
                f"{file}: {model} has {len(values)} values for {len(table.names)} names. "
                "Correct its row"
            )
        for name, value in zip(table.names, values, strict=True):
            if value is not None:
                preset = "" if is_metric(name) else table.preset
                yield PublishedValue(model, name, preset, value, table.source, table.protocol)


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
    # by name and source of a published value, and then by model
    rows: dict[tuple[str, str], dict[str, PublishedValue]] = {}
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
            *(
                format_number(by_model[model].value) if model in by_model else ""
                for model in models
            ),
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
    header = ("metric or average", "this run", "scored / total", *models, "source")
    return TextTable(header, tuple(cells), tuple(description))


def _value_and_coverage(estimate: Metric | Average) -> tuple[str, str]:
    return format_number(estimate.value), f"{estimate.n:,} / {estimate.n_total:,}"
