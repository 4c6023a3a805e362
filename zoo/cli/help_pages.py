"""`zoo fit --help` and `zoo validate --help`: help pages, and the arguments of named classes."""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

from docstring_parser import parse
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from zoo.cli.flags import FLAGS
from zoo.support.class_names import BACKBONE, class_of, class_paths, import_path

DESCRIPTIONS = {
    "fit": "Train a model (backbone, head and objective) on captions and their images.",
    "validate": "Evaluate a model on benchmarks, and save the result of every case.",
}
EXAMPLES = {
    "fit": (
        ("train with a recipe", "--config cs_clip.yaml --data_root DATA_ROOT"),
        (
            "with another loss",
            "--config clip.yaml --objective SigLIP --lr 1e-6 --data_root DATA_ROOT",
        ),
        (
            "on a CPU, from scratch",
            "--config clip.yaml --config tiny_from_scratch.yaml --data_root DATA_ROOT",
        ),
        (
            "with benchmarks at every validation",
            "--config negclip.yaml --benchmarks sugarcrepe --data_root DATA_ROOT",
        ),
        (
            "resume an interrupted run",
            "--config cs_clip.yaml --data_root DATA_ROOT --ckpt_path last",
        ),
    ),
    "validate": (
        (
            "the last checkpoint",
            "--benchmarks sugarcrepe,aro --data_root DATA_ROOT --ckpt_path last",
        ),
        (
            "a run, with saved results",
            "--benchmarks winoground --ckpt_path runs/version_0 --out RESULTS",
        ),
        ("one subset", "--benchmarks sugarcrepe:swap_obj --ckpt_path best"),
        ("your own pairs", "--benchmarks pairs:FILE.csv --ckpt_path last"),
        (
            "published weights",
            "--benchmarks aro --model openai/ViT-B-32",
        ),
    ),
}
CLASS_EXAMPLES = {"fit": "--objective CSCLIP", "validate": "--benchmarks pairs"}
BACKBONE_FLAG = "--model.backbone"  # its class is of no kind that `zoo ls` lists
WEIGHTS_FLAG = "--model.backbone.pretrained"  # which a tag or a file follows too
LIST_FLAGS = ("--benchmarks", "--presets")  # which name several classes
# the flags that name a class, and the room whose classes they take
KIND_BY_FLAG = {
    "--objective": "objectives",
    "--model.objective": "objectives",
    "--head": "heads",
    "--model.head": "heads",
    "--model.head.views": "views",
    "--model.head.segments": "segments",
    "--data.negatives": "negatives",
    "--data.positives": "positives",
    "--data.train": "readers",
    "--data": "datamodules",
    "--benchmarks": "benchmarks",
    "--presets": "presets",
    WEIGHTS_FLAG: "published_weights",
}


def print_help_page(command: str, arguments: Sequence[str]) -> int:
    """Prints the help page of a command, or the arguments of the classes that are named.

    Args:
        command: `fit` or `validate`.
        arguments: The rest of the command line.

    Returns:
        The exit status, 0.

    Raises:
        ZooError: A named class does not exist.
    """
    console = Console(highlight=False)
    named_classes = list(_named_classes(arguments))
    if not named_classes:
        console.print(f"usage: zoo {command} FLAGS\n\n{DESCRIPTIONS[command]}\n", markup=False)
        console.print(_grid(_flag_rows(command)))
        console.print("\nexamples:")
        for description, line in EXAMPLES[command]:
            console.print(f"  zoo {command} {line}  # {description}", markup=False, soft_wrap=True)
        console.print(
            "\nEvery setting of a recipe is also a flag: --model.optimizer.weight_decay 0.1\n"
            f"  {f'zoo {command} --help all':<42} all flags\n"
            f"  {f'zoo {command} {CLASS_EXAMPLES[command]} --help':<42} the arguments of a class\n"
            "  zoo doctor --config RECIPE --data_root DIR check what a recipe needs",
            markup=False,
        )
    for flag, room, name in named_classes:
        cls = import_path(BACKBONE) if flag == BACKBONE_FLAG else class_of(name, room, object)
        console.print(f"{flag} {name}: {_summary(cls)}\n", markup=False)
        rows = [(f"{flag}.{n}", f"{d}", description) for n, d, description in class_arguments(cls)]
        console.print(_grid(rows) if rows else "This class takes no arguments.", markup=False)
    return 0


def class_arguments(cls: type) -> list[tuple[str, str, str]]:
    """Returns name, default and description of each argument of a class.

    Those of its bases, and of the classes in its `argument_classes`, follow if its constructor
    passes further arguments on.
    """
    texts: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    for base in (cls, *getattr(cls, "argument_classes", ()), *cls.__mro__[1:]):
        if "__init__" not in vars(base) or base is object:
            continue
        constructor = vars(base)["__init__"]
        for source in (vars(base).get("__doc__"), constructor.__doc__):
            for documented in parse(source or "").params:
                texts.setdefault(
                    documented.arg_name, " ".join((documented.description or "").split())
                )
        parameters = inspect.signature(constructor).parameters.values()
        for parameter in list(parameters)[1:]:
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                defaults.setdefault(parameter.name, parameter.default)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            break
    return [
        (name, _format_default(default), texts.get(name, "")) for name, default in defaults.items()
    ]


def _format_default(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return "(required)"
    if is_dataclass(default) and not isinstance(default, type):
        return f"{type(default).__name__}()"  # its values would fill the page
    return "null" if default is None else str(default)


def _named_classes(arguments: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yields flag, kind and name of every class that is named."""
    for argument, value in zip(arguments, [*arguments[1:], ""], strict=True):
        flag, _, inline = argument.partition("=")
        named_value = inline or value
        if flag == BACKBONE_FLAG and named_value in (BACKBONE, "Backbone"):
            yield flag, "", named_value
        if flag not in KIND_BY_FLAG or not named_value or named_value.startswith(("-", "{", "[")):
            continue
        for name in named_value.split(",") if flag in LIST_FLAGS else [named_value]:
            paths = class_paths(KIND_BY_FLAG[flag])
            # subsets follow a colon
            class_name = name.partition(":")[0] if flag in LIST_FLAGS else name
            if flag != WEIGHTS_FLAG or name in paths:
                yield flag, KIND_BY_FLAG[flag], class_name if class_name in paths else name


def _summary(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _flag_rows(command: str) -> list[tuple[str, str, str]]:
    return [
        (f"--{flag.name}", flag.metavar, flag.help) for flag in FLAGS if command in flag.commands
    ]


def _grid(rows: Sequence[tuple[str, str, str]]) -> Padding:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return Padding(table, (0, 0, 0, 2))
