"""Published values of models, each with its source and protocol.

They are listed with measured values and enter no average.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from msgspec import Struct

from zoo.errors import ZooError, suggest_names
from zoo.support.schema import Text, validate_record

FOLDER = Path(__file__).parent / "figures"


@dataclass(frozen=True)
class PublishedValue:
    """A published value of a model.

    Attributes:
        model: Name of the model, as in `zoo ls models`.
        name: The metric, such as 'sugarcrepe/swap_obj/i2t', or the name of an average.
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
        ZooError: There are no published values of the model.
    """
    model_figures = tuple(figure for figure in _all_figures() if figure.model == model)
    if not model_figures:
        raise ZooError(
            f"no published values of {model!r}{suggest_names(model, published_models())}. "
            f"Available: {', '.join(published_models())}"
        )
    return model_figures


def published_models() -> tuple[str, ...]:
    """Returns the names of the models with published values."""
    return tuple(sorted({figure.model for figure in _all_figures()}))


def is_metric(name: str) -> bool:
    """Returns whether a name is a metric; otherwise it is an average."""
    return name.count("/") > 1


@cache
def _all_figures() -> tuple[PublishedValue, ...]:
    return tuple(figure for file in sorted(FOLDER.glob("*.yaml")) for figure in read(file))


def read(file: Path) -> Iterator[PublishedValue]:
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
