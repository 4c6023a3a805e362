"""Figures that others published of models, as data, each with its source and protocol.

They stand beside what is measured and enter no average.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from msgspec import Struct

from zoo.errors import ZooError, suggest_names
from zoo.support.schema import Text, record

FOLDER = Path(__file__).parent / "figures"


@dataclass(frozen=True)
class Figure:
    """A figure that was published of a model.

    Attributes:
        model: Name of the model, as `zoo ls models` has it.
        name: The metric, as 'sugarcrepe/swap_obj/i2t', or the name of an average.
        preset: The preset that has an average of this name; empty for a metric.
        value: Value in per cent.
        source: Where it was published.
        protocol: How it was counted.
    """

    model: str
    name: str
    preset: str
    value: float
    source: str
    protocol: str


class _Table(Struct, forbid_unknown_fields=True):
    """A file of figures: a row of values for each model, null where one was not published."""

    source: Text
    protocol: Text
    names: list[Text]
    models: dict[str, list[float | None]]
    preset: str = ""  # of those names that are averages


def figures(model: str) -> tuple[Figure, ...]:
    """Returns what was published of a model.

    Args:
        model: Name of the model.

    Raises:
        ZooError: Nothing was published of it.
    """
    found = tuple(figure for figure in _all_figures() if figure.model == model)
    if not found:
        raise ZooError(
            f"no published figures of {model!r} are here{suggest_names(model, models())}: "
            f"there are those of {', '.join(models())}"
        )
    return found


def models() -> tuple[str, ...]:
    """Returns the names of the models that figures were published of."""
    return tuple(sorted({figure.model for figure in _all_figures()}))


def is_metric(name: str) -> bool:
    """Returns whether a name is that of a metric; else it is that of an average."""
    return name.count("/") > 1


@cache
def _all_figures() -> tuple[Figure, ...]:
    return tuple(figure for file in sorted(FOLDER.glob("*.yaml")) for figure in read(file))


def read(file: Path) -> Iterator[Figure]:
    """Reads a file of figures.

    Args:
        file: A YAML file, as those of `figures/` are.

    Yields:
        The figures, by model.

    Raises:
        ZooError: The file is no such file.
    """
    table = record(yaml.safe_load(file.read_text("utf-8")), _Table, str(file))
    for model, values in table.models.items():
        if len(values) != len(table.names):
            raise ZooError(
                f"{file}: {model} has {len(values)} values for {len(table.names)} names: mend its "
                "row"
            )
        for name, value in zip(table.names, values, strict=True):
            if value is not None:
                preset = "" if is_metric(name) else table.preset
                yield Figure(model, name, preset, value, table.source, table.protocol)
