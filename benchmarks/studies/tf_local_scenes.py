r"""Do frozen towers hold what their cosine does not show?

This is TF-Local's claim, put to the test on rendered scenes.

The towers are those of the scenes study: CLIP trained from nothing, one a seed, frozen here. Over
each, cosine and MaxSim are asked as they are, and the cross-modal transformer is trained on the
pooled vectors (TF-Global) and on patches and words (TF-Local), with TF-Local's protocol: AdamW,
learning rate with 10 % warm-up and cosine, all pairs of a batch scored. Each once on batches as
they come (the paper's COCO) and once with a caption with exchanged colours or arguments beside
every caption, for as many scored pairs a step. Asked are attribute swaps and half-truths of scenes,
and of colour-shape pairs, that training never had. Every run is kept in the work folder and goes on
where it was killed.

    python benchmarks/studies/tf_local_scenes.py --scenes build/scenes_study/scenes \
        --towers build/scenes_study --work_dir build/tf_local_scenes
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from scenes_data import SPLITS, Steps, read_cases
from scenes_training import Training, ask, write_json
from tf_local_report import write_report

from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, Encoded, concatenate
from zoo.benchmarks.base import Case
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.max_sim import MaxSim
from zoo.module import ZooModule
from zoo.optim import Optimization
from zoo.scenes.cache import render_scenes

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Plan:
    """Sizes.

    `first_steps`, `first_rate` and `first_batch` are of a tower that has to be trained here,
    `layers`, `width` and `ffn` of the transformer. `batch` has the rows of a step on batches as
    they come, and `half_truths` the cases asked of a condition and split.
    """

    first_steps: int
    first_rate: float
    first_batch: int
    layers: int
    width: int
    ffn: int
    steps: int
    rate: float
    batch: int
    half_truths: int


@dataclass(frozen=True)
class Arm:
    """A head and what it is trained on.

    `granularity` is that of the transformer, None for a head that is asked as it is, which is
    `as_it_is`. `swaps` says whether captions bring a swap.
    """

    name: str
    granularity: str | None = None
    swaps: bool = False
    as_it_is: type[Head] = Cosine


ARMS = (
    Arm("cosine"),
    Arm("MaxSim", as_it_is=MaxSim),
    Arm("TF-Global", "global"),
    Arm("TF-Local", "local"),
    Arm("TF-Global + swaps", "global", swaps=True),
    Arm("TF-Local + swaps", "local", swaps=True),
)


class HeadTraining(Training):
    """A head over a frozen tower; its images are encoded once and kept in memory."""

    def __init__(self, folder: Path, tower: Path, arm: Arm, plan: Plan, seed: int) -> None:
        self.rows = round(plan.batch / 2**0.5) if arm.swaps else plan.batch  # as many pairs a step
        super().__init__(
            folder,
            "NegCLIP" if arm.swaps else "CLIP",
            self.rows,
            seed,
            3000 + seed,
            plan.steps,
            plan.rate,
        )
        self.start_from(tower)
        torch.manual_seed(seed)
        if arm.granularity is not None:
            backbone = self.module.backbone.requires_grad_(False)
            self.module = self.over(backbone, head_of(arm.granularity, plan))
            self.batches = Cached(self.batches, self.features())  # type: ignore[assignment]
            built = Optimization(
                lr=plan.rate, weight_decay=1e-7, betas=(0.9, 0.95), eps=1e-8, warmup_share=0.1
            ).build(self.module.named_parameters(), self.module.learning_rate_part, plan.steps, 1)
            self.optimizer, self.schedule = built["optimizer"], built["lr_scheduler"]["scheduler"]
        else:
            self.module, self.steps = (
                self.over(self.module.backbone, arm.as_it_is()),
                0,
            )

    def over(self, backbone: Backbone, head: Head) -> ZooModule:
        """Returns a module of this training's objective and masks with another head."""
        return ZooModule(
            backbone,
            self.module.objective,
            head,
            mask_same_image=self.module.mask_same_image,
            mask_same_text=self.module.mask_same_text,
        )

    @torch.no_grad()
    def features(self) -> Encoded:
        """Returns the training images, encoded."""
        pictures, module = self.batches.pictures, self.module.eval()
        ids = list(pictures.rows)
        parts = [
            module.backbone.encode_images(pictures[ids[i : i + 256]], module.image_keys)
            for i in range(0, len(ids), 256)
        ]
        module.train()
        return concatenate(parts)


@dataclass(frozen=True)
class Cached:
    """Batches whose images come encoded."""

    steps: Steps
    features: Encoded

    def __getitem__(self, step: int) -> Batch:
        batch = self.steps[step]
        return replace(batch, images=self.features.rows(batch.samples))


def head_of(granularity: Any, plan: Plan) -> Head:
    return CrossModal(granularity, plan.layers, plan.width, plan.ffn, attention_heads=2, chunk=256)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--scenes",
        type=Path,
        default=Path("build/scenes_study/scenes"),
        help="folder of scenes, rendered where absent",
    )
    parser.add_argument(
        "--n-scenes", type=int, default=6000, help="how many are rendered where absent"
    )
    parser.add_argument(
        "--towers",
        type=Path,
        default=Path("build/scenes_study"),
        help="folder with seedN/first.pt of the scenes study",
    )
    parser.add_argument("--work_dir", type=Path, default=Path("build/tf_local_scenes"))
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="folder of metrics, table and plot"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    defaults = Plan(
        3000,
        1e-3,
        128,
        layers=2,
        width=64,
        ffn=128,
        steps=2000,
        rate=1e-3,
        batch=16,
        half_truths=200,
    )
    for name, value in asdict(defaults).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    arguments = parser.parse_args()
    plan = Plan(**{name: getattr(arguments, name) for name in asdict(defaults)})
    if not (arguments.scenes / "captions.jsonl").exists():
        render_scenes(arguments.scenes, arguments.n_scenes)
    kept = arguments.work_dir / "plan.json"
    if kept.exists() and (there := json.loads(kept.read_text())) != asdict(plan):
        raise SystemExit(
            f"{arguments.work_dir} has runs of another plan, {there}: name another --work_dir"
        )
    write_json(kept, asdict(plan))
    cases = {
        split: some(all_, plan.half_truths) for split, all_ in read_cases(arguments.scenes).items()
    }
    for seed in arguments.seeds:
        tower = find_tower(arguments.scenes, arguments.towers, arguments.work_dir, plan, seed)
        for arm in ARMS:
            print(
                run(arguments.scenes, arguments.work_dir, tower, plan, seed, arm, cases), flush=True
            )
    runs = [
        json.loads(path.read_text()) for path in sorted(arguments.work_dir.glob("seed*/*.json"))
    ]
    print(write_report(runs, asdict(plan), arguments.out))


def find_tower(scenes: Path, towers: Path, work: Path, plan: Plan, seed: int) -> Path:
    """Returns the weights of a seed's tower.

    It is the study's where its training is done, else one trained here in the same way.
    """
    for tower in (towers / f"seed{seed}" / "first.pt", work / f"seed{seed}" / "tower.pt"):
        if tower.exists() and torch.load(tower)["done"] == plan.first_steps:
            return tower
    print(
        f"seed {seed}: no tower of {plan.first_steps} steps in {towers}, training one", flush=True
    )
    tower.parent.mkdir(parents=True, exist_ok=True)
    Training(
        scenes, "CLIP", plan.first_batch, seed, 1000 + seed, plan.first_steps, plan.first_rate
    ).run(tower)
    return tower


def some(cases: list[Case], half_truths: int) -> list[Case]:
    """Returns every swap and the first half-truths of each condition."""
    asked: dict[str, int] = {}
    chosen = []
    for case in cases:
        key = "" if case.protocol == "i2t" else case.subset
        asked[key] = asked.get(key, 0) + 1
        if not key or asked[key] <= half_truths:
            chosen.append(case)
    return chosen


def run(
    scenes: Path,
    work: Path,
    tower: Path,
    plan: Plan,
    seed: int,
    arm: Arm,
    cases: dict[str, list[Case]],
) -> str:
    """Trains and asks one arm, and returns a line to print."""
    result = work / f"seed{seed}" / f"{arm.name.lower().replace(' + ', '_')}.json"
    if not result.exists():
        training = HeadTraining(scenes, tower, arm, plan, seed)
        started = time.process_time()
        result.parent.mkdir(parents=True, exist_ok=True)
        losses = training.run(result.with_suffix(".pt"))[-50:]
        seconds = time.process_time() - started
        trained = (
            [p for p in training.module.head.parameters() if p.requires_grad]
            if arm.granularity
            else []
        )
        about = {
            "arm": arm.name,
            "seed": seed,
            "steps": training.steps,
            "rows": training.rows,
            "seconds": seconds,
        }
        metrics = {split: ask(training, scenes, cases[split]) for split in SPLITS}
        write_json(
            result,
            about
            | {
                "parameters": sum(p.numel() for p in trained),
                "last_loss": sum(losses) / max(len(losses), 1),
                "metrics": metrics,
            },
        )
    done = json.loads(result.read_text())
    told = ", ".join(
        f"{split} {done['metrics'][split]['swaps']['value']:.1f} %" for split in SPLITS
    )
    return (
        f"seed {seed}: {arm.name}, {done['steps']} steps in {done['seconds']:.0f} s, swaps {told}"
    )


if __name__ == "__main__":
    main()
