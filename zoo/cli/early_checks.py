"""Checks of `zoo fit` and `zoo validate` before torch is imported, which takes seconds.

Recipes must exist and be valid YAML, and their settings and classes must be known. The names come
from the source of the classes, and are not listed here a second time. The parser checks the rest.
"""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.cli.flags import FLAGS
from zoo.cli.help_pages import BACKBONE_FLAG, KIND_BY_FLAG, LIST_FLAGS, WEIGHTS_FLAG
from zoo.cli.recipes import DATA_ROOT_PLACEHOLDER, load_recipe, shipped_recipes
from zoo.errors import ZooError, suggest_names
from zoo.support.class_names import BACKBONE, BASE_CLASS_BY_KIND, class_paths, parse_class_arguments

# sections of settings, the class that takes them, and the class that it passes others on to
SECTIONS = {
    "model": ("zoo.module.ZooModule",),
    "model.optimizer": ("zoo.optim.Optimization",),
    "trainer": ("zoo.training.ZooTrainer", "lightning.pytorch.trainer.trainer.Trainer"),
}
# the kind of class that a setting names
KINDS = {"data.val": "readers"} | {
    flag.removeprefix("--"): kind
    for flag, kind in KIND_BY_FLAG.items()
    if flag not in (*LIST_FLAGS, WEIGHTS_FLAG)
}
SHORT = {"objective": "model.objective", "head": "model.head"}  # short flags of classes
KEYS_AND_FLAGS = ("model", "ckpt_path", "overwrite", "get")  # flags that are keys of a recipe too
CLASS_KEYS = ("class_path", "init_args", "dict_kwargs", "help")  # settings of every class
SIMILAR = 0.75  # of a misspelt section

# flags of other programs
OTHER_FLAGS = {
    "tasks": "benchmarks",
    "task": "benchmarks",
    "dataset": "benchmarks",
    "datasets": "benchmarks",
    "batch-size": "batch_size",
    "learning_rate": "lr",
}

Setting = tuple[str, Any]


def find_mistake(argv: list[str]) -> str | None:
    """Returns the first mistake in the recipes and flags of a command, or None.

    Args:
        argv: `fit` or `validate`, and its flags.

    Raises:
        ZooError: A recipe does not exist or is not valid YAML, or its captions are missing.
    """
    flags = list(_flags(argv[1:]))
    for name, _ in flags:
        if name in OTHER_FLAGS:
            return f"unknown flag --{name}: use --{OTHER_FLAGS[name]}"
    classes = {BACKBONE_FLAG.removeprefix("--"): BACKBONE}
    recipes = [load_recipe(value) for name, value in flags if name == "config" and value]
    roots = [value for name, value in flags if name == "data_root"]
    for path, settings in recipes:
        source = "--config" if path.lstrip().startswith("{") else path
        for flag in FLAGS:
            if flag.name in settings and flag.name not in KEYS_AND_FLAGS:
                key = f"write {flag.setting}" if flag.setting else "remove it"
                return (
                    f"{source}: {flag.name} is a flag, not a key of a recipe: pass --{flag.name}, "
                    f"or {key}"
                )
        for setting, value in _flatten(settings):
            mistake = (
                _check_reader(setting, value)
                or _check_and_record_class(setting, value, classes)
                or _check_setting(setting, classes)
            )
            if mistake is not None:
                return f"{source}: {mistake}"
    for name, section in (("model", "model.head"), ("benchmarks", "data")):
        if name in dict(flags):  # these flags replace classes of recipes
            classes = {at: path for at, path in classes.items() if not at.startswith(section)}
    class_flags = [(name, value) for name, value in flags if name in KINDS or "." in name]
    mistakes = [_check_reader(name, value) for name, value in class_flags]
    mistakes += [_check_and_record_class(name, value, classes) for name, value in class_flags]
    mistakes += [_check_setting(name, classes) for name, _ in class_flags]
    if any(mistakes):
        return next(filter(None, mistakes))
    if argv[0] == "fit" and not any(name in KINDS or name == "ckpt_path" for name, _ in flags):
        _check_captions(recipes, roots)
    return None


def _flags(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yields the setting and the value of each flag; the value is empty if there is none."""
    for word, following in zip(words, [*words, ""][1:], strict=True):
        if word.startswith("-"):
            name, _, value = word.partition("=")
            name = {"-c": "config"}.get(name, name.lstrip("-").removesuffix("+"))
            first, dot, rest = name.partition(".")
            is_value = not following.startswith("-")
            yield f"{SHORT.get(first, first)}{dot}{rest}", value or following * is_value


def _flatten(settings: dict[Any, Any], above: str = "") -> Iterator[Setting]:
    """Yields the settings of a recipe with the names of their full flags, a class first."""
    for key, value in settings.items():
        name = above if key == "init_args" else f"{above}.{key}".strip(".").removesuffix("+")
        if not isinstance(value, dict) or not value:
            yield name, value
        else:
            if "class_path" in value:
                yield name, value["class_path"]
            yield from _flatten({k: v for k, v in value.items() if k != "class_path"}, name)


def _check_and_record_class(setting: str, value: Any, classes: dict[str, str]) -> str | None:
    """Returns what is wrong with a name of a class, or records the class at its setting."""
    if not isinstance(value, str) or not (setting in KINDS or setting in classes):
        return None
    path = class_paths(KINDS[setting]).get(value, value) if setting in KINDS else value
    classes[setting] = path
    if setting not in KINDS or not path.isidentifier() or path in ("null", "None"):
        return None
    if any(path in class_paths(kind) for kind in BASE_CLASS_BY_KIND):
        return None  # a class of another kind
    kind = KINDS[setting]
    names = {class_path.rpartition(".")[2] for class_path in class_paths(kind).values()}
    return (
        f"{setting}: there is no class {value}{suggest_names(value, sorted(names))}: "
        f"`zoo ls {kind}` lists the names"
    )


def _check_reader(setting: str, value: Any) -> str | None:
    """Returns how to write a file of captions that is given where a reader is expected."""
    if setting not in ("data.train", "data.val"):
        return None
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str) and item not in class_paths("readers") and Path(item).exists():
            from zoo.sources.readers.guess import guess_reader
            from zoo.support.configurable import to_config

            reader = to_config(guess_reader(item))
            arguments = reader["init_args"].items()
            argument = next((name for name, text in arguments if str(text) == item), "file")
            class_name = reader["class_path"].rpartition(".")[2]
            return (
                f"{setting} takes readers, not files: write {{class_path: {class_name}, "
                f"init_args: {{{argument}: {item}}}}}"
            )
    return None


def _check_setting(setting: str, classes: dict[str, str]) -> str | None:
    """Returns what is wrong with the name of a setting."""
    parts = setting.split(".")
    sections = ("model", "data", "trainer")
    if parts[0] not in sections and difflib.get_close_matches(parts[0], sections, 1, SIMILAR):
        known_names = [
            *sections,
            *(f"{s}.{name}" for s in SECTIONS for name in _arguments(*SECTIONS[s])),
        ]
        return f"unknown setting {setting!r}{suggest_names(setting, known_names, n=1)}"
    for depth in range(1, len(parts)):
        above, name = ".".join(parts[:depth]), parts[depth]
        owner = classes.get(above, "")
        known_names = _arguments(*SECTIONS.get(above, (owner,)))
        if not known_names or name in (*known_names, *CLASS_KEYS):
            continue
        if above in SECTIONS:
            names = [f"{above}.{argument}" for argument in known_names]
            return f"unknown setting '{above}.{name}'{suggest_names(f'{above}.{name}', names, n=1)}"
        advice = suggest_names(name, known_names) or f" (it takes {', '.join(known_names)})"
        return f"{above}: {owner} takes no {name!r}{advice}"
    return None


def _arguments(owner: str, passed_on_to: str = "") -> list[str]:
    """Returns the arguments of a class of zoo; empty if they are not certain."""
    return (owner.startswith("zoo.") and parse_class_arguments(owner, passed_on_to)) or []


def _check_captions(recipes: list[tuple[str, dict[str, Any]]], roots: list[str]) -> None:
    """Raises ZooError if the training captions of a shipped recipe are missing."""
    recipe, file = "", ""
    for path, settings in recipes:
        for setting, value in _flatten(settings):
            if setting == "data.train":  # another reader, whose files have other names
                recipe, file = "", ""
            if setting in ("data.train.file", "data.train.path"):
                recipe, file = Path(path).name, str(value)
    if recipe not in shipped_recipes() or DATA_ROOT_PLACEHOLDER not in file:
        return
    if len(roots) != 1 or not roots[0] or not Path(roots[0]).expanduser().is_dir():
        return
    captions = Path(file.replace(DATA_ROOT_PLACEHOLDER, str(Path(roots[0]).expanduser())))
    if not captions.exists():
        raise ZooError(
            f"the training captions of {recipe}, {captions}, do not exist: `zoo doctor --config "
            f"{recipe} --data_root {roots[0]}` shows how to get them. To train on other captions, "
            "add an overlay such as --config flickr8k.yaml"
        )
