"""Does component supervision help against half-truths?

CLIP, NegCLIP and CS-CLIP are compared on rendered scenes, at equal steps and at equal compute.

One small tower a seed is trained with CLIP from nothing, then tuned on with each objective.
`NegCLIP + foils` is the control: it gets the foils that CS-CLIP gets, but inside its sentences, as
two more negatives a caption. Equal compute: as many steps as take the processor time of CS-CLIP's.
Asked are scenes, and colour-shape pairs, that training never had. Every run is kept in the work
folder and goes on where it was killed; the report is made of the runs that are there.

    python benchmarks/studies/scenes_study.py --work_dir build/scenes_study --workers 2
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from scenes_data import SPLITS, read_cases
from scenes_report import write_report
from scenes_training import ARMS, Training, ask, seconds_a_step, write_json
from two_stages import do

from zoo.scenes.cache import render_scenes

RESULTS = Path(__file__).parents[1] / "results"
BUDGETS = ("steps", "compute")
REFERENCE = "CS-CLIP"  # the arm whose compute the others get


@dataclass(frozen=True)
class Plan:
    """Sizes of the study.

    `first_steps` and `first_rate` are those of CLIP from nothing, `steps` and `rate` of tuning.
    """

    scenes: int
    batch: int
    first_steps: int
    first_rate: float
    steps: int
    rate: float


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work_dir",
        type=lambda path: Path(path).absolute(),
        default="build/scenes_study",
        help="folder of scenes and runs",
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of table and plot")
    parser.add_argument("--scenes", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--first-steps", type=int, default=3000)
    parser.add_argument("--first-rate", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--workers", type=int, default=2, help="processes of one core each")
    parser.add_argument(
        "--report-only", action="store_true", help="make table and plot of the runs that are there"
    )
    arguments = parser.parse_args()
    plan = Plan(**{name: getattr(arguments, name) for name in Plan.__dataclass_fields__})
    if not arguments.report_only:
        study(arguments.work_dir, plan, arguments.seeds, arguments.workers)
    runs = [
        json.loads(path.read_text()) for path in sorted(arguments.work_dir.glob("seed*/*.json"))
    ]
    kept = json.loads((arguments.work_dir / "plan.json").read_text())
    cases = read_cases(arguments.work_dir / "scenes")
    print(write_report(runs, kept, cases, arguments.out))


def study(work: Path, plan: Plan, seeds: list[int], workers: int) -> None:
    """Does the runs that are not there yet, a few at a time."""
    kept = work / "plan.json"
    if kept.exists() and (there := json.loads(kept.read_text())["plan"]) != asdict(plan):
        raise SystemExit(f"{work} has runs of another plan, {there}: name another --work_dir")
    render_scenes(work / "scenes", plan.scenes, workers=workers)
    if not kept.exists():
        paces = pace(work / "scenes", plan)
        write_json(kept, {"plan": asdict(plan), "seconds_a_step": paces})
    paces = json.loads(kept.read_text())["seconds_a_step"]
    do(
        workers,
        {seed: partial(train_first, work, plan, seed) for seed in seeds},
        lambda seed: (partial(tune, work, plan, seed, *how) for how in tunings(plan, paces)),
    )


def tunings(plan: Plan, paces: dict[str, float]) -> list[tuple[str, int, str]]:
    """Returns (arm, steps, budget) of a seed's runs.

    The arm whose compute is the measure has one run for both budgets.
    """
    equal_steps = [(arm, plan.steps, "steps") for arm in ARMS]
    return equal_steps + [
        (arm, round(plan.steps * paces[REFERENCE] / paces[arm]), "compute")
        for arm in ARMS
        if arm != REFERENCE
    ]


def pace(folder: Path, plan: Plan, n: int = 12) -> dict[str, float]:
    """Returns the median processor seconds of a step by arm.

    The arms are taken in turns, so that a busy machine is the same to all.
    """
    trainings = {arm: Training(folder, arm, plan.batch, 0, 0, 10 * n, plan.rate) for arm in ARMS}
    times: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for _ in range(n):
        for arm, training in trainings.items():
            times[arm] += seconds_a_step(training, 1)
    return {arm: median(seconds[2:]) for arm, seconds in times.items()}


def train_first(work: Path, plan: Plan, seed: int) -> str:
    """Trains a seed's tower with CLIP from nothing, and returns a line to print."""
    result = work / f"seed{seed}" / "first.json"
    if result.exists():
        return f"seed {seed}: first training was there"
    training = Training(
        work / "scenes", "CLIP", plan.batch, seed, 1000 + seed, plan.first_steps, plan.first_rate
    )
    return finish(
        work,
        training,
        result,
        result.with_suffix(".pt"),
        {"arm": "before", "seed": seed, "budget": "first"},
    )


def tune(work: Path, plan: Plan, seed: int, arm: str, steps: int, budget: str) -> str:
    """Tunes a seed's tower with one arm, and returns a line to print.

    Arms of a seed see the same images and captions step by step.
    """
    result = work / f"seed{seed}" / f"{arm.lower().replace(' + ', '_')}_{budget}.json"
    if result.exists():
        return f"seed {seed}: {arm} at equal {budget} was there"
    training = Training(work / "scenes", arm, plan.batch, seed, 2000 + seed, steps, plan.rate)
    training.start_from(work / f"seed{seed}" / "first.pt")
    line = finish(
        work,
        training,
        result,
        result.with_suffix(".pt"),
        {"arm": arm, "seed": seed, "budget": budget},
    )
    result.with_suffix(".pt").unlink()
    return line


def finish(
    work: Path, training: Training, result: Path, checkpoint: Path, about: dict[str, Any]
) -> str:
    """Trains to the end, asks and writes the result."""
    result.parent.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    losses = training.run(checkpoint)
    seconds = time.process_time() - start
    cases = read_cases(work / "scenes")
    metrics = {split: ask(training, work / "scenes", cases[split]) for split in SPLITS}
    last = losses[-50:]
    run = about | {
        "steps": training.steps,
        "seconds": seconds,
        "last_loss": sum(last) / max(len(last), 1),
        "metrics": metrics,
    }
    write_json(result, run)
    test = metrics["test"]
    return (
        f"seed {about['seed']}: {about['arm']} at equal {about['budget']}, {training.steps} steps "
        f"in {seconds:.0f} s: half-truths {test['half_truth']['value']:.1f} %, swaps "
        f"{test['swaps']['value']:.1f} %"
    )


if __name__ == "__main__":
    main()
