"""The parser of `zoo fit` and `zoo validate`: Lightning's, with named recipes and short flags.

A short flag is an argument that sets a setting. It overrides all recipes and is overridden by full
flags, independent of their order on the command line.
"""

import argparse
import os
import re
import sys
from dataclasses import asdict
from itertools import accumulate
from pathlib import Path
from typing import Any

from jsonargparse import ActionConfigFile, Namespace
from lightning.pytorch.cli import LightningArgumentParser

from zoo.checkpoints.exported import OPEN_CLIP
from zoo.checkpoints.files import NAMES, RUNS, find_checkpoint, read_checkpoint, recipe_of
from zoo.checkpoints.model_sources import resolve_model
from zoo.cli.command_parser import empty_value_message
from zoo.cli.flags import FLAGS, Flag
from zoo.cli.library_internals import actions_by_option
from zoo.cli.recipes import (
    DATA_ROOT_PLACEHOLDER,
    load_recipe,
    shipped_recipes,
    to_yaml_compatible_json,
)
from zoo.cli.user_code import trust_classes_in_flags
from zoo.error_translation import shorten_message
from zoo.errors import ZooError, suggest_names
from zoo.familiarity.captions import COCO
from zoo.familiarity.images import TRAINED
from zoo.module import ZooModule
from zoo.support.arguments import split_list
from zoo.support.class_names import class_of, class_paths
from zoo.support.class_paths import reject_untrusted_classes
from zoo.support.configurable import class_path
from zoo.support.trust import trust_names

# the setting that holds the evaluation of a command, and the class of the evaluation
EVALUATION_SETTING = {"fit": "data.init_args.evaluation", "validate": "data"}
EVALUATION_CLASS = {"fit": "Evaluation", "validate": "EvaluationDataModule"}
# what `--model` becomes if it names a scorer of pairs, and a model that is parsed but not built
PAIR_SCORER_FLAG = "--pair_scorer"
PLACEHOLDER_MODEL = ("--model.backbone.name", "zoo-tiny")
LIST_FLAGS = ("benchmarks", "presets")  # flags that name several classes
# the value of a flag that is given without one
DEFAULT_VALUES = {
    "familiar_with": COCO,
    "cache_tokens": "true",
    "exclude_images": TRAINED,
    "fast_images": "true",
    "long": "true",
    "quiet": "true",
    "require": "true",
}
BENCHMARK_FLAGS = {
    "fit": ("out", "presets"),
    "validate": (
        *("out", "presets", *DEFAULT_VALUES, "cache", "reference_models", "limit", "overwrite"),
    ),
}


def order_flags(argv: list[str]) -> list[str]:
    """Returns a command with its flags in order of precedence, the lowest first.

    The order is: the recipe of a checkpoint, recipes, a published model, short flags, full flags.
    Flags of one layer keep the order of the command line.

    Args:
        argv: `fit` or `validate`, and its flags.

    Raises:
        ZooError: A word is given in place of a flag, or the checkpoint cannot be used.
    """
    command, *words = argv
    if words and not words[0].startswith("-"):
        raise ZooError(_missing_flag_message(command, words[0]))
    flags: list[list[str]] = []  # each with its values
    for argument in words:
        if argument.startswith("--") or argument.partition("=")[0] in ("-c", "-h"):
            flags.append([argument])
        else:
            flags[-1].append(argument)
    _refuse_two_models(flags)
    _trust_named_classes(words, flags)
    _refuse_tokens_without_cache(flags)
    flags = [
        _resolve_model_flag(command, flag) if _name(flag) == "--model" else flag for flag in flags
    ]
    _refuse_parts_of_pair_scorer(flags)
    recipe, path = checkpoint_arguments(command, flags)
    ordered = (
        ["--config", flag[1]] if _name(flag) == "--model" else flag
        for flag in sorted(flags, key=_flag_precedence)
    )
    return [command, *recipe, *(a for flag in ordered for a in flag), *path]


def _trust_named_classes(words: list[str], flags: list[list[str]]) -> None:
    """Trusts the classes that flags and recipes name; a recipe may name modules in its folder."""
    trust_classes_in_flags(words)
    for value in (_value(flag) for flag in flags if _name(flag) in ("--config", "-c")):
        if value:
            name, settings = load_recipe(value)
            trust_names(settings, Path(name).parent if os.path.isfile(name) else Path.cwd())


def _resolve_model_flag(command: str, flag: list[str]) -> list[str]:
    """Returns the flag that replaces `--model`: the settings of the model, or its checkpoint.

    `fit` starts from the towers of a checkpoint; it resumes a run by `--ckpt_path`.
    """
    source = resolve_model(_value(flag), "--model")
    if command == "validate" and source.pair_scorer is not None:
        described = to_yaml_compatible_json(asdict(source.pair_scorer))
        return [PAIR_SCORER_FLAG, described, *PLACEHOLDER_MODEL]
    source.refuse_pair_scorer()
    if source.checkpoint is None:
        return ["--model", to_yaml_compatible_json({"model": source.settings})]
    if command == "validate":
        return ["--ckpt_path", str(source.checkpoint)]
    recorded = recipe_of(read_checkpoint(source.checkpoint))["backbone"]["init_args"]
    backbone = {name: recorded.get(name) for name in ("name", "activation", "preprocess")} | {
        "pretrained": str(source.checkpoint)
    }
    return ["--model", to_yaml_compatible_json({"model": {"backbone": backbone}})]


def _refuse_two_models(flags: list[list[str]]) -> None:
    values = {_name(flag): _value(flag) for flag in flags}
    if {"--model", "--ckpt_path"} <= values.keys():
        raise ZooError(
            f"--model {values['--model']} and --ckpt_path {values['--ckpt_path']} both name a "
            "model: remove one of them"
        )


def _refuse_parts_of_pair_scorer(flags: list[list[str]]) -> None:
    """Rejects parts of a model next to a scorer of pairs, which would not be used."""
    names = [_name(flag) for flag in flags]
    parts = [
        name
        for name in names
        if name.partition(".")[0] in ("--model", "--head", "--objective", "--ckpt_path")
    ]
    if PAIR_SCORER_FLAG in names and parts:
        raise ZooError(f"--model names a model that scores pairs by itself: leave out {parts[0]}")


def _refuse_tokens_without_cache(flags: list[list[str]]) -> None:
    values = {_name(flag): _value(flag) for flag in flags}
    if values.get("--cache") == "off" and values.get("--cache_tokens", "false") != "false":
        raise ZooError("--cache off and --cache_tokens contradict each other: remove one of them")


def _flag_precedence(flag: list[str]) -> int:
    """Returns the layer of a flag: 0 for the data root, 1 for recipes, up to 6 for full flags."""
    name, _, argument = _name(flag).lstrip("-").partition(".")
    if argument and name not in LIST_FLAGS:
        return 6
    short = {declared.name: 3 for declared in FLAGS if declared.setting}
    layers = {"data_root": 0, "config": 1, "c": 1, "model": 2, "benchmarks": 3}
    layers |= {
        "presets": 4,
        "out": 4,
        "cache": 5,  # after --cache_tokens, which would turn on a cache that is off
        "reference_models": 4,
        "limit": 4,
        **dict.fromkeys(DEFAULT_VALUES, 4),
    }
    return (short | layers).get(name, 6)


def _name(flag: list[str]) -> str:
    return flag[0].partition("=")[0]


def _value(flag: list[str]) -> str:
    return " ".join(flag[1:2]) or flag[0].partition("=")[2]


def _missing_flag_message(command: str, word: str) -> str:
    """Returns the error message for a word in place of a flag, with the probable flag."""
    flag = "--benchmarks" if command == "validate" else "--config"
    if word.endswith((".yaml", ".yml")) or f"{word}.yaml" in shipped_recipes():
        flag = "--config"
    return (
        f"`zoo {command} {word}` has no flag before {word}: "
        f"write `zoo {command} {flag} {word}` (`zoo {command} --help` lists the flags)"
    )


def checkpoint_arguments(command: str, flags: list[list[str]]) -> tuple[list[str], list[str]]:
    """Returns the arguments that a checkpoint adds: its recipe, of lowest precedence, and its path.

    `last` and `best` are left to `fit`, which finds them by recipe and data.

    Args:
        command: `fit` or `validate`.
        flags: The flags with their values.

    Returns:
        The arguments that come first, and those that come last.

    Raises:
        ZooError: `fit` is to resume a checkpoint without an optimizer state, the checkpoint cannot
            be read, or it names a class that is not trusted.
    """
    paths_given = [
        _value(flag) for flag in flags if _name(flag) == "--ckpt_path" and flag[0] != flag[-1]
    ]
    if not paths_given or (command == "fit" and paths_given[-1] in NAMES):
        return [], []
    path = find_checkpoint(paths_given[-1], runs_folder(flags))
    checkpoint = read_checkpoint(path)
    if command == "fit" and "optimizer_states" not in checkpoint:
        weights = path / OPEN_CLIP if path.is_dir() else path
        advice = f"start a new run from its weights with --model.backbone.pretrained {weights}"
        if not weights.exists():
            advice = (
                "export the run for open_clip (`--format open_clip`), and start a new run from the "
                "export with --model.backbone.pretrained"
            )
        raise ZooError(f"--ckpt_path {path} has no optimizer state to resume from: {advice}")
    recipe = recipe_of(checkpoint)
    reject_untrusted_classes(recipe, ZooModule, str(path), "--model")
    return ["--config", to_yaml_compatible_json({"model": recipe})], ["--ckpt_path", str(path)]


def runs_folder(flags: list[list[str]]) -> Path:
    """Returns the folder in which the logger of these flags saves its runs.

    The last recipe or flag that names it counts. The default is `runs`.
    """
    folder = RUNS
    for flag in flags:
        if _name(flag) in ("--config", "-c"):
            logger = (load_recipe(_value(flag))[1].get("trainer") or {}).get("logger")
            if isinstance(logger, dict):
                folder = Path(logger.get("init_args", {}).get("save_dir", folder))
        elif _name(flag) in ("--trainer.logger.save_dir", "--trainer.logger.init_args.save_dir"):
            folder = Path(_value(flag))
    return folder


class RecipeAction(ActionConfigFile):  # type: ignore[misc]
    """Loads a recipe by name, and fills in the data root."""

    def __call__(
        self, parser: "ZooParser", settings: Namespace, value: str, option: str | None = None
    ) -> None:
        """Applies the recipe to the settings, and records it."""
        text, recipe = load_recipe(value, parser.data_roots)
        super().__call__(parser, settings, text, option)
        parser.recipes.append(recipe)


class DataRootAction(argparse.Action):
    """The folder of images, captions and annotations, for recipes and benchmarks."""

    def __call__(self, parser: Any, settings: Any, value: Any, option: str | None = None) -> None:
        """Records the data roots; a repeated flag adds more.

        Raises:
            ZooError: Several are given, and the command takes only one.
        """
        parser.data_roots = list(dict.fromkeys([*parser.data_roots, *value]))
        if self.nargs == 1 and len(parser.data_roots) > 1:
            raise ZooError(
                f"--data_root is given as {' and as '.join(parser.data_roots)}, but fit takes "
                "only one: list additional folders of images as `image_roots` in the YAML"
            )


class ShortFlag(argparse.Action):
    """A short flag that sets a setting.

    An argument of the class that it names, such as `--objective.foils`, is set as well.

    Args:
        option_strings: As in argparse.
        dest: As in argparse.
        flag: The flag.
        **given: Further arguments of argparse.
    """

    def __init__(self, option_strings: list[str], dest: str, flag: Flag, **given: Any) -> None:
        super().__init__(option_strings, dest, help=flag.help, metavar=flag.metavar, **given)
        self.flag = flag

    def __call__(self, parser: Any, settings: Any, value: Any, option: str | None = None) -> None:
        """Sets the setting to the value."""
        setting, argument = self.setting(parser), (option or "").partition(".")[2]
        if argument:
            parser.pass_value(settings, f"{setting}.{argument}", value)
        else:
            parser.apply_value(settings, setting, self.parse_value(value))

    def setting(self, parser: "ZooParser") -> str:
        """Returns the dotted name of the setting; that of the evaluation depends on the command."""
        return (
            self.flag.setting or f"{EVALUATION_SETTING[parser.command]}.init_args.{self.flag.name}"
        )

    def parse_value(self, value: str) -> Any:
        """Parses the text of a value.

        Raises:
            argparse.ArgumentError: The text is not a valid value.
        """
        try:
            return self.flag.type(value)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error
        except ValueError as error:
            kind = self.flag.type.__name__
            raise argparse.ArgumentError(self, f"invalid {kind} value: {value!r}") from error


class ClassListFlag(ShortFlag):
    """A flag that names classes, as a list or repeated, each followed by its arguments.

    `--presets strict,my.Preset --presets.least 3` sets an argument of the last class.
    """

    has_names = False

    def __call__(self, parser: Any, settings: Any, value: Any, option: str | None = None) -> None:
        """Adds classes to those of this command, or sets an argument of the last one."""
        setting = self.setting(parser)
        if "." in (option or ""):
            if not self.has_names:
                raise ZooError(
                    f"{option} sets an argument of the preceding --{self.flag.name}, which is "
                    f"missing: write --{self.flag.name} NAME {option} {value}"
                )
            self._replace_last_name_by_path(settings[setting], option)
            super().__call__(parser, settings, value, option)
        elif self.has_names:
            for name in split_list(value, f"--{self.flag.name}"):
                parser.pass_value(settings, f"{setting}+", name)
        else:
            self.replace_recipe_classes(parser, settings, split_list(value, f"--{self.flag.name}"))
            self.has_names = True

    def replace_recipe_classes(self, parser: Any, settings: Any, names: list[str]) -> None:
        """Replaces the names of recipes by the first names given."""
        parser.apply_value(settings, self.setting(parser), names)

    def _replace_last_name_by_path(self, named: list[Any], option: str | None) -> None:
        """Replaces the name of the last class by its path, so that it takes arguments."""
        name = named[-1]
        if not isinstance(name, str):
            return
        class_name = name.partition(":")[0]
        if class_name != name and class_name in class_paths(self.flag.name):
            raise ZooError(
                f"{option} cannot be combined with the arguments after the colon in {name}: give "
                f"the name alone, as in --{self.flag.name} {class_name} {option} VALUE"
            )
        named[-1] = class_path(class_of(name, self.flag.name, object))


class BenchmarksFlag(ClassListFlag):
    """The benchmarks: the data of `validate`, or the evaluation during `fit`."""

    def replace_recipe_classes(self, parser: Any, settings: Any, names: list[str]) -> None:
        """Replaces the evaluation of recipes by one on these benchmarks."""
        arguments: dict[str, Any] = {"benchmarks": names}
        if parser.data_roots:
            arguments["data_root"] = parser.data_roots
        if parser.command == "validate" and "--overwrite" in parser.args:
            arguments["overwrite"] = True
        evaluation = {"class_path": EVALUATION_CLASS[parser.command], "init_args": arguments}
        parser.apply_value(settings, EVALUATION_SETTING[parser.command], evaluation)


ACTIONS: dict[str, type[ShortFlag]] = {
    **dict.fromkeys(("out", "cache", "reference_models", "limit", *DEFAULT_VALUES), ShortFlag),
    "benchmarks": BenchmarksFlag,
    "presets": ClassListFlag,
}


class ZooParser(LightningArgumentParser):
    """Lightning's parser, with short flags and one-line errors with suggestions.

    Args:
        *given: Arguments of Lightning's parser.
        command: `fit` or `validate`; empty for the parser of both.
        **named: Keyword arguments of Lightning's parser.

    Attributes:
        data_roots: The data roots that were given.
        recipes: The recipes that were given.
    """

    def __init__(self, *given: Any, command: str = "", **named: Any) -> None:
        super().__init__(*given, **named)
        self.command, self.data_roots = command, list[str]()
        self.recipes: list[dict[str, Any]] = []
        self.register("action", ActionConfigFile, RecipeAction)
        unstored = {"dest": argparse.SUPPRESS, "default": argparse.SUPPRESS}
        for flag in (flag for flag in FLAGS if command in flag.commands):
            action = ACTIONS.get(flag.name, ShortFlag if flag.setting else None)
            if action is not None:
                aliases = ["--preset"] if flag.name == "presets" else []
                added_action = self.add_argument(
                    f"--{flag.name}", *aliases, action=action, flag=flag, **unstored
                )
                if flag.name in DEFAULT_VALUES:
                    added_action.nargs, added_action.const = "?", DEFAULT_VALUES[flag.name]
            elif flag.name == "data_root":
                many = "+" if command == "validate" else 1
                self.add_argument(
                    "--data_root",
                    action=DataRootAction,
                    nargs=many,
                    metavar=flag.metavar,
                    help=flag.help,
                    **unstored,
                )

    def parse_args(self, args: Any = None, *others: Any, **named: Any) -> Namespace:
        """Parses arguments, and restores null, which jsonargparse turns into None within a group.

        Raises:
            ZooError: A flag has an empty value, needs benchmarks and none are named, or the recipes
                need a data root and none is given.
        """
        if (message := empty_value_message(args or ())) is not None:
            raise ZooError(message)
        for argument in args or ():
            option = argument.partition("=")[0]
            flag = actions_by_option(self).get(option.partition(".")[0])
            if isinstance(flag, ShortFlag):  # its flag handles the arguments of a class
                actions_by_option(self)[option] = flag
        self._refuse_without_benchmarks({argument.partition("=")[0] for argument in args or ()})
        if args is not None:
            args = [re.sub("^(--[^=]+)=None$", r"\1=null", argument) for argument in args]
        settings: Namespace = super().parse_args(args, *others, **named)
        path = re.search(re.escape(DATA_ROOT_PLACEHOLDER) + "[^'\"]*", str(settings))
        if path is not None:
            raise ZooError(f"the recipe reads {path[0]}: set ${{data_root}} with --data_root DIR")
        return settings

    def _refuse_without_benchmarks(self, options: set[str]) -> None:
        benchmark_flags = BENCHMARK_FLAGS.get(self.command, ())
        actions = actions_by_option(self)
        orphans = [
            name for name in benchmark_flags if options & {*actions[f"--{name}"].option_strings}
        ]
        if orphans and "--benchmarks" not in options:
            flag_setting = next(flag.setting for flag in FLAGS if flag.name == orphans[0])
            setting = flag_setting or f"{EVALUATION_SETTING[self.command]}.{orphans[0]}"
            raise ZooError(
                f"--{orphans[0]} requires --benchmarks: name benchmarks, "
                f"or set --{setting.replace('.init_args', '')}"
            )

    def apply_value(self, settings: Namespace, setting: str, value: Any) -> None:
        """Sets a setting to a value, as a recipe does.

        Args:
            settings: The settings parsed so far.
            setting: The dotted name of the setting.
            value: The value, in the form of a recipe.
        """
        for name in reversed(setting.split(".")):
            value = {name: value}
        ActionConfigFile.apply_config(self, settings, "config", to_yaml_compatible_json(value))

    def pass_value(self, settings: Namespace, setting: str, value: str) -> None:
        """Passes a value to the full flag of a setting, or to the flag of its class.

        Args:
            settings: The settings parsed so far.
            setting: The dotted name of the setting.
            value: The text of the value.
        """
        full_name = setting.replace(".init_args", "")
        candidates = [f"--{start}" for start in accumulate(full_name.split("."), "{}.{}".format)]
        actions = (actions_by_option(self).get(start) for start in reversed(candidates))
        next(filter(None, actions))(self, settings, value, f"--{full_name}")

    def add_class_arguments(self, *given: Any, **named: Any) -> list[str]:
        """Adds the arguments of a class, without reading values from files that they name.

        An argument may accept a class or a path of weights; only `--config` reads YAML.
        """
        added: list[str] = super().add_class_arguments(*given, **{**named, "sub_configs": False})
        return added

    def error(self, message: str, ex: Exception | None = None) -> None:
        """Prints an error in one line with suggestions, and exits with status 2.

        If `exit_on_error` is false, it raises as jsonargparse does.
        """
        if not self.exit_on_error:
            super().error(message, ex)
        unknown = re.search(r"nrecognized arguments: --(\w+)(?![\w.])", message)
        advice = suggest_names(unknown[1], [flag.name for flag in FLAGS]) if unknown else ""
        print(
            f"zoo: {message}{advice}" if advice else f"zoo: {shorten_message(message)}",
            file=sys.stderr,
        )
        sys.exit(2)
