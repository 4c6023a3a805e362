"""`zoo demo`: the experiment of the CS-CLIP paper on a small scale.

A model is trained on rendered scenes with CLIP's loss. It is then fine-tuned with CLIP, NegCLIP and
CS-CLIP, each for the same number of steps. The three models are evaluated on half-truths and
attribute swaps of held-out scenes.
"""

import math
import time
from pathlib import Path
from typing import Any

import matplotlib.figure
import torch
from rich.console import Console
from rich.table import Table

from zoo.backbones.backbone import Backbone
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.half_truth.rules import CONDITION_ERRORS, CONDITIONS, figure_label
from zoo.benchmarks.scene_swaps import SceneSwaps
from zoo.cli.command_parser import CommandParser
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.datamodules.captions import CaptionDataModule
from zoo.module import ZooModule
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.negclip import NegCLIP
from zoo.optim import Optimization
from zoo.positives.other_caption import OtherCaption
from zoo.results.metrics import Metric
from zoo.scenes.cache import render_scenes
from zoo.scenes.sheet import write_contact_sheet
from zoo.sources.readers.scenes import Scenes
from zoo.support.arguments import integer_at_least
from zoo.support.log import filter_notices
from zoo.training.trainer import ZooTrainer
from zoo.units.sampler import UnitSampler

SWAPS = "attribute swaps"


def main(argv: list[str]) -> int:
    """Renders scenes, trains, evaluates, prints a table, and returns the exit status."""
    args = parser().parse_args(argv)
    filter_notices()
    console, start_time = Console(), time.monotonic()
    folder = args.out / "scenes"
    render_scenes(folder, args.scenes, workers=args.workers)
    sheet = write_contact_sheet(folder, args.out / "scenes.png")
    metrics = train_and_measure(folder, args.steps, args.tuning_steps, console)
    console.print(results_table(metrics))
    widest = max(
        (f.high - f.low) / 2
        for row in metrics.values()
        for f in row.values()
        if f.high is not None and f.low is not None
    )
    console.print(
        f"Each accuracy is shown with its 95 % interval, which reaches up to {widest:.0f} "
        "points to either side. Smaller differences are noise, and the metrics also vary with the "
        "seed. Chance is 50 %: below it, a wrong detail raises the score more often than it "
        "lowers it."
    )
    console.print(
        f"figures: {draw_chart(metrics, args.out / 'half_truths.png')}, {sheet}", soft_wrap=True
    )
    console.print(
        f"{time.monotonic() - start_time:.0f} s in total. benchmarks/studies/scenes_study.py "
        "is the full version, with three seeds and a control."
    )
    return 0


def parser() -> CommandParser:
    """Returns the parser of the command."""
    parser = CommandParser(prog="zoo demo", description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/demo"),
        help="folder for scenes and figures",
    )
    parser.add_argument(
        "--scenes",
        type=integer_at_least(1),
        default=1500,
        help="number of scenes to render",
    )
    parser.add_argument(
        "--steps",
        type=integer_at_least(1),
        default=700,
        help="training steps of CLIP from scratch",
    )
    parser.add_argument(
        "--tuning_steps",
        type=integer_at_least(1),
        default=200,
        help="fine-tuning steps per objective",
    )
    parser.add_argument(
        "--workers",
        type=integer_at_least(0),
        default=2,
        help="rendering processes",
    )
    return parser


def train_and_measure(
    folder: Path, steps: int, tuning_steps: int, console: Console
) -> dict[str, dict[str, Metric]]:
    """Trains one model, fine-tunes it with CLIP, NegCLIP and CS-CLIP, and evaluates the three.

    Args:
        folder: The folder of rendered scenes.
        steps: Training steps of CLIP from scratch.
        tuning_steps: Fine-tuning steps per objective.
        console: Prints the stages.

    Returns:
        The metrics of each objective, by condition.
    """
    torch.manual_seed(0)
    start = build_module(CLIP(), 1e-3)
    console.rule(f"CLIP from scratch, {steps} steps")
    train(start, folder, steps)
    metrics = {}
    for name, objective in (
        ("CLIP", CLIP()),
        ("NegCLIP", NegCLIP()),
        ("CS-CLIP", CSCLIP()),
    ):
        module = build_module(objective, 5e-4)
        module.load_state_dict(start.state_dict())
        console.rule(f"fine-tuning with {name}, {tuning_steps} steps")
        train(module, folder, tuning_steps)
        metrics[name] = measure(module, folder)
    return metrics


def build_module(objective: Objective, lr: float) -> ZooModule:
    """Returns a new model for scenes with an objective and a peak learning rate."""
    return ZooModule(
        Backbone("zoo-scenes"),
        objective,
        optimizer=Optimization(lr=lr, weight_decay=0.05, warmup_share=0.05),
        # a text may describe several scenes of a batch: mask texts that are known to match an image
        mask_same_image=True,
        mask_same_text=True,
    )


def train(module: ZooModule, folder: Path, steps: int) -> None:
    """Trains a module in place on the training scenes of a folder, with a progress bar."""
    needs = module.objective.needs
    data = CaptionDataModule(
        Scenes(str(folder), "train"),
        [str(folder)],
        batch_size=64,
        negatives=NegCLIPSwap() if needs.negatives else None,
        positives=OtherCaption() if needs.positives else None,
        # a scene has one relation: without replacement its entities are sampled as well
        units=UnitSampler(str(folder / "units.train.jsonl"), with_replacement=False)
        if needs.units
        else None,
        workers=0,
    )
    epochs = math.ceil(steps / math.ceil(len(data.sources[0].samples) / data.batch_size))
    quiet: dict[str, Any] = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_model_summary": False,
    }
    ZooTrainer(
        max_steps=steps, max_epochs=epochs, accelerator="cpu", gradient_clip_val=1.0, **quiet
    ).fit(module, datamodule=data)


def measure(module: ZooModule, folder: Path) -> dict[str, Metric]:
    """Returns accuracies on test scenes: half-truths per condition, and attribute swaps."""
    questions = [
        HalfTruth(str((folder / "units.test.jsonl").absolute()), preset="paper"),
        SceneSwaps(str(folder.absolute())),
    ]
    data = EvaluationDataModule(list(questions), str(folder), workers=0, quiet=True)
    ZooTrainer(accelerator="cpu", logger=False, enable_progress_bar=False).validate(
        module, datamodule=data, verbose=False
    )
    results = data.evaluation.results
    assert results is not None
    condition_by_key = {(name, "half_truth"): name for name in CONDITIONS} | {
        ("test", "i2t"): SWAPS
    }
    return {
        condition_by_key[f.subset, f.metric]: f
        for f in results.metrics
        if (f.subset, f.metric) in condition_by_key and f.value is not None
    }


def results_table(metrics: dict[str, dict[str, Metric]]) -> Table:
    """Returns the metrics and their intervals, one row per condition and one column per arm."""
    added = "; ".join(f"{name}: {wrong}" for name, wrong in CONDITION_ERRORS.items())
    rich_table = Table(
        title="accuracy in % on held-out scenes (95 % interval)",
        caption=f"what is wrong in the detail that a half-truth adds: {added}",
        caption_justify="left",
    )
    rich_table.add_column("half-truths")
    for arm in metrics:
        rich_table.add_column(arm, justify="right")
    rich_table.add_column("chance", justify="right")
    rich_table.add_column("n", justify="right")
    for name in condition_names(metrics):
        row = [arm.get(name) for arm in metrics.values()]
        cells = [f"{f.value:.0f} ({f.low:.0f}-{f.high:.0f})" if f else "" for f in row]
        rich_table.add_row(
            name,
            *cells,
            "50",
            str(max(f.n for f in row if f)),
            end_section=name == CONDITIONS[-1],
        )
    return rich_table


def draw_chart(metrics: dict[str, dict[str, Metric]], path: Path) -> Path:
    """Plots the metrics as bars with intervals and the chance level, and returns the path."""
    names = condition_names(metrics)
    drawing = matplotlib.figure.Figure(figsize=(10, 5), layout="constrained")
    axes = drawing.subplots()
    for k, (arm, row) in enumerate(metrics.items()):
        measured = [(i, row[n]) for i, n in enumerate(names) if n in row]
        heights = [f.value or 0.0 for _, f in measured]
        lower_errors = [
            max(h - (f.low or 0.0), 0.0) for h, (_, f) in zip(heights, measured, strict=True)
        ]
        upper_errors = [
            max((f.high or 0.0) - h, 0.0) for h, (_, f) in zip(heights, measured, strict=True)
        ]
        axes.bar(
            [i + 0.27 * (k - 1) for i, _ in measured],
            heights,
            0.25,
            yerr=[lower_errors, upper_errors],
            label=arm,
            error_kw={"elinewidth": 1},
        )
    axes.axhline(50, color="black", linewidth=0.8, linestyle=":")
    axes.text(-0.72, 51, "chance", fontsize=8)
    axes.set_xlim(-0.75, len(names) - 0.4)
    axes.set_xticks(range(len(names)), map(figure_label, names), fontsize=8)
    axes.set_ylim(0, 115)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("accuracy, %")
    axes.set_title("Half-truths by condition, and attribute swaps, on held-out scenes")
    axes.legend(loc="upper left", frameon=False, ncols=3)
    drawing.savefig(path, dpi=130)
    return path


def condition_names(metrics: dict[str, dict[str, Metric]]) -> list[str]:
    """Returns the names of the measured conditions, in the order of the paper."""
    return [name for name in (*CONDITIONS, SWAPS) if any(name in row for row in metrics.values())]
