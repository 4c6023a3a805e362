"""The flags that people use of `zoo fit` and `zoo validate`, and the settings they stand for."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zoo.support.arguments import split_list, whole_number

BOTH = ("fit", "validate")


@dataclass(frozen=True)
class Flag:
    """A flag that people use, and the setting that it stands for.

    Args:
        name: Without the dashes.
        shown: What stands for its value in the help.
        says: What it does, in a line.
        setting: The dotted name of the setting. Empty for a flag that stands for none, or for one
            that is another in each command.
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


def parse_switch(text: str) -> bool:
    """Returns whether a switch is on.

    Raises:
        argparse.ArgumentTypeError: It is neither.
    """
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


def count_or_name(text: str) -> int | str:
    """Returns a whole number as such, and anything else, as `auto`, as it is."""
    return int(text) if text.isdecimal() else text


def kept_in(text: str) -> dict[str, Any] | None:
    """Returns the settings of the cache of vectors: a folder, or none of it."""
    return None if text == "off" else {"folder": text}


def names(text: str) -> list[str]:
    """Returns names that are given by commas."""
    return split_list(text, "--beside")


FLAGS = (
    Flag(
        "config",
        "NAME",
        "a recipe or an overlay, shipped (`zoo ls configs`) or a file; a later one wins",
    ),
    Flag("data_root", "DIR", "where images, captions and annotations lie"),
    Flag(
        "model",
        "NAME",
        "published weights with the architecture, activation and preprocessing that are theirs "
        "(`zoo ls models`), NAME:FILE with a file of one's own, or a YAML file that describes them",
    ),
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
        "what is measured (`zoo ls benchmarks`, `all`, or `suite:PRESET` for those of a preset); "
        "by fit, at every validation; given again, it adds. --benchmarks.ARG VALUE is an argument "
        "of the one named last before it",
    ),
    Flag("out", "DIR", "where results.json and cases.parquet go"),
    Flag(
        "presets",
        "A,B",
        "ways of counting (`zoo ls presets`), official where none is named. --presets.ARG VALUE "
        "is an argument of the one named last before it",
    ),
    Flag(
        "familiar_with",
        "CAPTIONS",
        "captions by whose bindings cases are split, or their table (`zoo bindings`); `training`, "
        "the model's own; `coco`, its training captions, which count where none are named",
        commands=("validate",),
    ),
    Flag(
        "cache",
        "DIR",
        "where vectors are kept for further runs, or `off`; `zoo doctor` shows the folder and its "
        "size",
        type=kept_in,
        commands=("validate",),
    ),
    Flag(
        "cache_tokens",
        "",
        "keep the tokens that a head reads as well: some fifty times the room",
        "data.init_args.cache.tokens",
        parse_switch,
        ("validate",),
    ),
    Flag(
        "beside",
        "A,B",
        "models whose published figures stand beside the run's (`zoo ls models`)",
        type=names,
        commands=("validate",),
    ),
    Flag(
        "exclude_images",
        "IDS",
        "leave out cases of images that the model has seen, beside the full metrics: a file of "
        "them, one a line, or of captions; `karpathy_train`, train and restval; `trained`, the "
        "model's own, which count where none are named",
        commands=("validate",),
    ),
    Flag(
        "fast_images",
        "",
        "decode and resize images by torchvision, which takes less time and gives other last "
        "digits than PIL; results.json says so",
        type=parse_switch,
        commands=("validate",),
    ),
    Flag(
        "long",
        "",
        "print every subset, note and way of getting files",
        type=parse_switch,
        commands=("validate",),
    ),
    Flag(
        "require",
        "",
        "fail early if files or images of a benchmark are missing",
        type=parse_switch,
        commands=("validate",),
    ),
    Flag(
        "trust_code",
        "",
        "run the code that checkpoints and other files name",
    ),
    Flag("overwrite", "", "write over the results of a run or a measurement"),
)
