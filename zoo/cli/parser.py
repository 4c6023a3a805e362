"""The parser of `zoo fit` and `zoo validate`: Lightning's, with recipes by name and short flags.

A short flag is declared as an argument that stands for a setting. It lies over all recipes and
below whole flags, wherever it is typed.
"""

import argparse
import os
import re
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any

from jsonargparse import ActionConfigFile, Namespace
from lightning.pytorch.cli import LightningArgumentParser

from zoo.backbones.catalogue.model import settings as settings_of_model
from zoo.checkpoints.exported import OPEN_CLIP
from zoo.checkpoints.files import NAMES, RUNS, find_checkpoint, read_checkpoint, recipe_of
from zoo.cli.flags import FLAGS, Flag
from zoo.cli.recipes import as_yaml, load_recipe, refuse_nested, shipped_recipes
from zoo.cli.user_code import trust_flags
from zoo.errors import ZooError, suggest_names
from zoo.familiarity.captions import COCO
from zoo.familiarity.images import TRAINED
from zoo.mistakes import sentence
from zoo.module import ZooModule
from zoo.support.arguments import empty, split_list
from zoo.support.class_paths import refuse_code
from zoo.support.names import class_of, paths
from zoo.support.spec import class_path
from zoo.support.trust import trust_names

# where a command keeps what it measures, and the class that measures
EVALUATION = {"fit": "data.init_args.evaluation", "validate": "data"}
EVALUATED_BY = {"fit": "Evaluation", "validate": "EvaluationDataModule"}
LISTS = ("benchmarks", "presets")  # flags that name several classes
# what a flag means that stands alone
ALONE = {
    "familiar_with": COCO,
    "cache_tokens": "true",
    "exclude_images": TRAINED,
    "fast_images": "true",
    "long": "true",
    "require": "true",
}
OF_BENCHMARKS = {
    "fit": ("out", "presets"),
    "validate": ("out", "presets", *ALONE, "cache", "beside", "overwrite"),
}


def order_flags(argv: list[str]) -> list[str]:
    """Returns a command with its flags in the order in which they lie over each other.

    That is the recipe of a checkpoint, recipes, a published model, short flags, whole flags. Those
    of one layer stay as they are typed.

    Args:
        argv: `fit` or `validate`, and its flags.

    Raises:
        ZooError: A word stands where a flag is wanted, or the checkpoint cannot be taken.
    """
    command, *after = argv
    if after and not after[0].startswith("-"):
        raise ZooError(_suggest_flag(command, after[0]))
    flags: list[list[str]] = []  # each with its values
    for argument in after:
        if argument.startswith("--") or argument.partition("=")[0] in ("-c", "-h"):
            flags.append([argument])
        else:
            flags[-1].append(argument)
    _refuse_two_models(flags)
    _trust_named_classes(after, flags)
    _refuse_tokens_of_no_cache(flags)
    recipe, path = checkpoint_of(command, flags)
    by_layer = sorted(flags, key=_layer)
    ordered = (_published_recipe(flag) if _name(flag) == "--model" else flag for flag in by_layer)
    return [command, *recipe, *(a for flag in ordered for a in flag), *path]


def _trust_named_classes(words: list[str], flags: list[list[str]]) -> None:
    """Trusts the classes that flags and recipes name, which may lie beside their recipe too."""
    trust_flags(words)
    for value in (_value(flag) for flag in flags if _name(flag) in ("--config", "-c")):
        if value:
            name, settings = load_recipe(value, None)
            trust_names(settings, Path(name).parent if os.path.isfile(name) else Path.cwd())


def _published_recipe(flag: list[str]) -> list[str]:
    """Returns the recipe of the published model that a flag names, as a flag."""
    return ["--config", as_yaml({"model": settings_of_model(_value(flag), "--model")})]


def _refuse_two_models(flags: list[list[str]]) -> None:
    given = {_name(flag): _value(flag) for flag in flags}
    if {"--model", "--ckpt_path"} <= given.keys():
        raise ZooError(
            f"--model {given['--model']} and --ckpt_path {given['--ckpt_path']} both name a model: "
            "leave one out"
        )


def _refuse_tokens_of_no_cache(flags: list[list[str]]) -> None:
    given = {_name(flag): _value(flag) for flag in flags}
    if given.get("--cache") == "off" and given.get("--cache_tokens", "false") != "false":
        raise ZooError("--cache off keeps nothing, and --cache_tokens keeps tokens: leave one out")


def _layer(flag: list[str]) -> int:
    """Returns the layer of a flag: 0 for the data root, 1 for recipes, up to 5 for whole flags."""
    name, _, argument = _name(flag).lstrip("-").partition(".")
    if argument and name not in LISTS:
        return 5
    short = {known.name: 3 for known in FLAGS if known.setting}
    layers = {"data_root": 0, "config": 1, "c": 1, "model": 2, "benchmarks": 3}
    layers |= {"presets": 4, "out": 4, "cache": 4, "beside": 4, **dict.fromkeys(ALONE, 4)}
    return (short | layers).get(name, 5)


def _name(flag: list[str]) -> str:
    return flag[0].partition("=")[0]


def _value(flag: list[str]) -> str:
    return " ".join(flag[1:2]) or flag[0].partition("=")[2]


def _suggest_flag(command: str, word: str) -> str:
    """Returns what was probably meant by a word that stands where a flag is wanted."""
    flag = "--benchmarks" if command == "validate" else "--config"
    if word.endswith((".yaml", ".yml")) or f"{word}.yaml" in shipped_recipes():
        flag = "--config"
    return (
        f"`zoo {command} {word}` names {word} without a flag: "
        f"write `zoo {command} {flag} {word}` (`zoo {command} --help` shows all)"
    )


def checkpoint_of(command: str, flags: list[list[str]]) -> tuple[list[str], list[str]]:
    """Returns what a checkpoint adds: its recipe, which all else lies over, and its path.

    `last` and `best` stay for `fit`, which looks them up by recipe and data.

    Args:
        command: `fit` or `validate`.
        flags: The flags with their values.

    Returns:
        The arguments that come first, and those that come last.

    Raises:
        ZooError: `fit` is to go on from a checkpoint without an optimiser, it cannot be read, or
            it names a class that is not trusted.
    """
    given = [_value(flag) for flag in flags if _name(flag) == "--ckpt_path" and flag[0] != flag[-1]]
    if not given or (command == "fit" and given[-1] in NAMES):
        return [], []
    path = find_checkpoint(given[-1], runs_folder(flags))
    checkpoint = read_checkpoint(path)
    if command == "fit" and "optimizer_states" not in checkpoint:
        weights = path / OPEN_CLIP if path.is_dir() else path
        mend = f"start anew from its weights by --model.backbone.pretrained {weights}"
        if not weights.exists():
            mend = (
                "export the run for open_clip (`--format open_clip`), and start anew from that "
                "by --model.backbone.pretrained"
            )
        raise ZooError(f"--ckpt_path {path} holds no optimiser to go on with: {mend}")
    recipe = recipe_of(checkpoint)
    refuse_code(recipe, ZooModule, str(path), "--model")
    return ["--config", as_yaml({"model": recipe})], ["--ckpt_path", str(path)]


def runs_folder(flags: list[list[str]]) -> Path:
    """Returns the folder in which the logger of these flags keeps its runs.

    The last recipe or flag that names it counts. It is `runs` where none does.
    """
    folder = RUNS
    for flag in flags:
        if _name(flag) in ("--config", "-c"):
            logger = (load_recipe(_value(flag), None)[1].get("trainer") or {}).get("logger")
            if isinstance(logger, dict):
                folder = Path(logger.get("init_args", {}).get("save_dir", folder))
        elif _name(flag) in ("--trainer.logger.save_dir", "--trainer.logger.init_args.save_dir"):
            folder = Path(_value(flag))
    return folder


class Recipe(ActionConfigFile):  # type: ignore[misc]
    """A recipe by its name, whose place for the data root is filled."""

    def __call__(
        self, parser: "ZooParser", settings: Namespace, value: str, option: str | None = None
    ) -> None:
        """Lays the recipe over the settings, and remembers it."""
        text, recipe = load_recipe(value, parser.data_roots)
        super().__call__(parser, settings, text, option)
        parser.recipes.append(recipe)


class DataRoot(argparse.Action):
    """Where images, captions and annotations lie, which recipes and benchmarks are told."""

    def __call__(self, parser: Any, settings: Any, value: Any, option: str | None = None) -> None:
        """Remembers the data roots; given again, it adds.

        Raises:
            ZooError: There are several, and the command takes one.
        """
        parser.data_roots = list(dict.fromkeys([*parser.data_roots, *value]))
        if self.nargs == 1 and len(parser.data_roots) > 1:
            raise ZooError(
                f"--data_root is given as {' and as '.join(parser.data_roots)}, and fit takes one: "
                "list further folders of images as `image_roots` in its YAML"
            )


class Short(argparse.Action):
    """A flag that stands for a setting.

    An argument of the class that it names, as `--objective.foils`, is one of the setting.

    Args:
        option_strings: As argparse has it.
        dest: As argparse has it.
        flag: The flag.
        **given: argparse's.
    """

    def __init__(self, option_strings: list[str], dest: str, flag: Flag, **given: Any) -> None:
        super().__init__(option_strings, dest, help=flag.says, metavar=flag.shown, **given)
        self.flag = flag

    def __call__(self, parser: Any, settings: Any, value: Any, option: str | None = None) -> None:
        """Lays the value over the setting."""
        setting, argument = self.setting(parser), (option or "").partition(".")[2]
        if argument:
            parser.hand_on(settings, f"{setting}.{argument}", value)
        else:
            parser.lay(settings, setting, self.parse_value(value))

    def setting(self, parser: "ZooParser") -> str:
        """Returns the dotted name of the setting; what is measured is another in each command."""
        return self.flag.setting or f"{EVALUATION[parser.command]}.init_args.{self.flag.name}"

    def parse_value(self, value: str) -> Any:
        """Returns the value of a text.

        Raises:
            argparse.ArgumentError: It is none.
        """
        try:
            return self.flag.type(value)
        except argparse.ArgumentTypeError as error:
            raise argparse.ArgumentError(self, str(error)) from error
        except ValueError as error:
            kind = self.flag.type.__name__
            raise argparse.ArgumentError(self, f"invalid {kind} value: {value!r}") from error


class Classes(Short):
    """A flag that names classes, several at once or given again, each with arguments behind it.

    `--presets strict,my.Preset --presets.least 3` gives the last class its argument.
    """

    begun = False

    def __call__(self, parser: Any, settings: Any, value: Any, option: str | None = None) -> None:
        """Adds classes to those of this command, or gives the last of them an argument."""
        setting = self.setting(parser)
        if "." in (option or ""):
            if not self.begun:
                raise ZooError(
                    f"{option} is an argument of what --{self.flag.name} names, which does not "
                    f"stand before it: write --{self.flag.name} NAME {option} {value}"
                )
            self._name_class(settings[setting], option)
            super().__call__(parser, settings, value, option)
        elif self.begun:
            for name in split_list(value, f"--{self.flag.name}"):
                parser.hand_on(settings, f"{setting}+", name)
        else:
            self.begin(parser, settings, split_list(value, f"--{self.flag.name}"))
            self.begun = True

    def begin(self, parser: Any, settings: Any, names: list[str]) -> None:
        """Lays the first names over those of recipes."""
        parser.lay(settings, self.setting(parser), names)

    def _name_class(self, named: list[Any], option: str | None) -> None:
        """Names the last class by its path, so that it takes arguments."""
        name = named[-1]
        if not isinstance(name, str):
            return
        before = name.partition(":")[0]
        if before != name and before in paths(self.flag.name):
            raise ZooError(
                f"{option} is given to {name}, whose arguments stand behind its colon: name the "
                f"class alone, as in --{self.flag.name} {before} {option} VALUE"
            )
        named[-1] = class_path(class_of(name, self.flag.name, object))


class Benchmarks(Classes):
    """What is measured: by `validate` as its data, by `fit` beside its data."""

    def begin(self, parser: Any, settings: Any, names: list[str]) -> None:
        """Lays a measurement over what recipes measure."""
        arguments: dict[str, Any] = {"benchmarks": names}
        if parser.data_roots:
            arguments["data_root"] = parser.data_roots
        if parser.command == "validate" and "--overwrite" in parser.args:
            arguments["overwrite"] = True
        by = {"class_path": EVALUATED_BY[parser.command], "init_args": arguments}
        parser.lay(settings, EVALUATION[parser.command], by)


ACTIONS: dict[str, type[Short]] = {
    **dict.fromkeys(("out", "cache", "beside", *ALONE), Short),
    "benchmarks": Benchmarks,
    "presets": Classes,
}


class ZooParser(LightningArgumentParser):
    """Lightning's parser, with the flags that people use and errors of one line with near names.

    Args:
        *given: Lightning's.
        command: `fit` or `validate`; empty for the parser over both.
        **named: Lightning's.

    Attributes:
        data_roots: The data roots that were given.
        recipes: The recipes that were given.
    """

    def __init__(self, *given: Any, command: str = "", **named: Any) -> None:
        super().__init__(*given, **named)
        self.command, self.data_roots = command, list[str]()
        self.recipes: list[dict[str, Any]] = []
        self.register("action", ActionConfigFile, Recipe)
        nowhere = {"dest": argparse.SUPPRESS, "default": argparse.SUPPRESS}  # in the settings
        for flag in (flag for flag in FLAGS if command in flag.commands):
            action = ACTIONS.get(flag.name, Short if flag.setting else None)
            if action is not None:
                also = ["--preset"] if flag.name == "presets" else []
                added = self.add_argument(
                    f"--{flag.name}", *also, action=action, flag=flag, **nowhere
                )
                if flag.name in ALONE:
                    added.nargs, added.const = "?", ALONE[flag.name]
            elif flag.name == "data_root":
                many = "+" if command == "validate" else 1
                self.add_argument(
                    "--data_root",
                    action=DataRoot,
                    nargs=many,
                    metavar=flag.shown,
                    help=flag.says,
                    **nowhere,
                )

    def parse_args(self, args: Any = None, *others: Any, **named: Any) -> Namespace:
        """Parses; the null of an argument within a group is null, which jsonargparse makes None.

        Raises:
            ZooError: A flag is of benchmarks, and none is named, or a value nests too deep.
        """
        if (message := empty(args or ())) is not None:
            raise ZooError(message)
        for argument in args or ():
            refuse_nested(argument)
            option = argument.partition("=")[0]
            flag = self._option_string_actions.get(option.partition(".")[0])
            if isinstance(flag, Short):  # an argument of a class is its flag's
                self._option_string_actions[option] = flag
        self._refuse_without_benchmarks({argument.partition("=")[0] for argument in args or ()})
        if args is not None:
            args = [re.sub("^(--[^=]+)=None$", r"\1=null", argument) for argument in args]
        settings: Namespace = super().parse_args(args, *others, **named)
        return settings

    def _refuse_without_benchmarks(self, options: set[str]) -> None:
        own = OF_BENCHMARKS.get(self.command, ())
        actions = self._option_string_actions
        lost = [name for name in own if options & {*actions[f"--{name}"].option_strings}]
        if lost and "--benchmarks" not in options:
            own_setting = next(flag.setting for flag in FLAGS if flag.name == lost[0])
            setting = own_setting or f"{EVALUATION[self.command]}.{lost[0]}"
            raise ZooError(
                f"--{lost[0]} is of --benchmarks, which is not given: name benchmarks, "
                f"or set --{setting.replace('.init_args', '')}"
            )

    def lay(self, settings: Namespace, setting: str, value: Any) -> None:
        """Lays a value over a setting, as a recipe does.

        Args:
            settings: What was parsed so far.
            setting: The dotted name of the setting.
            value: The value, as a recipe holds it.
        """
        for name in reversed(setting.split(".")):
            value = {name: value}
        ActionConfigFile.apply_config(self, settings, "config", as_yaml(value))

    def hand_on(self, settings: Namespace, setting: str, value: str) -> None:
        """Gives a value to the whole flag of a setting, or of the class whose setting it is.

        Args:
            settings: What was parsed so far.
            setting: The dotted name of the setting.
            value: The value, as it is typed.
        """
        whole = setting.replace(".init_args", "")
        starts = [f"--{start}" for start in accumulate(whole.split("."), "{}.{}".format)]
        actions = (self._option_string_actions.get(start) for start in reversed(starts))
        next(filter(None, actions))(self, settings, value, f"--{whole}")

    def add_class_arguments(self, *given: Any, **named: Any) -> list[str]:
        """Adds a class's arguments, of which none is read from a file that its value names.

        A path of weights is a value of an argument that may name a class as well; `--config` is
        what reads YAML.
        """
        added: list[str] = super().add_class_arguments(*given, **{**named, "sub_configs": False})
        return added

    def error(self, message: str, ex: Exception | None = None) -> None:
        """Prints a wrong argument in one line with near names, and ends with status 2.

        Where `exit_on_error` is false, it raises as jsonargparse does.
        """
        if not self.exit_on_error:
            super().error(message, ex)
        unknown = re.search(r"nrecognized arguments: --(\w+)", message)
        mend = suggest_names(unknown[1], [flag.name for flag in FLAGS]) if unknown else ""
        print(f"zoo: {message}{mend}" if mend else f"zoo: {sentence(message)}", file=sys.stderr)
        sys.exit(2)
