"""The `search:` section of a study file: ranges of settings, and the metric to optimize."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.errors import ZooError, suggest_names

KEYS = ("ranges", "trials", "metric", "mode", "recipes")
MODES = ("min", "max")
EXAMPLE = "`ranges: {model.optimizer.lr: {low: 1.0e-6, high: 1.0e-4, log: true}}`"


@dataclass(frozen=True)
class Search:
    """A search for the best settings of each row.

    Args:
        ranges: The range of each setting, by its dotted name.
        trials: Number of trials per row.
        metric: The metric, logged by validation, that decides; its last value counts.
        mode: Whether the lowest value is best, `min`, or the highest, `max`.
        recipes: The rows; empty for all.
    """

    ranges: Mapping[str, Any]
    trials: int = 20
    metric: str = "val/loss"
    mode: str = "min"
    recipes: tuple[str, ...] = ()


def parse_search(study: str, section: Mapping[str, Any], rows: Collection[str]) -> Search:
    """Reads the `search:` section of a study file.

    Args:
        study: The name of the study.
        section: The section.
        rows: The rows of the study's table.

    Raises:
        ZooError: The section is not valid.
    """
    unknown = next((name for name in section if name not in KEYS), None)
    if unknown is not None:
        raise ZooError(
            f"{study}: search has {unknown!r}{suggest_names(unknown, KEYS)}: it takes "
            f"{', '.join(KEYS)}"
        )
    if not isinstance(section.get("ranges"), dict) or not section["ranges"]:
        raise ZooError(f"{study}: search has no ranges: write them as in {EXAMPLE}")
    recipes = section.get("recipes", ())
    search = Search(
        **{**section, "recipes": (recipes,) if isinstance(recipes, str) else (*recipes,)}
    )
    if search.mode not in MODES:
        raise ZooError(f"{study}: search.mode is {search.mode!r}: give {' or '.join(MODES)}")
    if not isinstance(search.trials, int) or search.trials < 1:
        raise ZooError(
            f"{study}: search.trials is {search.trials!r}: give an integer of at least 1"
        )
    unknown = next((row for row in search.recipes if row not in rows), None)
    if unknown is not None:
        raise ZooError(
            f"{study}: search.recipes has {unknown!r}{suggest_names(unknown, rows)}: give "
            "rows of the study's table"
        )
    return search
