"""`zoo plan`: what a recipe's training step costs on devices, on paper."""

from argparse import RawDescriptionHelpFormatter
from collections.abc import Mapping
from typing import Any

from jsonargparse import Namespace
from rich.console import Console
from rich.table import Table

from zoo.backbones.factory import architecture, parameters_by_tower
from zoo.cli.fit import settings_of
from zoo.costs.devices import Arithmetic, device_of, devices
from zoo.costs.step import Step
from zoo.costs.towers import towers_of
from zoo.errors import ZooError
from zoo.support.arguments import Parser, whole_number

NAME = "ViT-B-32-quickgelu"  # where a recipe names no backbone
ARITHMETIC: dict[str, Arithmetic] = {
    "auto": "bf16",
    "bf16-mixed": "bf16",
    "16-mixed": "bf16",
    "32": "fp32",
    "32-true": "fp32",
}
CAPTIONS_AN_IMAGE = 5
LENGTHS = (8, 16, 24, 32, 48)
GIGA, MIB = 1e9, 1 << 20
# of a core, as benchmarks/results/image_loading.md has them
IMAGE_MS = {"pil": 7.38, "torchvision": 2.84, "cache": 0.57}
SCORES_ALONE = ("CLIP", "NegCLIP", "CSCLIP", "SigLIP")  # objectives that cost no more than scores


def main(argv: list[str]) -> int:
    """Prints a step's operations, memory, communication and time."""
    given, flags = parser().parse_known_args(argv)
    device = device_of(given.device)
    if not any(flag.split("=")[0] == "--data_root" for flag in flags):
        flags += ["--data_root", "DATA_ROOT"]  # nothing in it is looked at
    settings = settings_of(["fit", *flags])
    step, notes = step_of(settings, given)
    console = Console(highlight=False)
    console.print(
        f"a step of {step.rows:,} rows on {step.devices:,} x {device.name}: "
        f"{step.local:,} rows each, {step.arithmetic}\n"
    )
    console.print(_shares("floating-point operations on a device", step.flops, "GFLOP", GIGA))
    lengths = [*(length for length in LENGTHS if length < step.text.tokens), step.text.tokens]
    by_length = ", ".join(f"{n} {step.text.flops(n) / GIGA:.2f}" for n in lengths)
    console.print(
        f"a text forward, by tokens: {by_length} GFLOP; an image {step.image.flops() / GIGA:.2f}\n",
        soft_wrap=True,
    )
    console.print(_shares("memory on a device, of what is counted", step.memory, "MiB", MIB))
    held, room = sum(step.memory.values()), device.memory_gb * GIGA
    console.print(
        f"of {room / MIB:,.0f} MiB"
        + ("\n" if held < room else ": TOO MUCH; more devices, or backbone.compute.chunk\n")
    )
    if step.devices > 1:
        console.print(_shares("sent by a device", step.communication, "MiB", MIB))
    data = settings.data.init_args
    workers = given.workers or data.workers
    image_ms = (given.image_ms or _image_ms(data)) * (2 if data.get("joined") else 1)
    seconds = step.seconds(device, given.utilization, workers, image_ms, given.texts_ms)
    _print_time(console, step, seconds, given, settings)
    for note in notes:
        console.print(f"note: {note}")
    console.print(f"figures of the device: {', '.join(device.sources)}", soft_wrap=True)
    return 0


def parser() -> Parser:
    """Returns the parser of `zoo plan`; what it does not know are flags of `zoo fit`."""
    parser = Parser(
        prog="zoo plan",
        usage="zoo plan --config RECIPE --device NAME [--devices N] [flags of zoo fit]",
        formatter_class=RawDescriptionHelpFormatter,
        description="What a training step of a recipe costs, on paper. Loading, towers and "
        "communication go on\nat once, so that the slowest of them limits. Weights and data are "
        "not looked at.",
    )
    parser.add_argument("--device", required=True, help=f"one of {', '.join(devices())}")
    parser.add_argument("--devices", type=whole_number(1), default=1, help="how many (default: 1)")
    parser.add_argument(
        "--utilization",
        type=_share,
        default=0.4,
        help="share of the device's operations that the towers reach, an assumption (default: 0.4)",
    )
    parser.add_argument(
        "--workers", type=whole_number(1), help="loading processes of a device (the recipe's)"
    )
    parser.add_argument(
        "--image_ms",
        type=_positive,
        help="milliseconds in which a process loads an image (default: "
        + ", ".join(f"{ms:g} {way}" for way, ms in IMAGE_MS.items())
        + "; benchmarks/speed/image_loading.py measures it)",
    )
    parser.add_argument(
        "--texts_ms",
        type=_positive,
        default=0.33,
        help="milliseconds for the texts of a row (default: 0.33)",
    )
    parser.add_argument(
        "--sentence_tokens",
        type=whole_number(1),
        default=16,
        help="tokens that a caption or negative is cut to (default: 16)",
    )
    parser.add_argument(
        "--unit_tokens",
        type=whole_number(1),
        default=8,
        help="tokens that a unit or foil is cut to (default: 8)",
    )
    parser.add_argument(
        "--samples",
        type=whole_number(1),
        help="rows of an epoch (five captions for each of data.expect_n images)",
    )
    return parser


def step_of(settings: Namespace, given: Any) -> tuple[Step, list[str]]:
    """Returns the step of parsed settings, and what it does not count.

    Args:
        settings: Of `zoo fit`.
        given: The arguments of `zoo plan`.

    Raises:
        ZooError: A part of the recipe cannot be counted.
    """
    backbone, data = _arguments(settings.model.backbone), settings.data.init_args
    tuning, compute = _arguments(backbone.get("tuning")), _arguments(backbone.get("compute"))
    if tuning.get("lora") is not None:
        raise ZooError(
            "the recipe trains adapters, and zoo plan counts whole towers: set "
            "model.backbone.tuning.lora to null"
        )
    if data.get("features") is not None:
        raise ZooError(
            "data.features encodes images and texts once, and zoo plan counts towers that run in "
            "every step: set data.features to null"
        )
    name = backbone.get("name") or NAME
    _, config = architecture(name)
    quick = bool(config.get("quick_gelu")) or backbone.get("activation") == "quickgelu"
    image, text = towers_of(config, quick, name)
    by_tower = parameters_by_tower(name)
    towers = {"both": ("image", "text"), "none": ()}.get(tuning.get("towers", "both"))
    trains = frozenset([tuning["towers"]] if towers is None else towers)
    rows = data.batch_size * (2 if data.get("hard_images") else 1)
    if rows % given.devices:
        raise ZooError(
            f"{given.devices} devices do not divide the batch of {rows} rows: give another "
            "--devices or --data.batch_size"
        )
    columns = _count(data.get("negatives")) + _count(data.get("positives"))
    units = data.get("units")
    step = Step(
        image,
        text,
        parameters=sum(by_tower.values()),
        trained=sum(by_tower[tower] for tower in trains),
        trains=trains,
        rows=rows,
        devices=given.devices,
        sentences=1 + columns + bool(data.get("source_negatives")) + bool(data.get("joined")),
        units=0 if units is None else 2 * units.init_args.n_units,
        sentence_tokens=given.sentence_tokens,
        unit_tokens=given.unit_tokens,
        arithmetic=_arithmetic(str(settings.trainer.precision)),
        chunk=compute.get("chunk"),
    )
    head, objective = (_kind(settings.model.get(part)) for part in ("head", "objective"))
    notes = [f"what {head} itself costs is not counted"] if head not in (None, "Cosine") else []
    if objective not in (None, *SCORES_ALONE):
        notes.append(f"what {objective} costs beside scores, such as a teacher, is not counted")
    if data.get("joined") == "alternate":
        notes.append("every other step has single images, and is counted as if it joined two")
    notes += ["negative images are not counted"] * (data.get("negative_images") is not None)
    return step, notes


def _image_ms(data: Namespace) -> float:
    return IMAGE_MS["cache" if data.get("image_cache") else data.get("decoder", "torchvision")]


def _count(makers: Any) -> int:
    return len(makers) if isinstance(makers, list) else int(makers is not None)


def _kind(part: Any) -> str | None:
    return None if part is None else part.class_path.rpartition(".")[2]


def _arguments(given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    held: Mapping[str, Any] = vars(given.get("init_args", given))
    return held


def _arithmetic(precision: str) -> Arithmetic:
    if precision not in ARITHMETIC:
        raise ZooError(
            f"trainer.precision is {precision}, for which no device's figures are known: give one "
            f"of {', '.join(ARITHMETIC)}"
        )
    return ARITHMETIC[precision]


def _share(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise ValueError(text)
    return value


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def _shares(title: str, parts: Mapping[str, float], unit: str, size: float) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("", min_width=26)
    table.add_column(unit, justify="right")
    table.add_column("share", justify="right")
    total = sum(parts.values())
    for name, value in parts.items():
        if value:
            table.add_row(name, f"{value / size:,.0f}", f"{value / total:.0%}")
    table.add_row("all", f"{total / size:,.0f}", "")
    return table


def _print_time(
    console: Console, step: Step, seconds: Mapping[str, float], given: Any, settings: Namespace
) -> None:
    slowest = max(seconds, key=lambda name: seconds[name])
    each = ", ".join(f"{name} {value * 1000:,.1f} ms" for name, value in seconds.items())
    console.print(f"\na step's {each}: {slowest} limits")
    speed = step.rows / seconds[slowest]
    console.print(
        f"{speed:,.0f} images a second, if towers reach {given.utilization:.0%} of the device"
    )
    data, trainer = settings.data.init_args, settings.trainer
    images, one = data.get("expect_n"), data.get("captions_per_image") == "one"
    samples = given.samples or (images and images * (1 if one else CAPTIONS_AN_IMAGE))
    epochs, steps = trainer.max_epochs or (-1 if trainer.max_steps > 0 else 1), trainer.max_steps
    ends = []
    if steps > 0:
        taken = steps * trainer.accumulate_grad_batches * step.rows
        ends.append((taken, f"{steps:,} steps"))
    if epochs > 0 and samples:
        rows = samples * (2 if data.get("hard_images") else 1)
        ends.append((rows * epochs, f"{epochs:,} epochs of {samples:,} samples"))
    if ends:
        rows, what = min(ends)
        console.print(f"{rows / speed / 3600:,.1f} hours for {what}")
    elif epochs > 0:
        console.print("hours: give --samples, the rows of an epoch")
    else:
        console.print("hours: give --trainer.max_epochs or --trainer.max_steps, where the run ends")
