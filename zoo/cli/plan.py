"""`zoo plan`: estimates the cost of a recipe's training step on a device."""

from argparse import RawDescriptionHelpFormatter
from collections.abc import Mapping
from typing import Any

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from zoo.cli.command_parser import CommandParser
from zoo.cli.fit import parse_settings
from zoo.costs.devices import Arithmetic, device_of, devices
from zoo.costs.step import Step
from zoo.costs.towers import towers_of
from zoo.errors import ZooError
from zoo.support.arguments import integer_at_least
from zoo.support.worker import MOST_WORKERS

DEFAULT_BACKBONE = "ViT-B-32-quickgelu"  # the default backbone of a recipe
ARITHMETIC_BY_PRECISION: dict[str, Arithmetic] = {
    "auto": "bf16",
    "bf16-mixed": "bf16",
    "16-mixed": "bf16",
    "32": "fp32",
    "32-true": "fp32",
}
CAPTIONS_PER_IMAGE = 5
TOKEN_COUNTS = (8, 16, 24, 32, 48)
GIGA, MIB = 1e9, 1 << 20
# milliseconds per image and core, from benchmarks/results/image_loading.md
IMAGE_MS = {"pil": 7.38, "torchvision": 2.84, "cache": 0.57}
CHEAP_OBJECTIVES = (
    "CLIP",
    "NegCLIP",
    "CSCLIP",
    "SigLIP",
)  # objectives without costs beyond the scores


def main(argv: list[str]) -> int:
    """Prints the operations, memory, communication and time of a step."""
    own_words, flags = parser().split_words(argv)
    args = parser().parse_args(own_words)
    device = device_of(args.device)
    if not any(flag.split("=")[0] == "--data_root" for flag in flags):
        flags += ["--data_root", "DATA_ROOT"]  # its files are not read
    settings = parse_settings(["fit", *flags])
    step, notes = build_step(settings, args)
    console = Console(highlight=False)
    console.print(
        f"one step of {step.rows:,} rows on {step.devices:,} x {device.name}: "
        f"{step.local:,} rows per device, {step.arithmetic}\n"
    )
    console.print(_share_table("floating-point operations per device", step.flops, "GFLOP", GIGA))
    full = step.text.flops()
    flops = {n: count for n in TOKEN_COUNTS if (count := step.text.flops(n)) < full}
    by_length = ", ".join(
        f"{n} {count / GIGA:.2f}" for n, count in {**flops, step.text.tokens: full}.items()
    )
    console.print(
        f"forward pass of a text, by tokens: {by_length} GFLOP; of an image: "
        f"{step.image.flops() / GIGA:.2f} GFLOP\n",
        soft_wrap=True,
    )
    console.print(_share_table("memory per device (estimate)", step.memory, "MiB", MIB))
    used_memory, device_memory = sum(step.memory.values()), device.memory_gb * GIGA
    console.print(
        f"of {device_memory / MIB:,.0f} MiB"
        + (
            "\n"
            if used_memory < device_memory
            else ": NOT ENOUGH; use more devices, backbone.compute.chunk or checkpoint_blocks\n"
        )
    )
    if step.devices > 1:
        console.print(_share_table("sent per device", step.communication, "MiB", MIB))
    data = settings.data.init_args
    workers = args.workers or data.workers or MOST_WORKERS
    image_ms = (args.image_ms or _image_ms(data)) * (2 if data.get("joined") else 1)
    seconds = step.seconds(device, args.utilization, workers, image_ms, args.texts_ms)
    _print_time(console, step, seconds, args, settings)
    for note in notes:
        console.print(f"note: {note}")
    console.print(
        f"sources of the device's specifications: {', '.join(device.sources)}", soft_wrap=True
    )
    return 0


def parser() -> CommandParser:
    """Returns the parser of `zoo plan`; unknown flags are passed to `zoo fit`."""
    parser = CommandParser(
        prog="zoo plan",
        usage="zoo plan --config RECIPE --device NAME [--devices N] [flags of zoo fit]",
        formatter_class=RawDescriptionHelpFormatter,
        description="Estimate the memory and time of a recipe's training step, without reading "
        "weights or data.\nData loading, the computation of the towers and the communication "
        "between devices overlap,\nso the slowest of the three determines the time of a "
        "step. The recipe is given by flags of\n`zoo fit`, such as --config.",
    )
    parser.add_argument("--device", required=True, help=f"the device: {', '.join(devices())}")
    parser.add_argument(
        "--devices", type=integer_at_least(1), default=1, help="number of devices (default: 1)"
    )
    parser.add_argument(
        "--utilization",
        type=_parse_share,
        default=0.4,
        help="share of the device's peak throughput that the towers are assumed to reach "
        "(default: 0.4)",
    )
    parser.add_argument(
        "--workers",
        type=integer_at_least(1),
        help=f"data-loading processes per device (default: those of the recipe, or {MOST_WORKERS})",
    )
    parser.add_argument(
        "--image_ms",
        type=_parse_positive,
        help="milliseconds in which one process loads an image (default: "
        f"{IMAGE_MS['pil']:g} with data.decoder pil, {IMAGE_MS['torchvision']:g} with torchvision, "
        f"{IMAGE_MS['cache']:g} with data.image_cache). benchmarks/speed/image_loading.py measures "
        "this time",
    )
    parser.add_argument(
        "--texts_ms",
        type=_parse_positive,
        default=0.33,
        help="milliseconds in which one process prepares the texts of a row (default: 0.33)",
    )
    parser.add_argument(
        "--sentence_tokens",
        type=integer_at_least(1),
        default=16,
        help="assumed number of tokens per caption or negative (default: 16)",
    )
    parser.add_argument(
        "--unit_tokens",
        type=integer_at_least(1),
        default=8,
        help="assumed number of tokens per unit or foil (default: 8)",
    )
    parser.add_argument(
        "--samples",
        type=integer_at_least(1),
        help="rows per epoch (default: five for each of data.expected_images, or one if the recipe "
        "sets data.captions_per_image to `one`)",
    )
    return parser


def build_step(settings: Namespace, given: Any) -> tuple[Step, list[str]]:
    """Returns the step of parsed settings, and notes on what it does not count.

    Args:
        settings: The settings of `zoo fit`.
        given: The arguments of `zoo plan`.

    Raises:
        ZooError: A part of the recipe cannot be counted.
    """
    backbone, data = _init_args(settings.model.backbone), settings.data.init_args
    tuning, compute = _init_args(backbone.get("tuning")), _init_args(backbone.get("compute"))
    if tuning.get("lora") is not None:
        raise ZooError(
            "the recipe trains LoRA adapters, but zoo plan supports only full towers: set "
            "model.backbone.tuning.lora to null"
        )
    for name in ("image_groups", "text_groups"):
        if tuning.get(name) is not None:
            raise ZooError(
                f"the recipe trains a part of a tower, but zoo plan supports only full towers: set "
                f"model.backbone.tuning.{name} to null"
            )
    if data.get("features") is not None:
        raise ZooError(
            "data.features encodes images and texts only once, but zoo plan assumes that the "
            "towers run in every step: set data.features to null"
        )
    checkpoints = bool(compute.get("checkpoint_blocks"))
    image, text = towers_of(
        backbone.get("name") or DEFAULT_BACKBONE, backbone.get("activation"), checkpoints
    )
    towers = {"both": ("image", "text"), "none": ()}.get(tuning.get("towers", "both"))
    trains = frozenset([tuning["towers"]] if towers is None else towers)
    rows = data.batch_size * (2 if data.get("hard_images") else 1)
    if rows % given.devices:
        raise ZooError(
            f"the batch of {rows} rows is not divisible by {given.devices} devices: change "
            "--devices or --data.batch_size"
        )
    columns = _count_makers(data.get("negatives")) + _count_makers(data.get("positives"))
    units = data.get("units")
    step = Step(
        image,
        text,
        trains=trains,
        rows=rows,
        devices=given.devices,
        sentences=1 + columns + bool(data.get("source_negatives")) + bool(data.get("joined")),
        units=0 if units is None else 2 * units.init_args.n_units,
        sentence_tokens=given.sentence_tokens,
        unit_tokens=given.unit_tokens,
        arithmetic=_parse_precision(str(settings.trainer.precision)),
        chunk=compute.get("chunk"),
        checkpoint_blocks=checkpoints,
    )
    head, objective = (_class_name(settings.model.get(part)) for part in ("head", "objective"))
    notes = [f"the cost of {head} is not counted"] if head not in (None, "Cosine") else []
    if objective not in (None, *CHEAP_OBJECTIVES):
        notes.append(f"costs of {objective} beyond the scores, such as a teacher, are not counted")
    if data.get("joined") == "alternate":
        notes.append("every other step uses single images, but is counted as if it joined two")
    notes += ["negative images are not counted"] * (data.get("negative_images") is not None)
    if _init_args(backbone.get("augmentation")).get("patch_dropout"):
        notes.append("what patch_dropout saves is not counted")
    notes += [
        f"what checkpoint_blocks saves in the {side} tower is not counted, since its blocks differ"
        for side, tower in (("image", image), ("text", text))
        if checkpoints and side in trains and tower.count_checkpointed is None
    ]
    return step, notes


def _image_ms(data: Namespace) -> float:
    return IMAGE_MS["cache" if data.get("image_cache") else data.get("decoder", "torchvision")]


def _count_makers(makers: Any) -> int:
    return len(makers) if isinstance(makers, list) else int(makers is not None)


def _class_name(part: Any) -> str | None:
    return None if part is None else part.class_path.rpartition(".")[2]


def _init_args(given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    arguments: Mapping[str, Any] = vars(given.get("init_args", given))
    return arguments


def _parse_precision(precision: str) -> Arithmetic:
    if precision not in ARITHMETIC_BY_PRECISION:
        raise ZooError(
            f"trainer.precision is {precision}, for which the throughput of devices is unknown: "
            f"use one of {', '.join(ARITHMETIC_BY_PRECISION)}"
        )
    return ARITHMETIC_BY_PRECISION[precision]


def _parse_share(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise ValueError(text)
    return value


def _parse_positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def _share_table(title: str, parts: Mapping[str, float], unit: str, size: float) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("", min_width=26)
    table.add_column(unit, justify="right")
    table.add_column("share", justify="right")
    total = sum(parts.values())
    for name, value in parts.items():
        if value:
            table.add_row(name, f"{value / size:,.0f}", f"{value / total:.0%}")
    table.add_row("total", f"{total / size:,.0f}", "")
    return table


def _print_time(
    console: Console, step: Step, seconds: Mapping[str, float], given: Any, settings: Namespace
) -> None:
    slowest = max(seconds, key=lambda name: seconds[name])
    durations = ", ".join(f"{name} {value * 1000:,.1f} ms" for name, value in seconds.items())
    console.print(f"\ntime per step: {durations}; limited by {slowest}")
    speed = step.rows / seconds[slowest]
    console.print(
        f"{speed:,.0f} images per second, if the towers reach {given.utilization:.0%} of the device"
    )
    data, trainer = settings.data.init_args, settings.trainer
    images, one_caption = data.get("expected_images"), data.get("captions_per_image") == "one"
    samples = given.samples or (images and images * (1 if one_caption else CAPTIONS_PER_IMAGE))
    epochs, steps = trainer.max_epochs or (-1 if trainer.max_steps > 0 else 1), trainer.max_steps
    ends = []
    if steps > 0:
        rows_seen = steps * trainer.accumulate_grad_batches * step.rows
        ends.append((rows_seen, f"{steps:,} steps"))
    if epochs > 0 and samples:
        rows = samples * (2 if data.get("hard_images") else 1)
        ends.append((rows * epochs, f"{epochs:,} epochs of {samples:,} samples"))
    if ends:
        rows, duration = min(ends)
        console.print(f"{rows / speed / 3600:,.1f} hours for {duration}")
    elif epochs > 0:
        console.print("hours: unknown, give --samples, the rows per epoch")
    else:
        console.print("hours: unknown, give --trainer.max_epochs or --trainer.max_steps")
