"""Study files: the runs that they define, with later files overriding earlier ones."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from zoo.cli.recipes import find_recipe, find_study, read_settings
from zoo.cli.studies.ranges import Search, parse_search
from zoo.errors import ZooError, suggest_names

Layer = str | dict[str, Any]
Layers = tuple[Layer, ...]

LIST_KEYS = ("with", "first", "seeds")
MAPPING_KEYS = ("recipes", "models", "overlays", "prepare", "validate", "compare", "search")
VALUE_KEYS = ("checkpoint", "data_root", "fetch", "first_once", "keep_checkpoints")
KEYS = ("recipes", *LIST_KEYS, *MAPPING_KEYS[1:], *VALUE_KEYS)
CHECKPOINTS = ("last", "best")
COMPARE = ("reference_models", "preset", "metrics")  # flags of `zoo compare`
AGAINST_PUBLISHED = ("published", "tolerance")  # further keys of `compare`
TOLERANCE = 0.5  # points
FIRST = "first"  # the row of the runs that others start from
# flags of `zoo validate` that a study sets itself
RESERVED_FLAGS = ("ckpt_path", "out", "overwrite")


@dataclass(frozen=True)
class Study:
    """Recipes x overlays x seeds, and how each run is trained, measured and compared.

    Args:
        name: The name: those of its files, joined by `+`.
        recipes: The layers of each recipe: names as `--config` takes them, or settings.
        overlays: The layers of each overlay, which come last; every recipe is run with each.
        models: Rows that are measured without training: each has a name as `--model` takes it, or
            layers for `--config`. They come first in the table.
        common: Layers over every recipe.
        seeds: The seeds of every recipe.
        first: Layers of an initial run per seed, to whose weights `${first}` is the path; empty for
            no such run.
        prepare: Commands of zoo that create missing files, by the file that they create.
        validate: Flags of `zoo validate`, without dashes.
        compare: Flags of `zoo compare`, without dashes; `published` and `tolerance` set rows
            against published values.
        checkpoint: Which checkpoint is measured, `last` or `best`.
        data_root: The data root if the command line has none.
        fetch: What `zoo data get` fetches first; None fetches nothing.
        first_once: Whether all seeds start from the initial run of the first seed.
        keep_checkpoints: Whether checkpoints are kept once they are measured.
        search: Settings to search, None for no search.
    """

    name: str
    recipes: Mapping[str, Layers]
    overlays: Mapping[str, Layers]
    models: Mapping[str, str | Layers] = field(default_factory=dict)
    common: Layers = ()
    seeds: tuple[int, ...] = (0,)
    first: Layers = ()
    prepare: Mapping[str, str] = field(default_factory=dict)
    validate: Mapping[str, Any] = field(default_factory=dict)
    compare: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: str = "last"
    data_root: str | None = None
    fetch: str | None = None
    first_once: bool = False
    keep_checkpoints: bool = True
    search: Search | None = None

    def initial_run_seed(self, seed: int) -> int:
        """Returns the seed of the initial run that a run with this seed starts from."""
        return self.seeds[0] if self.first_once else seed

    @property
    def seeds_have_own_cases(self) -> bool:
        """Whether the cases depend on the seed, as those of held-out blocks do."""
        return "${seed}" in str(self.validate)

    @property
    def published_models(self) -> Mapping[str, str]:
        """The model, as in `zoo ls models`, whose published values a row is set against."""
        models: Mapping[str, str] = self.compare.get("published", {})
        return models

    @property
    def tolerance(self) -> float:
        """The largest difference in points between a measured and a published value."""
        return float(self.compare.get("tolerance", TOLERANCE))

    def row_layers(self) -> dict[str, Layers]:
        """Returns the layers of every trained row (recipes x overlays), by row name.

        Raises:
            ZooError: A row has a name that cannot be a folder, or that another row has.
        """
        layers_by_row: dict[str, Layers] = {}
        for i, name in enumerate(self.models):
            self._check_row_name(name, list(self.models)[:i])
        for (recipe, recipe_layers), (overlay, overlay_layers) in product(
            self.recipes.items(), (self.overlays or {"": ()}).items()
        ):
            name = f"{recipe}, {overlay}" if overlay else recipe
            self._check_row_name(name, [*self.models, *layers_by_row])
            layers_by_row[name] = (*recipe_layers, *self.common, *overlay_layers)
        return layers_by_row

    def _check_row_name(self, name: str, others: Sequence[str]) -> None:
        if not folder_name(name):
            raise ZooError(
                f"{self.name}: a run is called {name!r}, which cannot be made a folder name: "
                "use at least one letter or digit"
            )
        if folder_name(name) == FIRST:
            raise ZooError(
                f"{self.name}: a run is called {name}, the name reserved for the runs that "
                "others start from: rename it"
            )
        if folder_name(name) in map(folder_name, others):
            raise ZooError(
                f"{self.name}: two runs are called {name}: give each recipe, model and overlay a "
                "unique name; capitals and punctuation do not count"
            )


def folder_name(name: str) -> str:
    """Returns the folder name of a row: lower-case letters, digits and underscores."""
    return "_".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def read_study(names: Sequence[str], objectives: Sequence[str] = ()) -> Study:
    """Reads a study.

    Args:
        names: A study file, and files that override it: mappings are merged, null removes an
            entry, layers of `with` are appended, and every other value is replaced.
        objectives: Class paths of objectives that are added as recipes, named by their class.

    Raises:
        ZooError: A file is missing or not a study, or has settings that cannot be run.
    """
    settings: dict[str, Any] = {}
    paths = [find_study(name) for name in names]
    for path in paths:
        _merge(settings, _read_study(path))
    study_name = "+".join(path.stem for path in paths)
    rows = {
        name: _layers(study_name, f"recipes.{name}", value)
        for name, value in _named_items(settings, "recipes")
    }
    for objective in objectives:
        name = objective.rpartition(".")[2]
        if name in rows:
            raise ZooError(
                f"{study_name}: --objective {objective} adds the run {name}, which is already one "
                "of its recipes: remove the flag"
            )
        rows[name] = ({"model": {"objective": {"class_path": objective}}},)
    if not rows and not settings.get("models"):
        raise ZooError(
            f"{study_name} lists no recipes: list what to train under `recipes:`, what to measure "
            "as it is under `models:`, or put a study before it, as in `zoo study methods_on_coco "
            f"{study_name}`"
        )
    study = Study(
        study_name,
        rows,
        {
            name: _layers(study_name, f"overlays.{name}", value)
            for name, value in _named_items(settings, "overlays")
        },
        {
            name: value if isinstance(value, str) else _layers(study_name, f"models.{name}", value)
            for name, value in _named_items(settings, "models")
        },
        _layers(study_name, "with", settings.get("with", [])),
        _seeds(study_name, settings.get("seeds", [0])),
        _layers(study_name, "first", settings.get("first") or []),
        dict(_named_items(settings, "prepare")),
        dict(_named_items(settings, "validate")),
        dict(_named_items(settings, "compare")),
        **{name: settings[name] for name in VALUE_KEYS if name in settings},
    )
    _check_study(study)
    if settings.get("search"):
        return replace(
            study, search=parse_search(study_name, settings["search"], study.row_layers())
        )
    return study


def _read_study(path: Path) -> dict[str, Any]:
    """Returns the settings in a study file, once its keys are checked."""
    settings = read_settings(str(path), expected_keys="`recipes:`")
    for key, value in settings.items():
        if key not in KEYS:
            raise ZooError(
                f"{path}: unknown key {key!r}{suggest_names(str(key), KEYS)}: a study has "
                f"{', '.join(KEYS)}"
            )
        if key in MAPPING_KEYS and not isinstance(value, dict):
            raise ZooError(f"{path}: {key} is {value!r}: give a mapping of names to values")
    return settings


def _merge(merged_settings: dict[str, Any], settings: Mapping[str, Any]) -> None:
    """Merges the settings of a file into those of the files before it."""
    for key, value in settings.items():
        if key in MAPPING_KEYS:
            earlier = merged_settings.get(key, {})
            if key == "prepare":  # the commands of a later file run last
                earlier = {path: command for path, command in earlier.items() if path not in value}
            merged = {**earlier, **value}
            merged_settings[key] = {
                name: entry for name, entry in merged.items() if entry is not None
            }
        elif key == "with":
            merged_settings[key] = [*_as_list(merged_settings.get(key, [])), *_as_list(value)]
        else:
            merged_settings[key] = value


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _named_items(settings: Mapping[str, Any], key: str) -> Sequence[tuple[str, Any]]:
    return [(str(name), value) for name, value in settings.get(key, {}).items()]


def _layers(study: str, setting: str, value: Any) -> Layers:
    """Returns layers, after checking that their recipes exist."""
    layers = tuple(_as_list(value))
    for layer in layers:
        if isinstance(layer, str):
            try:
                find_recipe(layer)
            except ZooError as error:
                raise ZooError(f"{study}, {setting}: {error}") from error
        elif not isinstance(layer, dict):
            raise ZooError(
                f"{study}, {setting} has {layer!r}: give names of recipes and overlays, or settings"
            )
    return layers


def _seeds(study: str, value: Any) -> tuple[int, ...]:
    seeds = _as_list(value)
    wrong = next((s for s in seeds if not isinstance(s, int) or isinstance(s, bool) or s < 0), None)
    if wrong is not None or not seeds:
        raise ZooError(
            f"{study}: seeds has {wrong if seeds else 'no entry'}: give integers of at least 0, "
            "such as [0, 1, 2]"
        )
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None)
    if twice is not None:
        raise ZooError(f"{study}: the seed {twice} is listed twice: remove one")
    return tuple(seeds)


def _check_study(study: Study) -> None:
    study.row_layers()
    if study.checkpoint not in CHECKPOINTS:
        raise ZooError(
            f"{study.name}: checkpoint is {study.checkpoint!r}: give {' or '.join(CHECKPOINTS)}"
        )
    for name in ("first_once", "keep_checkpoints"):
        if not isinstance(getattr(study, name), bool):
            raise ZooError(f"{study.name}: {name} must be true or false")
    if not isinstance(study.data_root, str | None):
        raise ZooError(f"{study.name}: data_root is {study.data_root!r}: give the path of a folder")
    reserved = next((name for name in study.validate if name in RESERVED_FLAGS), None)
    if reserved is not None:
        raise ZooError(
            f"{study.name}: validate has {reserved!r}, which the study sets for each run: remove it"
        )
    if "benchmarks" not in study.validate:
        raise ZooError(
            f"{study.name} has no benchmarks: list them under `validate:`, as in "
            "`validate: {benchmarks: [sugarcrepe]}`"
        )
    if not isinstance(study.fetch, str | None):
        raise ZooError(
            f"{study.name}: fetch is {study.fetch!r}: give names of `zoo data ls`, separated by "
            "commas"
        )
    allowed_keys = (*COMPARE, *AGAINST_PUBLISHED)
    unknown = next((name for name in study.compare if name not in allowed_keys), None)
    if unknown is not None:
        raise ZooError(
            f"{study.name}: compare has {unknown!r}{suggest_names(unknown, allowed_keys)}: "
            f"it takes {', '.join(allowed_keys)}"
        )
    _check_published(study)
    for name, value in study.compare.items():
        if name in COMPARE and not all(isinstance(entry, str) for entry in _as_list(value)):
            raise ZooError(f"{study.name}: compare.{name} is {value!r}: give names")
    for path, command in study.prepare.items():
        if not isinstance(command, str) or split_command(command)[:1] != ["zoo"]:
            raise ZooError(
                f"{study.name}: prepare has {command!r} for {path}: give a zoo command, such as "
                "`zoo units extract CAPTIONS --out FILE`"
            )


def _check_published(study: Study) -> None:
    rows = [*study.models, *study.row_layers()]
    published = study.compare.get("published", {})
    if not isinstance(published, dict) or not all(isinstance(m, str) for m in published.values()):
        raise ZooError(
            f"{study.name}: compare.published is {published!r}: give the name of a model for each "
            "row, as in `{NegCLIP: negclip}`"
        )
    for row in published:
        if row not in rows:
            raise ZooError(
                f"{study.name}: compare.published has {row!r}{suggest_names(row, rows)}, which is "
                f"not a row: the rows are {', '.join(rows)}"
            )
    tolerance = study.compare.get("tolerance", TOLERANCE)
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or tolerance < 0:
        raise ZooError(
            f"{study.name}: compare.tolerance is {tolerance!r}: give points of at least 0"
        )


def split_command(command: str) -> list[str]:
    """Splits a command into words as a shell would; empty if a quote is not closed."""
    try:
        return shlex.split(command)
    except ValueError:
        return []


def fill_placeholders(value: Any, replacements: Mapping[str, str]) -> Any:
    """Returns a value of a study file with its placeholders filled, in keys of mappings too."""
    if isinstance(value, str):
        for place, text in replacements.items():
            value = value.replace(place, text)
        return value
    if isinstance(value, Mapping):
        return {
            fill_placeholders(name, replacements): fill_placeholders(entry, replacements)
            for name, entry in value.items()
        }
    if isinstance(value, Sequence):
        return [fill_placeholders(entry, replacements) for entry in value]
    return value
