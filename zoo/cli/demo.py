"""`zoo demo`: what CS-CLIP's paper does, in small.

One tower learns rendered scenes with CLIP. It is then tuned with CLIP, NegCLIP and CS-CLIP, for
equally many steps each. Each of the three is asked half-truths and attribute swaps about scenes
that it never saw.
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
from zoo.benchmarks.half_truth.rules import CONDITIONS, WRONG, explain_condition
from zoo.benchmarks.scene_swaps import SceneSwaps
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
from zoo.scenes.sheet import contact_sheet
from zoo.sources.readers.scenes import Scenes
from zoo.support.arguments import Parser, whole_number
from zoo.support.log import quieten
from zoo.training.trainer import ZooTrainer
from zoo.units.sampler import UnitSampler

SWAPS = "attribute swaps"


def main(argv: list[str]) -> int:
    """Renders, trains, measures and prints a table, and returns the exit status."""
    chosen = parser().parse_args(argv)
    quieten()
    console, began = Console(), time.monotonic()
    folder = chosen.out / "scenes"
    render_scenes(folder, chosen.scenes, workers=chosen.workers)
    sheet = contact_sheet(folder, chosen.out / "scenes.png")
    metrics = tuned_arms(folder, chosen.steps, chosen.tuning_steps, console)
    console.print(table(metrics))
    widest = max(
        (f.high - f.low) / 2
        for row in metrics.values()
        for f in row.values()
        if f.high is not None and f.low is not None
    )
    console.print(
        f"Beside each accuracy stands its 95 % interval, up to {widest:.0f} "
        "points to either side. Smaller differences are noise, and another "
        "seed moves the metrics as well. Chance is 50 %: where the accuracy is "
        "lower, a wrong detail raises the score more often than it lowers it."
    )
    console.print(
        f"pictures: {picture(metrics, chosen.out / 'half_truths.png')}, {sheet}", soft_wrap=True
    )
    console.print(
        f"{time.monotonic() - began:.0f} s in all. benchmarks/studies/scenes_study.py "
        "is the long version, with three seeds and a control."
    )
    return 0


def parser() -> Parser:
    """Returns the parser of the command."""
    parser = Parser(prog="zoo demo", description=__doc__)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/demo"),
        help="folder of scenes and pictures (default: %(default)s)",
    )
    parser.add_argument(
        "--scenes",
        type=whole_number(1),
        default=1500,
        help="scenes to render (default: %(default)s)",
    )
    parser.add_argument(
        "--steps",
        type=whole_number(1),
        default=700,
        help="steps of CLIP from nothing (default: %(default)s)",
    )
    parser.add_argument(
        "--tuning_steps",
        type=whole_number(1),
        default=200,
        help="steps of each objective after that (default: %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=whole_number(0),
        default=2,
        help="processes that render (default: %(default)s)",
    )
    return parser


def tuned_arms(
    folder: Path, steps: int, tuning_steps: int, console: Console
) -> dict[str, dict[str, Metric]]:
    """Tunes one tower with each of CLIP, NegCLIP and CS-CLIP, and measures the three.

    Args:
        folder: The folder of rendered scenes.
        steps: Steps of CLIP from nothing, which make the tower.
        tuning_steps: Steps of each objective after that.
        console: Where the stages are named.

    Returns:
        The metrics of each objective, by condition.
    """
    torch.manual_seed(0)
    start = module_of(CLIP(), 1e-3)
    console.rule(f"CLIP from nothing, {steps} steps")
    train(start, folder, steps)
    metrics = {}
    for name, objective in (
        ("CLIP", CLIP()),
        ("NegCLIP", NegCLIP()),
        ("CS-CLIP", CSCLIP()),
    ):
        module = module_of(objective, 5e-4)
        module.load_state_dict(start.state_dict())
        console.rule(f"tuned on with {name}, {tuning_steps} steps")
        train(module, folder, tuning_steps)
        metrics[name] = measure(module, folder)
    return metrics


def module_of(objective: Objective, lr: float) -> ZooModule:
    """Returns a new tower for scenes with an objective and a peak learning rate."""
    return ZooModule(
        Backbone("zoo-scenes"),
        objective,
        optimizer=Optimization(lr=lr, weight_decay=0.05, warmup_share=0.05),
        # one text is true of many scenes of a batch: a text that is known to be true of an image
        # is no candidate against it
        mask_same_image=True,
        mask_same_text=True,
    )


def train(module: ZooModule, folder: Path, steps: int) -> None:
    """Trains a module in place on the training scenes of a folder, and shows progress."""
    needs = module.objective.needs
    data = CaptionDataModule(
        Scenes(str(folder), "train"),
        [str(folder)],
        batch_size=64,
        negatives=NegCLIPSwap() if needs.negatives else None,
        positives=OtherCaption() if needs.positives else None,
        # a scene has one relation: without replacement its entities are drawn as well
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
    """Returns accuracies on test scenes: half-truths by condition, and attribute swaps."""
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
    wanted = {(name, "half_truth"): name for name in CONDITIONS} | {("test", "i2t"): SWAPS}
    return {
        wanted[f.subset, f.metric]: f
        for f in results.metrics
        if (f.subset, f.metric) in wanted and f.value is not None
    }


def table(metrics: dict[str, dict[str, Metric]]) -> Table:
    """Returns the table of metrics with intervals: a row a condition, a column an objective."""
    added = "; ".join(f"{name}: {wrong}" for name, wrong in WRONG.items())
    shown = Table(
        title="accuracy in % on held-out scenes (95 % interval)",
        caption=f"what is wrong in what a half-truth adds: {added}",
        caption_justify="left",
    )
    shown.add_column("half-truths")
    for arm in metrics:
        shown.add_column(arm, justify="right")
    shown.add_column("chance", justify="right")
    shown.add_column("n", justify="right")
    for name in rows(metrics):
        row = [arm.get(name) for arm in metrics.values()]
        cells = [f"{f.value:.0f} ({f.low:.0f}-{f.high:.0f})" if f else "" for f in row]
        shown.add_row(
            name,
            *cells,
            "50",
            str(max(f.n for f in row if f)),
            end_section=name == CONDITIONS[-1],
        )
    return shown


def picture(metrics: dict[str, dict[str, Metric]], path: Path) -> Path:
    """Draws the metrics as bars with intervals and the chance level, and returns the path."""
    names = rows(metrics)
    drawing = matplotlib.figure.Figure(figsize=(10, 5), layout="constrained")
    axes = drawing.subplots()
    for k, (arm, row) in enumerate(metrics.items()):
        known = [(i, row[n]) for i, n in enumerate(names) if n in row]
        heights = [f.value or 0.0 for _, f in known]
        below = [max(h - (f.low or 0.0), 0.0) for h, (_, f) in zip(heights, known, strict=True)]
        above = [max((f.high or 0.0) - h, 0.0) for h, (_, f) in zip(heights, known, strict=True)]
        axes.bar(
            [i + 0.27 * (k - 1) for i, _ in known],
            heights,
            0.25,
            yerr=[below, above],
            label=arm,
            error_kw={"elinewidth": 1},
        )
    axes.axhline(50, color="black", linewidth=0.8, linestyle=":")
    axes.text(-0.72, 51, "chance", fontsize=8)
    axes.set_xlim(-0.75, len(names) - 0.4)
    axes.set_xticks(range(len(names)), map(explain_condition, names), fontsize=8)
    axes.set_ylim(0, 115)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel("accuracy, %")
    axes.set_title("Half-truths by condition, and attribute swaps, on held-out scenes")
    axes.legend(loc="upper left", frameon=False, ncols=3)
    drawing.savefig(path, dpi=130)
    return path


def rows(metrics: dict[str, dict[str, Metric]]) -> list[str]:
    """Returns the names of what was measured, in the paper's order."""
    return [name for name in (*CONDITIONS, SWAPS) if any(name in row for row in metrics.values())]
