"""The short flags of `zoo fit` and `zoo validate`, and the settings that they set."""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from zoo.support.arguments import integer_at_least, split_list

BOTH = ("fit", "validate")


@dataclass(frozen=True)
class Flag:
    """A short flag, and the setting that it sets.

    Args:
        name: The name without dashes.
        metavar: The placeholder for its value in the help.
        help: The help text.
        setting: The dotted name of the setting. Empty if the flag sets none, or another one in
            each command.
        type: Parses the text of the value.
        commands: The commands that take it.
    """

    name: str
    metavar: str
    help: str
    setting: str = ""
    type: Callable[[str], Any] = str
    commands: tuple[str, ...] = BOTH


def class_entry(text: str) -> dict[str, Any]:
    """Returns the entry of a recipe that names a class."""
    return {"class_path": text}


def parse_switch(text: str) -> bool:
    """Returns whether a switch is on.

    Raises:
        argparse.ArgumentTypeError: The text is neither true nor false.
    """
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


def count_or_name(text: str) -> int | str:
    """Returns a whole number as int, and any other text, such as `auto`, unchanged."""
    return int(text) if text.isdecimal() else text


def cache_settings(text: str) -> dict[str, Any] | None:
    """Returns the settings of the embedding cache: a folder, or None for `off`."""
    return None if text == "off" else {"folder": text}


def parse_names(text: str) -> list[str]:
    """Splits names that are separated by commas."""
    return split_list(text, "--reference_models")


FLAGS = (
    Flag(
        "config",
        "NAME",
        "a recipe or overlay: a file, or a name of `zoo ls configs`; a later one overrides "
        "earlier ones",
    ),
    Flag("data_root", "DIR", "the folder of images, captions and annotations"),
    Flag(
        "model",
        "NAME",
        "the model: a name of `zoo ls models` (NAME:FILE reads its weights from FILE), open_clip "
        "weights such as openai/ViT-B-32, USER/NAME on the Hugging Face hub, or the folder of a "
        "model",
    ),
    Flag(
        "models",
        "A,B",
        "several models to evaluate and compare (needs --out); NAME=MODEL sets a model's name in "
        "tables",
        commands=("validate",),
    ),
    Flag("objective", "NAME", "the loss (`zoo ls objectives`)", "model.objective", class_entry),
    Flag("head", "NAME", "the scoring head (`zoo ls heads`)", "model.head", class_entry),
    Flag("lr", "NUMBER", "the peak learning rate", "model.optimizer.lr", float, ("fit",)),
    Flag(
        "batch_size",
        "N",
        "number of image-caption pairs per step, over all devices",
        "data.init_args.batch_size",
        integer_at_least(1),
        ("fit",),
    ),
    Flag(
        "epochs",
        "N",
        "number of epochs",
        "trainer.max_epochs",
        integer_at_least(1),
        ("fit",),
    ),
    Flag(
        "max_steps",
        "N",
        "maximum number of optimizer steps",
        "trainer.max_steps",
        integer_at_least(1),
        ("fit",),
    ),
    Flag(
        "devices", "N", "number of GPUs or processes, or `auto`", "trainer.devices", count_or_name
    ),
    Flag(
        "ckpt_path",
        "RUN",
        "the checkpoint to resume or evaluate: a file, a run's folder, or `last` or `best` of the "
        "newest run (in `zoo fit`, of the same recipe)",
    ),
    Flag(
        "benchmarks",
        "A,B",
        "names of `zoo ls benchmarks`, `all`, or `suite:PRESET` for the benchmarks of a preset; "
        "may be repeated. --benchmarks.ARG VALUE sets an argument of the benchmark before it",
    ),
    Flag("out", "DIR", "the folder for the results of the benchmarks"),
    Flag(
        "presets",
        "A,B",
        "rules for ties and averages: names of `zoo ls presets` or YAML files (default: "
        "official). --presets.ARG VALUE sets an argument of the preset before it",
    ),
    Flag(
        "familiar_with",
        "CAPTIONS",
        "split cases by whether their attribute-object pairs occur in these captions: a file, a "
        "table of `zoo bindings`, `training` (the model's captions) or `coco` (if no value "
        "is given)",
        commands=("validate",),
    ),
    Flag(
        "cache",
        "DIR",
        "the folder of cached embeddings, or `off`",
        type=cache_settings,
        commands=("validate",),
    ),
    Flag(
        "cache_tokens",
        "",
        "also cache token vectors, for heads that read them; they take about fifty times the space",
        "data.init_args.cache.tokens",
        parse_switch,
        ("validate",),
    ),
    Flag(
        "reference_models",
        "A,B",
        "add the published results of these models",
        type=parse_names,
        commands=("validate",),
    ),
    Flag(
        "exclude_images",
        "IDS",
        "also report metrics without these images: a file of ids or captions, `karpathy_train` "
        "(COCO), or `trained` (if no value is given)",
        commands=("validate",),
    ),
    Flag(
        "fast_images",
        "",
        "decode images with torchvision, which is faster; scores differ slightly",
        type=parse_switch,
        commands=("validate",),
    ),
    Flag(
        "long",
        "",
        "print all subsets, notes and download hints",
        type=parse_switch,
        commands=("validate",),
    ),
    Flag(
        "quiet",
        "",
        "print no table",
        type=parse_switch,
        commands=("validate",),
    ),
    Flag(
        "require",
        "",
        "fail early if files or images are missing",
        type=parse_switch,
        commands=("validate",),
    ),
    Flag(
        "get",
        "",
        "first download missing files (`zoo data get`)",
        commands=("validate",),
    ),
    Flag(
        "limit",
        "N",
        "at most N cases per subset, for a quick test",
        type=int,
        commands=("validate",),
    ),
    Flag("trust_code", "", "allow checkpoints and files to load custom code"),
    Flag("overwrite", "", "overwrite the results of an earlier run"),
)
