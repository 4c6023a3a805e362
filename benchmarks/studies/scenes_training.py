"""One tower of the study of rendered scenes.

It is trained from nothing or tuned on, killed at any time and continued, then asked.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from scenes_data import WORDS, Steps, Texts, read_pictures

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import TextInput
from zoo.batch import concatenate
from zoo.benchmarks.base import Case
from zoo.module import ZooModule
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.objectives.negclip import NegCLIP
from zoo.optim import Optimization
from zoo.results.statistics import Observations, interval, wilson
from zoo.scenes.cache import read_lines

SAVE_EVERY = 250
# what `Pictures` does, for an evaluation by zoo
AS_TRAINED = {"mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}


@dataclass(frozen=True)
class Arm:
    """What is tuned with what. negatives and units: as in `Steps`."""

    objective: Callable[[], Objective]
    negatives: int
    units: bool


ARMS = {
    "CLIP": Arm(CLIP, 0, False),
    "NegCLIP": Arm(NegCLIP, 1, False),
    "NegCLIP + foils": Arm(NegCLIP, 3, False),
    "CS-CLIP": Arm(CSCLIP, 1, True),
}


class Training:
    """A tower, what it is trained for and the batches that it sees.

    `batch_seed` settles the batches, and `seed` the weights. `words` has all words of captions.
    """

    words: ClassVar[Sequence[str]] = WORDS
    arms: ClassVar[dict[str, Arm]] = ARMS

    def __init__(
        self,
        folder: Path,
        arm: str,
        batch: int,
        seed: int,
        batch_seed: int,
        steps: int,
        rate: float,
    ) -> None:
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        chosen = self.arms[arm]
        backbone = Backbone(
            "zoo-scenes",
            text=TextInput(lengths=(4, 6, 8, 10, 12, 14, 16)),
            preprocess=AS_TRAINED,
        )
        self.texts = Texts(backbone, self.words)
        # the same text is true of many scenes of a batch: texts known to be true of an image are no
        # candidates against it, in every arm
        self.module = ZooModule(
            backbone, chosen.objective(), mask_same_image=True, mask_same_text=True
        )
        rows = read_lines(folder, "scenes.jsonl")
        pictures = read_pictures(
            folder, [f"images/{row['id']}.png" for row in rows if row["split"] == "train"]
        )
        self.batches = self.steps_of(
            folder, pictures, self.texts, batch, batch_seed, chosen.negatives, chosen.units
        )
        built = Optimization(lr=rate, weight_decay=0.05, warmup_share=0.05).build(
            self.module.named_parameters(), self.module.learning_rate_part, steps, 1
        )
        self.optimizer, self.schedule = built["optimizer"], built["lr_scheduler"]["scheduler"]
        self.steps, self.done = steps, 0

    def steps_of(self, *given: Any) -> Steps:
        """Returns the batches, of what `Steps` is given."""
        return Steps(*given)

    def start_from(self, weights: Path) -> None:
        """Takes over the weights that another training ended with."""
        self.module.load_state_dict(torch.load(weights)["module"])

    def run(self, checkpoint: Path) -> list[float]:
        """Takes the steps that are left, keeping state in a file, and returns the loss of each."""
        if checkpoint.exists():
            state = torch.load(checkpoint)
            for name in ("module", "optimizer", "schedule"):
                getattr(self, name).load_state_dict(state[name])
            self.done = state["done"]
        losses = []
        while self.done < self.steps:
            losses.append(self.step())
            if self.done % SAVE_EVERY == 0 or self.done == self.steps:
                parts = {
                    name: getattr(self, name).state_dict()
                    for name in ("module", "optimizer", "schedule")
                }
                beside = checkpoint.with_suffix(".part")
                torch.save(parts | {"done": self.done}, beside)
                os.replace(beside, checkpoint)
        return losses

    def step(self) -> float:
        """Takes one step and returns its loss."""
        self.optimizer.zero_grad()
        batch, scores = self.module.score(self.batches[self.done])
        loss = self.module.objective(batch, scores).total
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
        self.optimizer.step()
        self.schedule.step()
        self.module.head.clamp_scale()
        self.done += 1
        return float(loss.detach())


@torch.no_grad()
def ask(
    training: Training, folder: Path, cases: list[Case], chunk: int = 256
) -> dict[str, dict[str, float]]:
    """Returns metrics by name: value, 95 % interval low and high (all in per cent) and n.

    Names are '+Obj', 'swaps' and the like.

    'half_truth' and 'completion' are means over conditions; their intervals, and that of swaps,
    draw scenes anew, others are Wilson's.
    """
    module = training.module.eval()
    keys = sorted({case.images[0].key for case in cases})
    texts = sorted({text for case in cases for text in case.texts})
    pictures = read_pictures(folder, [os.path.relpath(key, folder) for key in keys])
    images = [
        module.backbone.encode_images(pictures[ids], module.image_keys)
        for ids in _chunks(list(pictures.rows), chunk)
    ]
    words = [
        module.backbone.encode_texts(training.texts.bank(some), module.text_keys)
        for some in _chunks(texts, chunk)
    ]
    v = module.head.prepare_images(concatenate(images))
    t = module.head.prepare_texts(concatenate(words))
    image_row, text_row = ({key: row for row, key in enumerate(items)} for items in (keys, texts))
    i = torch.tensor([image_row[case.images[0].key] for case in cases for _ in case.texts])
    j = torch.tensor([text_row[text] for case in cases for text in case.texts])
    scores = module.head.pairs(v, t, i, j).split([len(case.texts) for case in cases])
    outcomes: dict[str, list[tuple[str, str, bool]]] = {}  # metric: image, condition, right
    for case, own in zip(cases, scores, strict=True):
        for outcome in case.judge(own[None].numpy()):
            outcomes.setdefault(outcome.metric, []).append(
                (case.images[0].key, case.subset, outcome.right)
            )
    module.train()
    metrics = {"swaps": _mean(outcomes["i2t"], by_condition=False)}
    metrics |= {
        name: _mean(outcomes[name], by_condition=True) for name in ("half_truth", "completion")
    }
    for condition in dict.fromkeys(condition for _, condition, _ in outcomes["half_truth"]):
        right = [r for _, c, r in outcomes["half_truth"] if c == condition]
        metrics[condition] = _metric(
            float(np.mean(right)), *wilson(sum(right), len(right)), len(right)
        )
    return metrics


def write_json(path: Path, value: Any) -> None:
    """Writes beside and renames."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(value, indent=1))
    os.replace(beside, path)


def seconds_a_step(training: Training, n: int) -> list[float]:
    """Returns the processor time of each of n steps."""
    times = []
    for _ in range(n):
        start = time.process_time()
        training.step()
        times.append(time.process_time() - start)
    return times


def _mean(outcomes: list[tuple[str, str, bool]], by_condition: bool) -> dict[str, float]:
    images, conditions, right = map(np.array, zip(*outcomes, strict=True))
    groups = conditions if by_condition else np.zeros(len(right))
    sample = Observations(right.astype(np.float64), images, groups)
    low, high, _ = interval([sample], [1.0])
    return _metric(sample.value, low, high, len(right))


def _metric(value: float, low: float, high: float, n: int) -> dict[str, float]:
    return {"value": 100 * value, "low": 100 * low, "high": 100 * high, "n": n}


def _chunks(items: list[str], size: int) -> Iterable[list[str]]:
    return (items[start : start + size] for start in range(0, len(items), size))
