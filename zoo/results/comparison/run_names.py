"""Names of compared runs, from their paths, and of groups of runs that differ only in seeds."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.results.report import Results
from zoo.support.configurable import differences

SEED = "seed"
# fields of a run's model that say how it was loaded, or follow from the seed
IGNORED_FIELDS = ("checkpoint", "precision", "weights_sha256")
MAX_DIFFERENCES = 2  # differences that a message names
# seeds in names: at the end, as in clip_1 and clip/seed_1, or at the start, as in seed_1/clip
SEEDS = (
    re.compile(r"[/_.\- ]*(?<![a-z])(seed|s)?[_.=\-]?\d+$"),
    re.compile(r"^(seed|s)?[_.=\-]?\d+[/_.\- ]+"),
)


def shorten_paths(paths: Sequence[Path]) -> list[str]:
    """Returns each path without the parts that all paths share at the beginning or the end.

    Args:
        paths: Different folders.

    Raises:
        ZooError: The same folder is named twice.
    """
    resolved = [path.resolve() for path in paths]
    repeated = next((path for i, path in enumerate(paths) if resolved[i] in resolved[:i]), None)
    if repeated is not None:
        raise ZooError(f"{repeated} is named twice: name each run once")
    parts = [list(path.parts) for path in resolved]
    for end in (0, -1):
        while min(map(len, parts)) > 1 and len({path_parts[end] for path_parts in parts}) == 1:
            for path_parts in parts:
                del path_parts[end]
    return ["/".join(path_parts) for path_parts in parts]


def group_across_seeds(runs: Mapping[str, Results]) -> dict[str, list[str]]:
    """Returns the names of the runs of each group; runs of a group differ only in their seeds.

    Args:
        runs: Results by name. Each records how its model was trained.

    Raises:
        ZooError: No two runs differ only in their seeds, or two of them have the same seeds.
    """
    models = {name: _without_seeds(results.header["model"]) for name, results in runs.items()}
    groups: list[list[str]] = []
    for name in runs:
        matching_group = next(
            (members for members in groups if _same_but_seeds(models[members[0]], models[name])),
            None,
        )
        if matching_group is None:
            groups.append([name])
        else:
            matching_group.append(name)
    if len(groups) == len(runs):
        raise ZooError(_no_groups_message(models))
    for group in groups:
        _check_seeds_differ(group, runs)
    names = [_group_name(group) for group in groups]
    if len(set(names)) < len(names):
        names = [group[0] for group in groups]
    return dict(zip(names, groups, strict=True))


def _without_seeds(config: Any) -> Any:
    """Returns the description of a model without seeds and the fields that follow from them."""
    if isinstance(config, Mapping):
        return {
            name: _without_seeds(value)
            for name, value in config.items()
            if name != SEED and name not in IGNORED_FIELDS
        }
    return [_without_seeds(value) for value in config] if isinstance(config, list) else config


def _same_but_seeds(first: Any, second: Any) -> bool:
    return bool(first.get("recipe")) and not differences(first, second)


def _find_seeds(config: Any) -> list[Any]:
    if isinstance(config, Mapping):
        seeds = [config[SEED]] if SEED in config else []
        return seeds + [seed for value in config.values() for seed in _find_seeds(value)]
    return (
        [seed for value in config for seed in _find_seeds(value)]
        if isinstance(config, list)
        else []
    )


def _check_seeds_differ(group: Iterable[str], runs: Mapping[str, Results]) -> None:
    name_by_seeds: dict[str, str] = {}
    for name in group:
        seeds = str(_find_seeds(runs[name].header["model"]))
        if seeds in name_by_seeds:
            raise ZooError(
                f"{name_by_seeds[seeds]} and {name} have the same recipe, data and seed, so they "
                "are not two samples of one method: leave one out, or leave --group out"
            )
        name_by_seeds[seeds] = name


def _no_groups_message(models: Mapping[str, Any]) -> str:
    first_name, *other_names = models
    differences_by_name = {
        name: differences(models[first_name], models[name]) for name in other_names
    }
    nearest = min(differences_by_name, key=lambda name: len(differences_by_name[name]))
    reason = (
        "; ".join(differences_by_name[nearest][:MAX_DIFFERENCES])
        or "neither records how its model was trained"
    )
    return (
        "--group seed groups runs that differ only in their seeds, but no two runs do "
        f"({nearest} vs {first_name}: {reason}); leave --group out"
    )


def _group_name(group: Sequence[str]) -> str:
    """Returns the name that a group's members share without their seeds, else the first name."""
    if len(group) > 1:
        for seed in SEEDS:
            names = {seed.sub("", name) for name in group}
            if len(names) == 1 and "" not in names:
                return names.pop()
    return group[0]
