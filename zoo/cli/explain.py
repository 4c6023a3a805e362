"""`zoo fit --help` and `zoo validate --help`: a page each, and the arguments of named classes."""

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from docstring_parser import parse
from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from zoo.cli.flags import FLAGS
from zoo.support.names import class_of, paths

WHAT = {
    "fit": "Train a model: a backbone, a head and an objective on captions and their images.",
    "validate": "Measure a model on benchmarks, and write down every case.",
}
EXAMPLES = {
    "fit": (
        ("train by a recipe", "--config cs_clip.yaml --data_root DATA_ROOT"),
        (
            "with another loss",
            "--config clip.yaml --objective SigLIP --lr 1e-6 --data_root DATA_ROOT",
        ),
        (
            "on a CPU, from nothing",
            "--config clip.yaml --config tiny_from_scratch.yaml --data_root DATA_ROOT",
        ),
        (
            "measured at every validation",
            "--config negclip.yaml --benchmarks sugarcrepe --data_root DATA_ROOT",
        ),
        ("go on after a stop", "--config cs_clip.yaml --data_root DATA_ROOT --ckpt_path last"),
    ),
    "validate": (
        ("a run", "--benchmarks sugarcrepe,aro --data_root DATA_ROOT --ckpt_path last"),
        ("kept", "--benchmarks winoground --ckpt_path runs/version_0 --out MEASURED"),
        ("one subset", "--benchmarks sugarcrepe:swap_obj --ckpt_path best"),
        ("your own pairs", "--benchmarks pairs:FILE.csv --ckpt_path last"),
        (
            "published weights",
            "--benchmarks aro --model openai/ViT-B-32",
        ),
    ),
}
CLASS = {"fit": "--objective CSCLIP", "validate": "--benchmarks pairs"}
WEIGHTS = "--model.backbone.pretrained"  # which a tag or a file follows too
LISTS = ("--benchmarks", "--presets")  # which name several classes
# the flags that name a class, and the room whose classes they take
NAMING = {
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
    WEIGHTS: "published_weights",
}


def page(command: str, arguments: Sequence[str]) -> int:
    """Prints the page of a command, and what the classes among its arguments take.

    Args:
        command: `fit` or `validate`.
        arguments: What stands on the command line behind it.

    Returns:
        The exit status, 0.

    Raises:
        ZooError: A class is named that there is not.
    """
    console = Console(highlight=False)
    named = list(_named_classes(arguments))
    if not named:
        console.print(f"usage: zoo {command} FLAGS\n\n{WHAT[command]}\n", markup=False)
        console.print(_grid(_flags(command)))
        console.print("\nexamples:")
        for says, line in EXAMPLES[command]:
            console.print(f"  zoo {command} {line}  # {says}", markup=False, soft_wrap=True)
        console.print(
            f"\nEvery setting of a recipe is a flag too, as --model.optimizer.weight_decay 0.1.\n"
            f"  {f'zoo {command} --help all':<41} all of them\n"
            f"  {f'zoo {command} {CLASS[command]} --help':<41} the arguments of a class\n"
            f"  zoo doctor --config RECIPE --data_root DIR what a recipe needs and lacks",
            markup=False,
        )
    for flag, room, name in named:
        cls = class_of(name, room, object)
        console.print(f"{flag} {name}: {_summary(cls)}\n", markup=False)
        rows = [(f"{flag}.{n}", f"{d}", says) for n, d, says in arguments_of(cls)]
        console.print(_grid(rows) if rows else "it takes no arguments", markup=False)
    return 0


def arguments_of(cls: type) -> list[tuple[str, str, str]]:
    """Returns name, default and text of every argument of a class, its bases' included."""
    texts: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base) or base is object:
            continue
        built = vars(base)["__init__"]
        for source in (vars(base).get("__doc__"), built.__doc__):
            for found in parse(source or "").params:
                texts.setdefault(found.arg_name, " ".join((found.description or "").split()))
        parameters = inspect.signature(built).parameters.values()
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
        return "(needed)"
    return "null" if default is None else str(default)


def _named_classes(arguments: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yields flag, room and name of every class that is named."""
    for argument, value in zip(arguments, [*arguments[1:], ""], strict=True):
        flag, _, inline = argument.partition("=")
        typed = inline or value
        if flag not in NAMING or not typed or typed.startswith(("-", "{", "[")):
            continue
        for name in typed.split(",") if flag in LISTS else [typed]:
            known = paths(NAMING[flag])
            plain = name.partition(":")[0] if flag in LISTS else name  # subsets follow a colon
            if flag != WEIGHTS or name in known:
                yield flag, NAMING[flag], plain if plain in known else name


def _summary(cls: type) -> str:
    return (inspect.getdoc(cls) or "").partition("\n")[0]


def _flags(command: str) -> list[tuple[str, str, str]]:
    return [(f"--{flag.name}", flag.shown, flag.says) for flag in FLAGS if command in flag.commands]


def _grid(rows: Sequence[tuple[str, str, str]]) -> Padding:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return Padding(table, (0, 0, 0, 2))
