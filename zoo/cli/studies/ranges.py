"""Ranges: what a study file says is searched, and by what it is chosen."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.errors import ZooError, suggest_names

KEYS = ("ranges", "trials", "metric", "mode", "recipes")
MODES = ("min", "max")
EXAMPLE = "`ranges: {model.optimizer.lr: {low: 1.0e-6, high: 1.0e-4, log: true}}`"


@dataclass(frozen=True)
class Search:
    """Settings that are looked for, row by row.

    Args:
        ranges: The range of each setting, by its dotted name.
        trials: How many are tried of a row.
        metric: What validation logs and settings are chosen by; its last value counts.
        mode: Whether the least is best, `min`, or the most, `max`.
        recipes: The rows; all where empty.
    """

    ranges: Mapping[str, Any]
    trials: int = 20
    metric: str = "val/loss"
    mode: str = "min"
    recipes: tuple[str, ...] = ()


def search_of(study: str, said: Mapping[str, Any], rows: Collection[str]) -> Search:
    """Returns what a study file says under `search:`.

    Args:
        study: The name of the study.
        said: What it says.
        rows: The rows of its table.

    Raises:
        ZooError: It cannot be searched.
    """
    unknown = next((name for name in said if name not in KEYS), None)
    if unknown is not None:
        raise ZooError(
            f"{study}: search has {unknown!r}{suggest_names(unknown, KEYS)}: it takes "
            f"{', '.join(KEYS)}"
        )
    if not isinstance(said.get("ranges"), dict) or not said["ranges"]:
        raise ZooError(f"{study}: search has no ranges: write them as in {EXAMPLE}")
    recipes = said.get("recipes", ())
    asked = Search(**{**said, "recipes": (recipes,) if isinstance(recipes, str) else (*recipes,)})
    if asked.mode not in MODES:
        raise ZooError(f"{study}: search.mode is {asked.mode!r}: give {' or '.join(MODES)}")
    if not isinstance(asked.trials, int) or asked.trials < 1:
        raise ZooError(f"{study}: search.trials is {asked.trials!r}: give a whole number from 1 up")
    unknown = next((row for row in asked.recipes if row not in rows), None)
    if unknown is not None:
        raise ZooError(
            f"{study}: search.recipes has {unknown!r}{suggest_names(unknown, rows)}, which is no "
            "row of it: "
            "name rows of its table"
        )
    return asked
