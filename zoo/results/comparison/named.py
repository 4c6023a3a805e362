"""Names of runs that are compared: what differs in their paths, and those of groups by seed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.results.report import Results
from zoo.support.spec import differences

SEED = "seed"
# of what a run says of its model: how it was loaded, and what follows from the seed
BESIDES = ("checkpoint", "precision", "weights_sha256")
SHOWN = 2  # differences that a message names
# how names say a seed: at the end, as in clip_1 and clip/seed_1, or before, as in seed_1/clip
SEEDS = (
    re.compile(r"[/_.\- ]*(?<![a-z])(seed|s)?[_.=\-]?\d+$"),
    re.compile(r"^(seed|s)?[_.=\-]?\d+[/_.\- ]+"),
)


def shorten_paths(paths: Sequence[Path]) -> list[str]:
    """Returns the parts of each path that not all have at its beginning or end.

    Args:
        paths: Folders, of which no two are one.

    Raises:
        ZooError: Two are one folder.
    """
    whole = [path.resolve() for path in paths]
    twice = next((path for i, path in enumerate(paths) if whole[i] in whole[:i]), None)
    if twice is not None:
        raise ZooError(f"{twice} is named twice: name each run once")
    parts = [list(path.parts) for path in whole]
    for end in (0, -1):
        while min(map(len, parts)) > 1 and len({of[end] for of in parts}) == 1:
            for of in parts:
                del of[end]
    return ["/".join(of) for of in parts]


def by_seed(runs: Mapping[str, Results]) -> dict[str, list[str]]:
    """Returns the names of runs by group; runs of one group differ in nothing but their seeds.

    Args:
        runs: Results by name. Each says how its model was trained.

    Raises:
        ZooError: No two runs differ in nothing but their seeds, or two of them have the same.
    """
    told = {name: _without_seeds(results.header["model"]) for name, results in runs.items()}
    groups: list[list[str]] = []
    for name in runs:
        own = next((of for of in groups if _are_equal(told[of[0]], told[name])), None)
        if own is None:
            groups.append([name])
        else:
            own.append(name)
    if len(groups) == len(runs):
        raise ZooError(_describe_single(told))
    for group in groups:
        _refuse_equal_seeds(group, runs)
    names = [_name_of(group) for group in groups]
    if len(set(names)) < len(names):
        names = [group[0] for group in groups]
    return dict(zip(names, groups, strict=True))


def _without_seeds(said: Any) -> Any:
    """Returns what a run says of its model, without seeds and what only follows from them."""
    if isinstance(said, Mapping):
        return {
            name: _without_seeds(value)
            for name, value in said.items()
            if name != SEED and name not in BESIDES
        }
    return [_without_seeds(value) for value in said] if isinstance(said, list) else said


def _are_equal(one: Any, other: Any) -> bool:
    return bool(one.get("recipe")) and not differences(one, other)


def _seeds(said: Any) -> list[Any]:
    if isinstance(said, Mapping):
        own = [said[SEED]] if SEED in said else []
        return own + [seed for value in said.values() for seed in _seeds(value)]
    return [seed for value in said for seed in _seeds(value)] if isinstance(said, list) else []


def _refuse_equal_seeds(group: Iterable[str], runs: Mapping[str, Results]) -> None:
    seen: dict[str, str] = {}
    for name in group:
        seeds = str(_seeds(runs[name].header["model"]))
        if seeds in seen:
            raise ZooError(
                f"{seen[seeds]} and {name} have the same recipe, data and seed, and are no two "
                "samples of one method: leave one out, or leave --group out"
            )
        seen[seeds] = name


def _describe_single(told: Mapping[str, Any]) -> str:
    first, *others = told
    apart = {name: differences(told[first], told[name]) for name in others}
    nearest = min(apart, key=lambda name: len(apart[name]))
    said = "; ".join(apart[nearest][:SHOWN]) or "neither says how its model was trained"
    return (
        "no two runs differ in nothing but their seeds, by which --group seed puts them together: "
        f"{nearest} is no other seed of {first} ({said}); leave --group out"
    )


def _name_of(group: Sequence[str]) -> str:
    """Returns what is left of all names of a group without their seeds, else the first of them."""
    if len(group) > 1:
        for seed in SEEDS:
            names = {seed.sub("", name) for name in group}
            if len(names) == 1 and "" not in names:
                return names.pop()
    return group[0]
