r"""Every recipe side by side, in small.

All start from the same first tower, take equally many steps at the same learning rates, and are
asked the same questions.

In each of two worlds a small tower is trained with clip.yaml from nothing, and every recipe of
configs/ then tunes it, through the command line. On rendered scenes half-truths by condition and
attribute swaps are asked, of scenes that training never had; on Flickr8k those of SugarCrepe's
cases whose image is there. What a recipe says of method, negatives, units and what is trained
holds; towers, captions, learning rates, batch and steps are those of this script. Every run is kept
in the work folder; a stopped command goes on with those missing.

    python benchmarks/studies/recipes_table.py --scenes build/scenes_study/scenes \
        --data DATA_ROOT --work_dir build/recipes_table
"""

import argparse
import json
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from recipes_report import write_report
from scenes_training import write_json

import zoo
from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.scene_swaps import SceneSwaps
from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.cli.commands import main as command
from zoo.cli.recipes import shipped_recipes

RESULTS = Path(__file__).parents[1] / "results"
TOWERS = (
    "dfn_b_16.yaml",
    "metaclip2_h_14.yaml",
    "mobileclip2_s0.yaml",
    "pe_core_b_16.yaml",
    "siglip2_b_32.yaml",
)
LEFT_OUT = {
    "coco_matched.yaml": "data and schedule only",
    "flickr8k.yaml": "data only",
    "fsc_clip_laion_coco.yaml": "data only",
    "tiny_from_scratch.yaml": "tower and rate only",
    **dict.fromkeys(TOWERS, "tower only"),
    "finetune_trohn_img.yaml": "made images are needed",
    "tf_trohn_img.yaml": "made images are needed",
    "con_clip.yaml": "negative images are needed",
    "triplet_clip.yaml": "negative images are needed",
}
SMALL_HEAD = {"layers": 2, "width": 64, "ffn": 128, "attention_heads": 2}


@dataclass(frozen=True)
class Plan:
    """Sizes.

    Attributes:
        first_steps: Steps of the first tower.
        steps: Steps of tuning.
        rate: The peak learning rate, of the first tower and of tuning.
        head_rate: The peak learning rate of heads.
        rows: Rows of a batch.
        rows_of_pairs: Rows of a batch where every pair is read by a transformer.
    """

    first_steps: int
    steps: int
    rate: float
    head_rate: float
    rows: int
    rows_of_pairs: int


@dataclass(frozen=True)
class World:
    """Captions and images to train on, and what is asked.

    Negatives and units are made of `captions`. `units` is a file of units, which are extracted
    where it is None.
    """

    name: str
    tower: str
    reader: dict[str, Any]
    images: Path
    captions: Path
    units: Path | None
    asked: Sequence[Benchmark]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", type=Path, help="a folder that `zoo scenes render` filled")
    parser.add_argument(
        "--data", type=Path, help="data root with flickr8k, sugarcrepe and coco/val2017"
    )
    parser.add_argument("--work_dir", type=Path, default=Path("build/recipes_table"))
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder of metrics, table and plot"
    )
    parser.add_argument("--recipes", nargs="+", help="these alone")
    defaults = Plan(
        first_steps=1500, steps=100, rate=5e-4, head_rate=1e-3, rows=64, rows_of_pairs=16
    )
    for name, value in asdict(defaults).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    chosen = parser.parse_args()
    plan = Plan(**{name: getattr(chosen, name) for name in asdict(defaults)})
    kept = chosen.work_dir / "plan.json"
    if kept.exists() and (there := json.loads(kept.read_text())) != asdict(plan):
        raise SystemExit(
            f"{chosen.work_dir} has runs of another plan, {there}: name another --work_dir"
        )
    write_json(kept, asdict(plan))
    recipes = [name for name in chosen.recipes or shipped_recipes() if name not in LEFT_OUT]
    for world in worlds(chosen.scenes, chosen.data):
        folder = (chosen.work_dir / world.name).absolute()
        prepare(world, folder)
        first = folder / "clip_from_nothing"
        for recipe in [None, *recipes]:
            print(run(world, folder, plan, recipe, first), flush=True)
    runs = [
        json.loads(path.read_text()) for path in sorted(chosen.work_dir.glob("*/*/result.json"))
    ]
    print(write_report(runs, asdict(plan), LEFT_OUT, chosen.out))


def worlds(scenes: Path | None, data: Path | None) -> list[World]:
    """Returns the worlds whose data was given."""
    found = []
    if scenes is not None:
        folder = scenes.absolute()
        reader = {
            "class_path": "zoo.sources.readers.scenes.Scenes",
            "init_args": {"folder": str(folder), "split": "train"},
        }
        halves = HalfTruth(str(folder / "units.test.jsonl"), preset="paper")
        asked = [halves, SceneSwaps(str(folder))]
        found.append(
            World(
                "scenes", "zoo-scenes", reader, folder, folder, folder / "units.train.jsonl", asked
            )
        )
    if data is not None:
        folder = data.absolute() / "flickr8k"
        files = {
            "file": str(folder / "Flickr8k.token.txt"),
            "split": str(folder / "Flickr_8k.trainImages.txt"),
        }
        reader = {
            "class_path": "zoo.sources.readers.flickr_token.FlickrToken",
            "init_args": files,
        }
        found.append(
            World(
                "flickr8k",
                "zoo-tiny",
                reader,
                data.absolute(),
                folder / "Flickr8k.token.txt",
                None,
                [SugarCrepe()],
            )
        )
    return found


def prepare(world: World, folder: Path) -> None:
    """Puts units and the table of replacements where recipes look for them."""
    units, table = folder / "coco" / "units_train.jsonl", folder / "replacements.arrow"
    units.parent.mkdir(parents=True, exist_ok=True)
    if not units.exists() and world.units is not None:
        units.symlink_to(world.units)
    if not units.exists() and command(
        ["units", "extract", str(world.captions), "--out", str(units)]
    ):
        raise SystemExit("units could not be extracted")
    if not table.exists() and command(
        ["negatives", "build", str(world.captions), "--out", str(table)]
    ):
        raise SystemExit("the table of replacements could not be built")


def run(world: World, folder: Path, plan: Plan, recipe: str | None, first: Path) -> str:
    """Tunes the first tower with a recipe, asks, and returns a line to print.

    Where there is no recipe, it trains the first tower.
    """
    place = first if recipe is None else folder / recipe.removesuffix(".yaml")
    result = place / "result.json"
    if not result.exists():
        place.mkdir(exist_ok=True)
        words = shlex.split("zoo fit --config clip.yaml") if recipe is None else fit_command(recipe)
        settings = overlay(
            world, plan, recipe, place, None if recipe is None else first / "last.ckpt"
        )
        arguments = [*words[1:], "--data_root", str(folder), "--config", json.dumps(settings)]
        started = time.process_time()
        if status := command(arguments):
            raise SystemExit(f"zoo {shlex.join(arguments)} ended with {status}")
        seconds = time.process_time() - started
        model = zoo.load(place / "last.ckpt")
        assert isinstance(model, zoo.Model)
        metrics = [
            asdict(f) for f in zoo.evaluate(model, world.asked, data_root=world.images).metrics
        ]
        trained = sum(p.numel() for p in model.module.parameters() if p.requires_grad)
        about = {
            "world": world.name,
            "recipe": recipe or "clip.yaml, the first tower",
            "trained": trained,
            "seconds": seconds,
        }
        write_json(
            result,
            about | {"rows": settings["data"]["init_args"]["batch_size"], "metrics": metrics},
        )
        os.remove(place / "last.ckpt") if recipe is not None else None
    seconds = json.loads(result.read_text())["seconds"]
    return f"{world.name}: {recipe or 'first tower'}, {seconds:.0f} s"


def fit_command(recipe: str) -> list[str]:
    """Returns the first `zoo fit` of a recipe's comment, without its data root.

    Overlays that are left out are left out of it too.
    """
    lines = shipped_recipes()[recipe].read_text("utf-8").splitlines()
    words = iter(
        shlex.split(next(line.lstrip("# ") for line in lines if line.startswith("#   zoo fit ")))
    )
    kept = [next(words), next(words)]
    for flag, value in zip(words, words, strict=True):
        if flag != "--data_root" and value not in LEFT_OUT:
            kept += [flag, value]
    return kept


def overlay(
    world: World, plan: Plan, recipe: str | None, place: Path, first: Path | None
) -> dict[str, Any]:
    """Returns what is the same for all recipes, laid over one."""
    of_pairs = recipe is not None and recipe.startswith("tf_")
    rates = {
        "lr": plan.rate,
        "lr_head": plan.head_rate,
        "warmup_steps": None,
        "warmup_epochs": None,
        "warmup_share": 0.05,
    }
    model: dict[str, Any] = {
        "backbone": {
            "class_path": "zoo.backbones.backbone.Backbone",
            "init_args": {"name": world.tower, "pretrained": None if first is None else str(first)},
        },
        "optimizer": rates,
    }
    if of_pairs and recipe is not None:
        model["head"] = {"class_path": "zoo.heads.cross_modal.CrossModal", "init_args": SMALL_HEAD}
    data: dict[str, Any] = {
        "train": world.reader,
        "val": None,
        "val_share": None,
        "image_roots": [str(world.images)],
        "batch_size": plan.rows_of_pairs if of_pairs else plan.rows,
        "hard_images": False,
        "source_negatives": False,
        "expected_images": None,
        "workers": 0,
    }
    if recipe == "negclip.yaml":  # its negatives come with its own table
        data["negatives"] = {"class_path": "zoo.negatives.negclip_swap.NegCLIPSwap"}
    steps = plan.first_steps if first is None else plan.steps
    return {
        "model": model,
        "data": {"class_path": "zoo.datamodules.captions.CaptionDataModule", "init_args": data},
        "trainer": {
            "max_steps": steps,
            "max_epochs": 1000,
            "default_root_dir": str(place),
            "accelerator": "cpu",
            "precision": "32-true",
            "gradient_clip_val": 1.0,
            "logger": False,
            "enable_model_summary": False,
            "enable_progress_bar": False,
        },
        "last_checkpoint": {"dirpath": str(place)},
        "best_checkpoint": {"dirpath": str(place), "monitor": "val/loss"},
    }


if __name__ == "__main__":
    main()
