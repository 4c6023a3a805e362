"""What the studies of bindings have in common: towers of a grid of scenes, trained and asked."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import torch
from scenes_data import WORDS, Steps
from scenes_training import ARMS, Arm, Training

from zoo.batch import Batch, Encoded, TextBank, concatenate
from zoo.benchmarks.base import Benchmark, Case
from zoo.benchmarks.scene_grid import SceneGrid
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.heads.base import Head
from zoo.module import ZooModule
from zoo.needs import Needs
from zoo.objectives.base import Loss, Objective
from zoo.objectives.fsc_clip import FSCCLIP
from zoo.optim import Optimization
from zoo.results.report import Results
from zoo.scenes.cache import SceneCaption, render_collection
from zoo.scenes.graph import ALL_SHAPES, COLORS
from zoo.scenes.grid import BindingGrid, caption_text
from zoo.scores import Scores
from zoo.sources.sample import Sample
from zoo.support.log import filter_notices
from zoo.training.trainer import ZooTrainer

SIZE, SAMPLES = 48, 16
FOILED = "NegCLIP + foils"  # a swap and two foils beside every caption
# every caption of two bindings, which a foil may make of colours or shapes that are the same
SPOKEN = [
    caption_text((first, second))
    for first, second in product(product(COLORS, ALL_SHAPES), repeat=2)
]


def render(folder: Path, n: int, workers: int) -> None:
    """Fills a folder with a grid of scenes of the towers' size."""
    render_collection(folder, n, BindingGrid(size=SIZE), SAMPLES, workers)


class OwnNegatives(Objective):
    """An image chooses among its caption and the negatives of that caption alone.

    All pairs of a batch are more than a transformer over pairs can score on a CPU.
    """

    @property
    def needs(self) -> Needs:
        return Needs(negatives=True)

    def forward(self, batch: Batch, scores: Scores) -> Loss:
        own = scores.own_texts(batch.captions).concatenate(scores.own_texts(batch.negatives))
        logits = own.logits.masked_fill(~own.candidate, -torch.inf)
        loss = scores.mean(-logits.log_softmax(1)[:, 0], scores.rows)
        return Loss(loss, {"own": loss})


class Spoilt(Steps):
    """Batches in which a share of the captions has its words shuffled, so that nothing is bound."""

    share: float = 0.0

    def told(self, sample: Sample, rng: Random) -> str:
        if rng.random() >= self.share:
            return sample.caption
        words = sample.caption.split()
        rng.shuffle(words)
        return " ".join(words)


class GridTraining(Training):
    """A tower of a grid; `share` of the captions it is trained on is shuffled."""

    words = (*WORDS, *ALL_SHAPES)
    arms: ClassVar[dict[str, Arm]] = {**ARMS, "FSC-CLIP": Arm(FSCCLIP, 3, False)}

    def __init__(self, *given: Any, share: float = 0.0) -> None:
        self.share = share
        super().__init__(*given)

    def steps_of(self, *given: Any) -> Steps:
        steps = Spoilt(*given)
        steps.share = self.share
        return steps


class FrozenHead(GridTraining):
    """A head over a frozen tower, whose images and captions are encoded once."""

    def __init__(
        self,
        folder: Path,
        tower: Path,
        head: Head,
        batch: int,
        seed: int,
        steps: int,
        optimization: Optimization,
    ) -> None:
        super().__init__(folder, FOILED, batch, seed, 3000 + seed, steps, optimization.lr)
        self.start_from(tower)
        torch.manual_seed(seed)
        backbone = self.module.backbone.requires_grad_(False)
        self.module = ZooModule(
            backbone,
            OwnNegatives() if head.reranks else self.module.objective,
            head,
            mask_same_image=True,
            mask_same_text=True,
        )
        if not steps:
            return
        self.batches = Stored(self.batches, *self.features())  # type: ignore[assignment]
        built = optimization.build(
            self.module.named_parameters(), self.module.learning_rate_part, steps, 1
        )
        self.optimizer, self.schedule = built["optimizer"], built["lr_scheduler"]["scheduler"]

    @torch.no_grad()
    def features(self) -> tuple[Encoded, Encoded, dict[int, int]]:
        """Returns images and captions encoded, and the rows of captions by their hashes."""
        module, pictures = self.module.eval(), self.batches.pictures
        images = [
            module.backbone.encode_images(pictures[ids], module.image_keys)
            for ids in chunks(list(pictures.rows))
        ]
        banks = [self.texts.bank(some) for some in chunks(SPOKEN)]
        encoded = [module.backbone.encode_texts(bank, module.text_keys) for bank in banks]
        hashes = torch.cat([bank.hashes for bank in banks]).tolist()
        module.train()
        return concatenate(images), concatenate(encoded), {h: row for row, h in enumerate(hashes)}


class Stored:
    """Batches whose images and captions come encoded."""

    def __init__(
        self, steps: Steps, images: Encoded, captions: Encoded, rows: dict[int, int]
    ) -> None:
        self.steps, self.images, self.captions, self.rows = steps, images, captions, rows

    def __getitem__(self, step: int) -> Batch:
        batch = self.steps[step]
        assert isinstance(batch.texts, TextBank)
        rows = torch.tensor([self.rows[h] for h in batch.texts.hashes.tolist()])
        return replace(
            batch, images=self.images.rows(batch.samples), texts=self.captions.rows(rows)
        )


class SomeOfGrid(SceneGrid):
    """The grid's benchmark on its first scenes, alone or with one subset for all swaps.

    Args:
        folder: The folder.
        most: How many scenes of a subset are asked about.
        whole: Whether swaps are asked alone, in one subset `all`.
    """

    def __init__(self, folder: str, most: int, whole: bool = False) -> None:
        super().__init__(folder)
        self.most, self.whole = most, whole

    def cases(self, rows: list[SceneCaption], folder: Path) -> Iterator[Case]:
        scenes: dict[str, dict[str, None]] = {}
        for row in rows:
            scenes.setdefault(row.split, {})[row.image_id] = None
        asked = {image for its in scenes.values() for image in list(its)[: self.most]}
        for case in super().cases([row for row in rows if row.image_id in asked], folder):
            if not self.whole:
                yield case
            elif case.protocol == "i2t":
                yield replace(case, subset="all")


def measure(
    module: ZooModule, benchmark: Benchmark, out: Path | None = None, familiar: str | None = None
) -> Results:
    """Returns what zoo's evaluation finds.

    `out` keeps results; `familiar` are captions by whose bindings cases are split.
    """
    filter_notices()
    data = EvaluationDataModule(
        [benchmark],
        out=None if out is None else str(out),
        overwrite=True,
        workers=0,
        quiet=True,
        familiar_with=familiar,
    )
    trainer = ZooTrainer(
        accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False
    )
    trainer.validate(module, datamodule=data, verbose=False)
    assert data.evaluation.results is not None
    return data.evaluation.results


def chunks(items: list[str], size: int = 256) -> list[list[str]]:
    """Returns items in lists of a size."""
    return [items[start : start + size] for start in range(0, len(items), size)]
