"""Study: what a study file says is run, with later files laid over it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from zoo.cli.recipes import find_recipe, find_study, settings_in
from zoo.cli.studies.ranges import Search, search_of
from zoo.errors import ZooError, suggest_names

Layer = str | dict[str, Any]
Layers = tuple[Layer, ...]

LISTED = ("with", "first", "seeds")
MAPPED = ("recipes", "overlays", "prepare", "validate", "compare", "search")
PLAIN = ("checkpoint", "data_root", "first_once", "keep_checkpoints")
KEYS = ("recipes", *LISTED, *MAPPED[1:], *PLAIN)
CHECKPOINTS = ("last", "best")
COMPARE = ("beside", "preset", "metrics")
FIRST = "first"  # the row of the runs that others start from
OF_THE_STUDY = ("ckpt_path", "out", "overwrite")  # flags of `zoo validate` that it gives itself


@dataclass(frozen=True)
class Study:
    """Recipes x overlays x seeds, and what is done with each.

    Args:
        name: What it is called: the names of its files.
        recipes: The layers of each recipe: names as `--config` takes them, or settings.
        overlays: The layers of each overlay; every recipe is run with each, over all else.
        common: Layers over every recipe.
        seeds: The seeds of every recipe.
        first: Layers of a run a seed, of whose weights `${first}` is the path; none where empty.
        prepare: Commands of zoo that make what is not there, by what they make.
        validate: Flags of `zoo validate`, without dashes.
        compare: Flags of `zoo compare`, without dashes.
        checkpoint: Which checkpoint is measured, `last` or `best`.
        data_root: The data root where the command line names none.
        first_once: Whether all seeds start from the run of the first of them.
        keep_checkpoints: Whether checkpoints stay when they are measured.
        search: Settings that are looked for, None where none are.
    """

    name: str
    recipes: Mapping[str, Layers]
    overlays: Mapping[str, Layers]
    common: Layers = ()
    seeds: tuple[int, ...] = (0,)
    first: Layers = ()
    prepare: Mapping[str, str] = field(default_factory=dict)
    validate: Mapping[str, Any] = field(default_factory=dict)
    compare: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: str = "last"
    data_root: str | None = None
    first_once: bool = False
    keep_checkpoints: bool = True
    search: Search | None = None

    def first_seed(self, seed: int) -> int:
        """Returns the seed of the run that a run of this seed starts from."""
        return self.seeds[0] if self.first_once else seed

    def cells(self) -> dict[str, Layers]:
        """Returns the layers of every row of the table, by its name: recipes x overlays."""
        made: dict[str, Layers] = {}
        for (recipe, low), (overlay, high) in product(
            self.recipes.items(), (self.overlays or {"": ()}).items()
        ):
            name = f"{recipe}, {overlay}" if overlay else recipe
            if not folder_name(name):
                raise ZooError(
                    f"{self.name}: a run is called {name!r}, of which no folder can be named: give "
                    "it a letter or digit"
                )
            if folder_name(name) == FIRST:
                raise ZooError(
                    f"{self.name}: a run is called {name}, as those are that others start from: "
                    "give it another name"
                )
            if folder_name(name) in map(folder_name, made):
                raise ZooError(
                    f"{self.name}: two runs are called {name}: give each recipe and overlay a name "
                    "of its own, in which more than capitals and signs differ"
                )
            made[name] = (*low, *self.common, *high)
        return made


def folder_name(name: str) -> str:
    """Returns the name of a folder for a row: small letters, digits and underscores."""
    return "_".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def read_study(names: Sequence[str], objectives: Sequence[str] = ()) -> Study:
    """Reads a study.

    Args:
        names: A study file, and files laid over it: mappings are added to, null takes an entry
            away, layers of `with` lie over those before, and all else is replaced.
        objectives: Objectives that are further recipes, named by their class.

    Raises:
        ZooError: A file is not there or no study, or holds what cannot be run.
    """
    laid: dict[str, Any] = {}
    paths = [find_study(name) for name in names]
    for path in paths:
        _lay(laid, _read_study(path))
    said = "+".join(path.stem for path in paths)
    rows = {name: _layers(said, f"recipes.{name}", of) for name, of in _mapping(laid, "recipes")}
    for objective in objectives:
        name = objective.rpartition(".")[2]
        if name in rows:
            raise ZooError(
                f"{said}: two runs are called {name}, since --objective {objective} is one of its "
                "recipes: leave it out"
            )
        rows[name] = ({"model": {"objective": {"class_path": objective}}},)
    if not rows:
        raise ZooError(f"{said} has no recipes: name what is trained under `recipes:`")
    study = Study(
        said,
        rows,
        {name: _layers(said, f"overlays.{name}", of) for name, of in _mapping(laid, "overlays")},
        _layers(said, "with", laid.get("with", [])),
        _seeds(said, laid.get("seeds", [0])),
        _layers(said, "first", laid.get("first") or []),
        dict(_mapping(laid, "prepare")),
        dict(_mapping(laid, "validate")),
        dict(_mapping(laid, "compare")),
        **{name: laid[name] for name in PLAIN if name in laid},
    )
    _refuse_what_cannot_be(study)
    if laid.get("search"):
        return replace(study, search=search_of(said, laid["search"], study.cells()))
    return study


def _read_study(path: Path) -> dict[str, Any]:
    """Returns what a file says, whose keys are known and of their kind."""
    said = settings_in(str(path), begins="`recipes:`")
    for key, value in said.items():
        if key not in KEYS:
            raise ZooError(
                f"{path}: {key!r} is nothing that a study has{suggest_names(str(key), KEYS)}: it "
                "has "
                f"{', '.join(KEYS)}"
            )
        if key in MAPPED and not isinstance(value, dict):
            raise ZooError(f"{path}: {key} holds {value!r}, where names with values are wanted")
    return said


def _lay(below: dict[str, Any], over: Mapping[str, Any]) -> None:
    """Lays what a file says over what others said."""
    for key, value in over.items():
        if key in MAPPED:
            before = below.get(key, {})
            if key == "prepare":  # a later file's commands are run after those before
                before = {made: how for made, how in before.items() if made not in value}
            merged = {**before, **value}
            below[key] = {name: of for name, of in merged.items() if of is not None}
        elif key == "with":
            below[key] = [*_list(below.get(key, [])), *_list(value)]
        else:
            below[key] = value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _mapping(laid: Mapping[str, Any], key: str) -> Sequence[tuple[str, Any]]:
    return [(str(name), of) for name, of in laid.get(key, {}).items()]


def _layers(study: str, place: str, value: Any) -> Layers:
    """Returns layers, whose recipes are there."""
    layers = tuple(_list(value))
    for layer in layers:
        if isinstance(layer, str):
            try:
                find_recipe(layer)
            except ZooError as error:
                raise ZooError(f"{study}, {place}: {error}") from error
        elif not isinstance(layer, dict):
            raise ZooError(
                f"{study}, {place} holds {layer!r}: name recipes and overlays, or write settings"
            )
    return layers


def _seeds(study: str, value: Any) -> tuple[int, ...]:
    seeds = _list(value)
    wrong = next((s for s in seeds if not isinstance(s, int) or isinstance(s, bool) or s < 0), None)
    if wrong is not None or not seeds:
        raise ZooError(
            f"{study}: seeds holds {wrong if seeds else 'none'}: give whole numbers from 0 up, as "
            "in [0, 1, 2]"
        )
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None)
    if twice is not None:
        raise ZooError(f"{study}: the seed {twice} is there twice: leave one of the two out")
    return tuple(seeds)


def _refuse_what_cannot_be(study: Study) -> None:
    study.cells()
    if study.checkpoint not in CHECKPOINTS:
        raise ZooError(
            f"{study.name}: checkpoint is {study.checkpoint!r}: give {' or '.join(CHECKPOINTS)}"
        )
    for name in ("first_once", "keep_checkpoints"):
        if not isinstance(getattr(study, name), bool):
            raise ZooError(f"{study.name}: {name} is neither true nor false: write one of them")
    if not isinstance(study.data_root, str | None):
        raise ZooError(f"{study.name}: data_root is {study.data_root!r}: give the path of a folder")
    own = next((name for name in study.validate if name in OF_THE_STUDY), None)
    if own is not None:
        raise ZooError(
            f"{study.name}: validate has {own!r}, which the study gives each run itself: leave it "
            "out"
        )
    if "benchmarks" not in study.validate:
        raise ZooError(
            f"{study.name} does not say what is measured: name benchmarks under `validate:`, as in "
            "`validate: {benchmarks: [sugarcrepe]}`"
        )
    unknown = next((name for name in study.compare if name not in COMPARE), None)
    if unknown is not None:
        raise ZooError(
            f"{study.name}: compare has {unknown!r}{suggest_names(unknown, COMPARE)}: it takes "
            f"{', '.join(COMPARE)}"
        )
    for name, value in study.compare.items():
        if not all(isinstance(one, str) for one in _list(value)):
            raise ZooError(f"{study.name}: compare.{name} is {value!r}: give names")
    for made, command in study.prepare.items():
        if not isinstance(command, str) or words(command)[:1] != ["zoo"]:
            raise ZooError(
                f"{study.name}: {made} is prepared by {command!r}: write a command, as in `zoo "
                "units extract CAPTIONS --out FILE`"
            )


def words(command: str) -> list[str]:
    """Returns the words of a command as a shell would, none where a quote is not closed."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def filled_in(value: Any, places: Mapping[str, str]) -> Any:
    """Returns a value of a study file with its places filled, in keys of mappings as well."""
    if isinstance(value, str):
        for place, text in places.items():
            value = value.replace(place, text)
        return value
    if isinstance(value, Mapping):
        return {filled_in(name, places): filled_in(of, places) for name, of in value.items()}
    if isinstance(value, Sequence):
        return [filled_in(of, places) for of in value]
    return value
