r"""Do heads over frozen towers bind what the towers' cosine does not?

This is the claim of "The role of inference" (Miranda et al., 2026): compositional failures come
from comparing pooled vectors, and a head that aligns patches with words finds the bindings that a
frozen tower holds, better than one over pooled vectors, and on bindings that training never had.

Hypothesis, written before any run. Let c be the accuracy of a tower's cosine on attribute swaps.
H1: where c is near chance, since training did not force binding, TF-Local gains over the cosine on
seen bindings, and more than LabCLIP and TF-Global do. H2: the gain falls as c rises, and is nothing
or a loss where c is near 100 %. H3: on bindings that training never had, TF-Local keeps more of its
gain than full fine-tuning does. H4: structure-guided inference, which trains nothing, gains where c
is near chance. Each is refuted where the mean over three seeds points the other way.

Protocol. Scenes of two objects of 8 colours and 8 shapes (`zoo scenes grid`), 48 pixels, a block of
3 by 3 bindings held out. A tower a seed and a share: CLIP from nothing on captions of which a share
(0, 0.5, 0.9, 1) has its words shuffled, anew each time. Frozen, its heads are trained on true
captions with three negatives beside each: the colours exchanged, and two with one object's colour
or shape changed. LabCLIP's linear map and full fine-tuning of the tower take NegCLIP's loss over
all pairs of a batch. TF-Global and TF-Local, of 4 layers in batches of 50 and with the paper's
AdamW, choose among a caption and its own negatives: the paper's all pairs of 50 take 5 to 15
seconds a step on a CPU. Their steps are what fits into `--minutes` of processor time at the
measured pace, at most `--head-steps`; the last loss is reported beside what guessing gives. Cosine,
MaxSim and SGI (86 crops, segments by rule) are asked as they are. Asked are swaps (chance 50 %) and
the right caption among all 3,136, by how many bindings training never had; SGI on fewer scenes, and
its gain is over the cosine on those. Three seeds; intervals are over scenes, seeds are shown one by
one.

Every run is kept in the work folder and goes on where it was killed; table and plot are made of the
runs that are there.

    python benchmarks/studies/binding_heads.py --work_dir build/binding_heads --workers 2
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from binding_heads_report import write_report
from bindings_training import FOILED, FrozenHead, GridTraining, SomeOfGrid, measure, numbers, render
from scenes_training import seconds_a_step, write_json
from two_stages import chosen, do, keep_plan, parser_of

from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.heads.max_sim import MaxSim
from zoo.heads.structure_guided import StructureGuided
from zoo.optim import Optimization
from zoo.regions_and_phrases.crops import Grid as GridViews
from zoo.regions_and_phrases.phrases import Coarse

RESULTS = Path(__file__).parents[1] / "results"
SHARES = (0.0, 0.5, 0.9, 1.0)
AS_THEY_ARE = ("cosine", "MaxSim", "SGI")
TRAINED = ("LabCLIP", "TF-Global", "TF-Local")
TUNED = "full fine-tuning"
METHODS = (*AS_THEY_ARE, *TRAINED, TUNED)


@dataclass(frozen=True)
class Plan:
    """Sizes. `batch`, `steps` and `rate` are the tower's, those of a head begin with its word."""

    scenes: int = 8000
    batch: int = 128
    steps: int = 1500
    rate: float = 1e-3
    tune_steps: int = 300
    tune_rate: float = 5e-4
    linear_batch: int = 128
    linear_steps: int = 1000
    linear_rate: float = 1e-3
    head_batch: int = 50
    head_steps: int = 3000
    head_rate: float = 1e-3
    layers: int = 4
    width: int = 64
    ffn: int = 256
    minutes: float = 8.0
    asked: int = 200
    asked_views: int = 60


SMALL = Plan(
    scenes=75,
    batch=16,
    steps=4,
    tune_steps=2,
    linear_batch=8,
    linear_steps=3,
    head_batch=4,
    head_steps=3,
    layers=1,
    width=16,
    ffn=16,
    asked=3,
    asked_views=1,
)


def main() -> None:
    parser = parser_of(__doc__, "binding_heads", RESULTS, Plan)
    parser.add_argument("--seeds", type=int, nargs="+")
    parser.add_argument("--shares", type=float, nargs="+")
    arguments = parser.parse_args()
    if not arguments.report_only:
        seeds = arguments.seeds or ([0] if arguments.small else [0, 1, 2])
        shares = arguments.shares or (SHARES[-1:] if arguments.small else SHARES)
        study(
            arguments.work_dir, chosen(arguments, Plan(), SMALL), seeds, shares, arguments.workers
        )
    runs = [
        json.loads(path.read_text()) for path in sorted(arguments.work_dir.glob("seed*/*.json"))
    ]
    plan = json.loads((arguments.work_dir / "plan.json").read_text())
    print(write_report(runs, plan, METHODS, arguments.out))


def study(
    work: Path, plan: Plan, seeds: Sequence[int], shares: Sequence[float], workers: int
) -> None:
    """Does the runs that are not there yet, a few at a time."""
    keep_plan(work, plan)
    render(work / "scenes", plan.scenes, workers)
    do(
        workers,
        {
            (seed, share): partial(train_tower, work, plan, seed, share)
            for seed, share in product(seeds, shares)
        },
        lambda tower: (partial(run, work, plan, *tower, method) for method in METHODS),
    )


def folder_of(work: Path, seed: int, share: float) -> Path:
    folder = work / f"seed{seed}_share{share:g}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def train_tower(work: Path, plan: Plan, seed: int, share: float) -> str:
    """Trains a tower with CLIP from nothing, and returns a line to print."""
    checkpoint = folder_of(work, seed, share) / "tower.pt"
    training = GridTraining(
        work / "scenes", "CLIP", plan.batch, seed, 1000 + seed, plan.steps, plan.rate, share=share
    )
    start = time.process_time()
    training.run(checkpoint)
    return f"seed {seed}, {share:g} shuffled: a tower in {time.process_time() - start:.0f} s"


def run(work: Path, plan: Plan, seed: int, share: float, method: str) -> str:
    """Trains what a method trains over a tower, asks it, and returns a line to print."""
    folder = folder_of(work, seed, share)
    result = folder / f"{method.lower().replace(' ', '_')}.json"
    if not result.exists():
        training = training_of(work, plan, seed, folder / "tower.pt", method)
        start = time.process_time()
        losses = training.run(result.with_suffix(".pt")) if training.steps else []
        seconds = time.process_time() - start
        module, scenes = training.module.eval(), str(work / "scenes")
        most = plan.asked_views if method == "SGI" else plan.asked
        about: dict[str, Any] = {"seed": seed, "share": share, "method": method}
        about |= {"steps": training.steps, "seconds": seconds}
        about["last_loss"] = sum(losses[-50:]) / max(len(losses[-50:]), 1)
        about["metrics"] = numbers(measure(module, SomeOfGrid(scenes, most)))
        if method == "cosine":  # on the scenes that SGI is asked about, for its gain
            few = SomeOfGrid(scenes, plan.asked_views)
            about["of_few"] = numbers(measure(module, few))
        write_json(result, about)
    done = json.loads(result.read_text())
    told = ", ".join(f"{s} {m['i2t']['value']:.1f} %" for s, m in done["metrics"].items())
    return f"seed {seed}, {share:g} shuffled: {method}, {done['steps']} steps, swaps {told}"


def training_of(work: Path, plan: Plan, seed: int, tower: Path, method: str) -> GridTraining:
    """Returns the training of a method, of no steps where it is asked as it is."""
    scenes = work / "scenes"
    if method == TUNED:
        tuning = GridTraining(
            scenes, FOILED, plan.batch, seed, 2000 + seed, plan.tune_steps, plan.tune_rate
        )
        tuning.start_from(tower)
        return tuning
    if method == "LabCLIP":
        optimization = Optimization(lr=plan.linear_rate, weight_decay=0.0)
        return FrozenHead(
            scenes, tower, Linear(), plan.linear_batch, seed, plan.linear_steps, optimization
        )
    if method in AS_THEY_ARE:
        heads: dict[str, Callable[[], Head]] = {
            "cosine": Cosine,
            "MaxSim": MaxSim,
            "SGI": structure_guided,
        }
        return FrozenHead(scenes, tower, heads[method](), 1, seed, 0, Optimization(lr=1e-3))
    optimization = Optimization(
        lr=plan.head_rate, weight_decay=1e-7, betas=(0.9, 0.95), eps=1e-8, warmup_share=0.1
    )

    def made(steps: int) -> FrozenHead:
        head = transformer(method, plan)
        return FrozenHead(scenes, tower, head, plan.head_batch, seed, steps, optimization)

    return made(affordable(work / f"pace_{method.lower()}.json", plan, made))


def affordable(kept: Path, plan: Plan, made: Callable[[int], FrozenHead]) -> int:
    """Returns how many steps of a head fit into the minutes, by a pace that is measured once."""
    if not kept.exists():
        write_json(kept, sorted(seconds_a_step(made(8), 5))[2])
    return min(plan.head_steps, max(1, int(60 * plan.minutes / json.loads(kept.read_text()))))


def transformer(method: str, plan: Plan) -> Head:
    granularity: Any = method.removeprefix("TF-").lower()
    return CrossModal(granularity, plan.layers, plan.width, plan.ffn, attention_heads=4, chunk=512)


def structure_guided() -> Head:
    return StructureGuided(GridViews(), Coarse())


if __name__ == "__main__":
    main()
