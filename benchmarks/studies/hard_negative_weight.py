r"""What does composition cost, and do FSC-CLIP's loss and WiSE-FT lower the price?

This is FSC-CLIP's claim (Oh et al., 2024): a global hard-negative loss, as NegCLIP's, buys
composition with zero-shot recognition and retrieval, while a local loss with focal and smoothed
targets keeps them.

Hypothesis, written before any run. H1: for the global loss, the larger the weight of hard
negatives, the higher the accuracy on swaps and the lower the recall of captions among all. H2: at
equal accuracy on swaps FSC-CLIP's losses keep more recall: their curve lies above that of the
global loss. H3: on the straight line between the weights before and after tuning (WiSE-FT) there is
a point with more recall than after tuning that keeps half of the gain in swaps. Each is refuted
where the mean over three seeds points the other way.

Protocol. Scenes of two objects (`zoo scenes render`), 48 pixels. One tower a seed: CLIP from
nothing. It is tuned on for equally many steps, from equal batches, with CLIP's loss plus a weight
(0.25, 0.5, 1, 2, 4) times a hard-negative loss over the same three negatives a caption (a swap and
two foils in the sentence): `global` is cross-entropy over pooled vectors; `FSC-CLIP` is the global
and the local loss, in the paper's ratio of 0.5 to 0.2 of which the weight is the first, focal and
smoothed as published. Weight 0 is CLIP. Asked of scenes that training never had: attribute swaps,
half-truths of eight conditions, recall at 1 among all captions of the scenes, where every caption
that is true of an image is right (`retrieval`), and which of the 24 phrases of a colour and a shape
is in the image (`zero-shot`). WiSE-FT takes a quarter, a half and three quarters of the way to the
runs of weight 1.

Every run is kept in the work folder and goes on where it was killed; table and plot are made of the
runs that are there.

    python benchmarks/studies/hard_negative_weight.py --work_dir build/weights --workers 2
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from bindings_training import measure
from hard_negative_weight_report import write_report
from scenes_data import read_cases
from scenes_training import Arm, Training, ask, write_json
from two_stages import chosen, do, keep_plan, parser_of

from zoo.benchmarks.base import Case
from zoo.benchmarks.scene_folders import SceneFolder, scene_image
from zoo.benchmarks.scene_swaps import SceneSwaps
from zoo.objectives.clip import CLIP
from zoo.objectives.fsc_clip import FSCCLIP
from zoo.scenes.cache import SceneCaption, read_lines, render_scenes
from zoo.scenes.captions import ObjectPhrase, statement_holds
from zoo.scenes.graph import COLORS, OPPOSITE, SHAPES, SceneGraph

RESULTS = Path(__file__).parents[1] / "results"
WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)
LOSSES = ("global", "FSC-CLIP")
ALPHAS = (0.25, 0.5, 0.75)  # of the way from the tower to what it was tuned to
INTERPOLATED = 1.0  # the weight whose runs are interpolated
LOCAL = 0.2 / 0.5  # weight of the local loss for 1 of the global one, as published


@dataclass(frozen=True)
class Plan:
    """Sizes. `first_steps` and `first_rate` are those of CLIP from nothing."""

    scenes: int = 6000
    batch: int = 128
    first_steps: int = 1500
    first_rate: float = 1e-3
    steps: int = 250
    rate: float = 5e-4
    asked: int = 300


SMALL = Plan(scenes=100, batch=16, first_steps=3, steps=2, asked=4)


def arms() -> dict[str, Arm]:
    """Returns the arms by the name of loss and weight."""
    made = {"CLIP": Arm(CLIP, 3, False)}
    for weight in WEIGHTS:
        plain = partial(FSCCLIP, weight, lambda_l=0.0, gamma=0.0, beta=0.0)
        made[f"global {weight:g}"] = Arm(plain, 3, False)
        made[f"FSC-CLIP {weight:g}"] = Arm(partial(FSCCLIP, weight, LOCAL * weight), 3, False)
    return made


class Weighted(Training):
    """A tower that is tuned with one of the losses."""

    arms: ClassVar[dict[str, Arm]] = arms()


class TrueCaptions(SceneFolder):
    """Images of the split `test` among all their captions, and among 24 phrases.

    Args:
        folder: A folder of scenes.
        most: How many scenes are asked about.
    """

    name = "true_captions"
    subset_names = ("test",)
    default_folder, scenes_command, chance_levels = (
        SceneSwaps.default_folder,
        SceneSwaps.scenes_command,
        MappingProxyType({}),
    )

    def __init__(self, folder: str, most: int) -> None:
        super().__init__(folder)
        self.most = most

    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        images = {row.image_id: scene_image(folder, row) for row in rows}
        kept = dict(list(images.items())[: self.most])
        graphs = {
            f"images/{row['id']}.png": SceneGraph.from_dict(row)
            for row in read_lines(folder, "scenes.jsonl")
        }
        captions = list(dict.fromkeys(row.caption for row in rows if row.image_id in kept))
        phrases = {f"a {c} {s}": (c, s) for c, s in product(COLORS, SHAPES)}
        shown = {i: [o.pair for o in graphs[i].objects] for i in kept}
        galleries = {
            "retrieval": [(text, [true(graphs[i], text) for i in kept]) for text in captions],
            "zero-shot": [(text, [p in shown[i] for i in kept]) for text, p in phrases.items()],
        }
        for subset, found in galleries.items():
            texts, right = zip(*found, strict=True)
            match = np.array(right).T
            yield Case(tuple(kept.values()), texts, match, "retrieval", subset, "all")


def true(graph: SceneGraph, caption: str) -> bool:
    """Returns whether a caption is true of a scene."""
    predicate = next((p for p in OPPOSITE if f" {p} " in caption), "and")
    phrases = []
    for part in caption.split(f" {predicate} "):
        color, shape = [word for word in part.split() if word != "is"][-2:]
        phrases.append(ObjectPhrase(shape, color))
    return statement_holds(graph, phrases[0], predicate, phrases[1])


def main() -> None:
    parser = parser_of(__doc__, "hard_negative_weight", RESULTS, Plan)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--weights", type=float, nargs="+", default=WEIGHTS, choices=WEIGHTS)
    arguments = parser.parse_args()
    if not arguments.report_only:
        study(
            arguments.work_dir,
            chosen(arguments, Plan(), SMALL),
            arguments.seeds,
            arguments.weights,
            arguments.workers,
        )
    runs = [
        json.loads(path.read_text()) for path in sorted(arguments.work_dir.glob("seed*/*.json"))
    ]
    kept = json.loads((arguments.work_dir / "plan.json").read_text())
    print(write_report(runs, kept, LOSSES, arguments.out))


def study(
    work: Path, plan: Plan, seeds: Sequence[int], weights: Sequence[float], workers: int
) -> None:
    """Does the runs that are not there yet, a few at a time."""
    keep_plan(work, plan)
    render_scenes(work / "scenes", plan.scenes, workers=workers)
    tuned = [("CLIP", 0.0), *product(LOSSES, weights)]
    do(
        workers,
        {seed: partial(train_first, work, plan, seed) for seed in seeds},
        lambda seed: (partial(run, work, plan, seed, *how) for how in tuned),
    )


def train_first(work: Path, plan: Plan, seed: int) -> str:
    """Trains a seed's tower with CLIP from nothing, asks it, and returns a line to print."""
    result = work / f"seed{seed}" / "first.json"
    training = Weighted(
        work / "scenes", "CLIP", plan.batch, seed, 1000 + seed, plan.first_steps, plan.first_rate
    )
    result.parent.mkdir(parents=True, exist_ok=True)
    start = time.process_time()
    training.run(result.with_suffix(".pt"))
    if not result.exists():
        about = {"seed": seed, "loss": "before", "weight": 0.0, "alpha": 0.0}
        write_json(result, about | {"metrics": asked(training, work / "scenes", plan)})
    return f"seed {seed}: a tower in {time.process_time() - start:.0f} s"


def run(work: Path, plan: Plan, seed: int, loss: str, weight: float) -> str:
    """Tunes a seed's tower with one loss, asks it, and returns a line to print."""
    arm = f"{loss} {weight:g}" if weight else loss
    result = work / f"seed{seed}" / f"{arm.lower().replace(' ', '_')}.json"
    if result.exists():
        return f"seed {seed}: {arm} was there"
    first = work / f"seed{seed}" / "first.pt"
    training = Weighted(work / "scenes", arm, plan.batch, seed, 2000 + seed, plan.steps, plan.rate)
    training.start_from(first)
    start = time.process_time()
    training.run(result.with_suffix(".pt"))
    seconds = time.process_time() - start
    about = {"seed": seed, "loss": loss, "weight": weight}
    if weight == INTERPOLATED:
        before, after = torch.load(first)["module"], training.module.state_dict()
        after = {name: tensor.clone() for name, tensor in after.items()}
        for alpha in ALPHAS:
            mixed = {name: torch.lerp(before[name], after[name], alpha) for name in after}
            training.module.load_state_dict(mixed)
            metrics = asked(training, work / "scenes", plan)
            between = result.with_name(f"{result.stem}_alpha_{alpha:g}.json")
            write_json(between, about | {"alpha": alpha, "metrics": metrics})
        training.module.load_state_dict(after)
    # the run's own file comes last, so that a run that has it has those between as well
    metrics = asked(training, work / "scenes", plan)
    write_json(result, about | {"alpha": 1.0, "seconds": seconds, "metrics": metrics})
    return (
        f"seed {seed}: {arm} in {seconds:.0f} s, swaps {metrics['swaps']['value']:.1f} %, "
        f"retrieval {metrics['retrieval']['value']:.1f} %"
    )


def asked(training: Training, scenes: Path, plan: Plan) -> dict[str, Any]:
    """Returns swaps, half-truths, retrieval and zero-shot of scenes that training never had."""
    found = ask(training, scenes, read_cases(scenes)["test"])
    results = measure(training.module.eval(), TrueCaptions(str(scenes), plan.asked))
    training.module.train()
    recalls = {
        metric.subset: {name: getattr(metric, name) for name in ("value", "low", "high", "n")}
        for metric in results.metrics
        if metric.metric == "i2t_r@1"
    }
    return {name: found[name] for name in ("swaps", "half_truth", "completion")} | recalls


if __name__ == "__main__":
    main()
