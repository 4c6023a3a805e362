r"""Does the order of methods change on bindings that training never had?

BindSplit asks this: scores on a benchmark mix what generalises with what is familiar, so methods
may change places where familiarity is taken out.

Hypothesis, written before any run. H1: every method tells fewer swaps on bindings that training
never had than on all. H2: the order of five methods on all swaps is not that on unseen bindings in
at least one of three seeds. H3: a change of order is seldom significant: of ten pairs of methods at
most one flips significantly in a seed (mid-p McNemar, Benjamini-Hochberg over the pairs, q of 5 %
on both splits and opposite signs), since few cases are of unseen bindings alone. Each is refuted by
the counts in the table.

Protocol. Scenes of two objects of 8 colours and 8 shapes (`zoo scenes grid`), 48 pixels, a block of
3 by 3 bindings held out. One tower a seed: CLIP from nothing, for few enough steps that swaps are
not all told. It is tuned on for equally many steps with CLIP, NegCLIP, CS-CLIP and FSC-CLIP, and
LabCLIP trains its map over it. Asked are attribute swaps of all scenes but those of training. Their
cases are split by the bindings of the training captions, as `zoo validate --familiar_with` does.
Where a case has one unseen binding, its swap has one too (mixed).

Every run is kept in the work folder and goes on where it was killed; table and plot are made of the
runs that are there.

    python benchmarks/studies/familiar_ranks.py --work_dir build/familiar_ranks --workers 2
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bindings_training import FrozenHead, GridTraining, SomeOfGrid, measure, render
from familiar_ranks_report import write_report
from two_stages import chosen, do, keep_plan, parser_of

from zoo.heads.linear import Linear
from zoo.optim import Optimization

RESULTS = Path(__file__).parents[1] / "results"
METHODS = ("CLIP", "NegCLIP", "CS-CLIP", "FSC-CLIP", "LabCLIP")


@dataclass(frozen=True)
class Plan:
    """Sizes. `first_steps` and `first_rate` are those of CLIP from nothing."""

    scenes: int = 8000
    batch: int = 128
    first_steps: int = 1200
    first_rate: float = 1e-3
    steps: int = 400
    rate: float = 5e-4
    linear_steps: int = 1000
    linear_rate: float = 1e-3
    asked: int = 2000


SMALL = Plan(scenes=150, batch=16, first_steps=3, steps=2, linear_steps=2, asked=6)


def main() -> None:
    parser = parser_of(__doc__, "familiar_ranks", RESULTS, Plan)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    if not arguments.report_only:
        study(
            arguments.work_dir, chosen(arguments, Plan(), SMALL), arguments.seeds, arguments.workers
        )
    plan = json.loads((arguments.work_dir / "plan.json").read_text())
    print(write_report(arguments.work_dir, plan, METHODS, arguments.out))


def study(work: Path, plan: Plan, seeds: Sequence[int], workers: int) -> None:
    """Does the runs that are not there yet, a few at a time."""
    keep_plan(work, plan)
    render(work / "scenes", plan.scenes, workers)
    do(
        workers,
        {seed: partial(train_first, work, plan, seed) for seed in seeds},
        lambda seed: (partial(run, work, plan, seed, method) for method in METHODS),
    )


def train_first(work: Path, plan: Plan, seed: int) -> str:
    """Trains a seed's tower with CLIP from nothing, and returns a line to print."""
    checkpoint = work / f"seed{seed}" / "first.pt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    training = GridTraining(
        work / "scenes",
        "CLIP",
        plan.batch,
        seed,
        1000 + seed,
        plan.first_steps,
        plan.first_rate,
    )
    training.run(checkpoint)
    return f"seed {seed}: a tower in {time.process_time() - start:.0f} s"


def run(work: Path, plan: Plan, seed: int, method: str) -> str:
    """Trains one method over a seed's tower, asks it, and returns a line to print."""
    scenes, folder = work / "scenes", work / f"seed{seed}"
    out = folder / method.lower()
    if (out / "results.json").exists():
        return f"seed {seed}: {method} was there"
    if method == "LabCLIP":
        training: GridTraining = FrozenHead(
            scenes,
            folder / "first.pt",
            Linear(),
            plan.batch,
            seed,
            plan.linear_steps,
            Optimization(lr=plan.linear_rate, weight_decay=0.0),
        )
    else:
        training = GridTraining(
            scenes, method, plan.batch, seed, 2000 + seed, plan.steps, plan.rate
        )
        training.start_from(folder / "first.pt")
    start = time.process_time()
    training.run(folder / f"{method.lower()}.pt")
    seconds = time.process_time() - start
    benchmark = SomeOfGrid(str(scenes), plan.asked, whole=True)
    results = measure(training.module.eval(), benchmark, out, str(scenes / "units.train.jsonl"))
    value = results.value("scene_grid", "all", "i2t") or float("nan")
    return f"seed {seed}: {method} in {seconds:.0f} s, swaps {value:.1f} %"


if __name__ == "__main__":
    main()
