"""The short flags of `zoo fit` and `zoo validate`, and the settings that they stand for."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from zoo.cli.recipes import shipped_recipes
from zoo.errors import ZooError
from zoo.support.arguments import Parser, listed, whole_number

BOTH = ("fit", "validate")
OF_BENCHMARKS = ("out", "presets", "overwrite")


@dataclass(frozen=True)
class Flag:
    """A flag that people use, and the setting that it stands for.

    Args:
        name: Without the dashes.
        shown: What stands for its value in the help.
        says: What it does, in a line.
        setting: The dotted name of the setting; empty where code reads the flag itself.
        type: Makes the value of the text.
        commands: The commands that take it.
    """

    name: str
    shown: str
    says: str
    setting: str = ""
    type: Callable[[str], Any] = str
    commands: tuple[str, ...] = BOTH


def named_class(text: str) -> dict[str, Any]:
    """Returns a class as a recipe names one."""
    return {"class_path": text}


def count_or_name(text: str) -> int | str:
    """Returns a whole number as such, and anything else, as `auto`, as it is."""
    return int(text) if text.isdecimal() else text


FLAGS = (
    Flag(
        "config",
        "NAME",
        "a recipe or an overlay, shipped (`zoo ls configs`) or a file; a later one wins",
    ),
    Flag("data_root", "DIR", "where images, captions and annotations lie"),
    Flag("objective", "NAME", "the loss (`zoo ls objectives`)", "model.objective", named_class),
    Flag("head", "NAME", "how pairs are scored (`zoo ls heads`)", "model.head", named_class),
    Flag("lr", "NUMBER", "the peak learning rate", "model.optimizer.lr", float, ("fit",)),
    Flag(
        "batch_size",
        "N",
        "captions a step, over all devices",
        "data.init_args.batch_size",
        whole_number(1),
        ("fit",),
    ),
    Flag(
        "epochs",
        "N",
        "passes over the captions",
        "trainer.max_epochs",
        whole_number(1),
        ("fit",),
    ),
    Flag("devices", "N", "how many GPUs or processes, or auto", "trainer.devices", count_or_name),
    Flag(
        "ckpt_path",
        "RUN",
        "a run's folder, a checkpoint, `last` or `best`: gone on from, or measured",
    ),
    Flag(
        "benchmarks",
        "A,B",
        "what is measured (`zoo ls benchmarks`); by fit, at every validation",
    ),
    Flag("out", "DIR", "where results.json and cases.parquet go"),
    Flag("presets", "A,B", "ways of counting (`zoo ls presets`), official where none is named"),
    Flag("overwrite", "", "write over the results of a run or a measurement"),
)


def spelled_out(argv: Sequence[str]) -> tuple[list[str], list[str], str | None]:
    """Spells the short flags out as a recipe that lies over those that are named.

    Args:
        argv: The command and its arguments.

    Returns:
        The arguments without the short flags, the data roots, and what `--ckpt_path` names.

    Raises:
        ZooError: A flag is of benchmarks, and none is named.
    """
    command, after = argv[0], [_whole(argument) for argument in argv[1:]]
    parser = Parser(f"zoo {command}", add_help=False, argument_default=argparse.SUPPRESS)
    parser.add_argument("--data_root", nargs="+" if command == "validate" else 1, default=[])
    parser.add_argument("--overwrite", action="store_true")
    parser.add_argument("--ckpt_path", default=None)
    for flag in (flag for flag in FLAGS if command in flag.commands):
        if flag.setting or flag.name in ("benchmarks", "out", "presets"):
            also = ["--preset"] if flag.name == "presets" else []
            parser.add_argument(f"--{flag.name}", *also, type=flag.type)
    given, rest = parser.parse_known_args(after)
    if rest and not rest[0].startswith("-") and argv[1] == rest[0]:
        raise ZooError(_meant(command, rest[0]))
    short = vars(given)
    recipe: dict[str, Any] = {}
    for flag in FLAGS:
        if flag.setting and flag.name in short:
            _put(recipe, flag.setting, short[flag.name])
    if command == "fit" and short.pop("overwrite", False):
        rest.append("--overwrite")
    if "benchmarks" in short:
        _measure(recipe, command, short)
    elif lost := [name for name in OF_BENCHMARKS if name in short]:
        raise ZooError(
            f"--{lost[0]} is of --benchmarks, which is not given: name benchmarks, "
            f"or set --data.evaluation.{lost[0]}"
        )
    if recipe:
        at = _after_configs(rest)
        rest[at:at] = ["--config", json.dumps(recipe)]
    return [command, *rest], short["data_root"], short["ckpt_path"]


def _meant(command: str, word: str) -> str:
    """Returns what was probably meant by a word that stands where a flag is wanted."""
    flag = "--benchmarks" if command == "validate" else "--config"
    if word.endswith((".yaml", ".yml")) or f"{word}.yaml" in shipped_recipes():
        flag = "--config"
    return (
        f"`zoo {command} {word}` names {word} without a flag: "
        f"write `zoo {command} {flag} {word}` (`zoo {command} --help` shows all)"
    )


def _whole(argument: str) -> str:
    """Returns an argument of an objective or a head under its whole name."""
    return (
        f"--model.{argument[2:]}" if argument.startswith(("--objective.", "--head.")) else argument
    )


def _put(recipe: dict[str, Any], setting: str, value: Any) -> None:
    *above, name = setting.split(".")
    for part in above:
        recipe = recipe.setdefault(part, {})
    recipe[name] = value


def _measure(recipe: dict[str, Any], command: str, short: dict[str, Any]) -> None:
    """Puts what is measured into a recipe: as the data of `validate`, beside those of `fit`."""
    settings: dict[str, Any] = {"benchmarks": listed(short["benchmarks"], "--benchmarks")}
    if short["data_root"]:
        settings["data_root"] = short["data_root"]
    if "presets" in short:
        settings["presets"] = listed(short["presets"], "--presets")
    settings |= {name: short[name] for name in ("out", "overwrite") if name in short}
    if command == "validate":
        recipe["data"] = {"class_path": "EvaluationDataModule", "init_args": settings}
    else:
        _put(
            recipe, "data.init_args.evaluation", {"class_path": "Evaluation", "init_args": settings}
        )


def _after_configs(arguments: Sequence[str]) -> int:
    """Returns the place behind the last recipe that is named."""
    ends = [
        i + (1 if "=" in argument else 2)
        for i, argument in enumerate(arguments)
        if argument.partition("=")[0] in ("--config", "-c")
    ]
    return max(ends, default=0)
