"""What the study of rendered scenes trains on and is asked.

These are images held in memory, captions, negatives, units, and cases.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.batch import MISSING, Batch, TextBank
from zoo.benchmarks.base import Case
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.benchmarks.scene_swaps import SceneSwaps
from zoo.scenes.graph import COLORS, MATERIALS, OPPOSITE, SHAPES, SIZES
from zoo.sources.readers.scenes import Scenes
from zoo.sources.sample import Sample
from zoo.units.record import UnitRecord
from zoo.units.sampler import UnitSampler

SPLITS = ("test", "held_out")
WORDS = [*COLORS, *SHAPES, *SIZES, *MATERIALS, *OPPOSITE, "a and there is are scene with"]
BETWEEN = re.compile(rf" ({'|'.join([*OPPOSITE, 'and'])}) ")


class Texts:
    """Every text once, as token ids.

    The tower's vocabulary is cut to the tokens that scenes use: the same function, less to update.
    `words` has them. It serves as the tower's tokenizer from then on.
    """

    def __init__(self, backbone: Backbone, words: Sequence[str] = WORDS) -> None:
        self.tokenize = backbone.tokenizer
        self.known: dict[str, tuple[Tensor, ...]] = {}
        # padding is 0 and stays it, and the end of text stays the largest id, by which the tower
        # finds it
        self.used = self.tokenize(words)[0].unique()
        weight = backbone.model.token_embedding.weight[self.used].detach().clone()
        backbone.model.token_embedding = torch.nn.Embedding.from_pretrained(weight, freeze=False)
        vars(backbone)["tokenizer"] = self

    def bank(self, texts: Sequence[str]) -> TextBank:
        """texts: distinct ones. Returns them as a bank."""
        return TextBank(*self(texts), text_count=len(texts))

    def __call__(self, texts: Sequence[str]) -> tuple[Tensor, Tensor, Tensor]:
        """Returns ids, lengths and hashes of texts."""
        if new := [text for text in texts if text not in self.known]:
            ids, lengths, hashes = self.tokenize(new)
            small = torch.searchsorted(self.used, ids)
            if not torch.equal(self.used[small.clamp(max=len(self.used) - 1)], ids):
                raise ValueError("a caption has words that are not in WORDS")
            self.known |= dict(zip(new, zip(small, lengths, hashes, strict=True), strict=True))
        ids, lengths, hashes = (
            torch.stack([self.known[text][column] for text in texts]) for column in range(3)
        )
        return ids, lengths, hashes


@dataclass(frozen=True)
class Pictures:
    """Images of the scenes as bytes; rows: image id to row of pixels [n, 3, H, W]."""

    pixels: Tensor
    rows: dict[str, int]

    def __getitem__(self, image_ids: Sequence[str]) -> Tensor:
        """Returns [n, 3, H, W] in -1 to 1."""
        return self.pixels[[self.rows[image_id] for image_id in image_ids]].float() / 127.5 - 1


def read_pictures(folder: Path, image_ids: Sequence[str]) -> Pictures:
    """Returns those images of a folder of scenes."""
    pixels = np.stack([np.asarray(Image.open(folder / image_id)) for image_id in image_ids])
    return Pictures(
        torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous(),
        {image_id: i for i, image_id in enumerate(image_ids)},
    )


class Steps:
    """Makes the batch of a step, a function of (seed, step).

    A batch has one caption of each of its images. `negatives` is 0, 1 (the caption with its colours
    or its arguments exchanged) or 3 (and the foils of the step's two units, inside the sentence).
    `units` says whether units and foils come along.
    """

    def __init__(
        self,
        folder: Path,
        pictures: Pictures,
        texts: Texts,
        batch: int,
        seed: int,
        negatives: int,
        units: bool,
    ) -> None:
        self.pictures, self.texts, self.batch, self.seed, self.n_negatives, self.with_units = (
            pictures,
            texts,
            batch,
            seed,
            negatives,
            units,
        )
        self.sampler = UnitSampler(str(folder / "units.train.jsonl"), with_replacement=False)
        self.records = self.sampler.records()
        self.by_image: dict[str, list[Sample]] = {}
        for sample in Scenes(str(folder), "train").read():
            self.by_image.setdefault(sample.image_id, []).append(sample)

    def __getitem__(self, step: int) -> Batch:
        rng = Random(f"{self.seed} {step}")
        image_ids = rng.sample(list(self.by_image), self.batch)
        samples = [rng.choice(self.by_image[image_id]) for image_id in image_ids]
        negatives: list[list[str | None]] = []
        pairs: list[list[tuple[str, str | None] | None]] = []
        for sample in samples:
            record = self.records[sample.caption_id]
            drawn = self.sampler.draw_units(record, rng)
            inside = [in_sentence(record, *pair) if pair else None for pair in drawn]
            negatives.append([swapped(sample, record, rng), *inside][: self.n_negatives])
            pairs.append(drawn if self.with_units else [])
        units = [[pair and pair[0] for pair in row] for row in pairs]
        foils = [[pair and pair[1] for pair in row] for row in pairs]
        captions = [[self.told(sample, rng)] for sample in samples]
        distinct = list(
            dict.fromkeys(
                t
                for role in (captions, negatives, units, foils)
                for row in role
                for t in row
                if t is not None
            )
        )
        place = {text: row for row, text in enumerate(distinct)}

        def rows(role: Sequence[Sequence[str | None]]) -> Tensor:
            return torch.tensor(
                [[MISSING if t is None else place[t] for t in row] for row in role],
                dtype=torch.long,
            ).reshape(len(role), -1)

        bank = self.texts.bank(distinct)
        images = torch.tensor([self.pictures.rows[image_id] for image_id in image_ids])
        return Batch(
            images=self.pictures[image_ids],
            texts=bank,
            captions=rows(captions)[:, 0],
            negatives=rows(negatives),
            positives=rows([[]] * len(image_ids)),
            negative_images=torch.full((len(image_ids),), MISSING),
            units=rows(units),
            foils=rows(foils),
            image_ids=images,
            hashes=bank.hashes,
            samples=images,
            primary=self.batch,
        )

    def told(self, sample: Sample, rng: Random) -> str:
        """Returns what is said of an image."""
        return sample.caption


def swapped(sample: Sample, record: UnitRecord, rng: Random) -> str | None:
    """Returns the caption with the colours, or with the arguments of its relation, exchanged.

    None where neither is false.
    """
    made: list[str | None] = list(sample.negatives)
    for relation in record.relations:
        made += [
            in_sentence(record, relation.text, f.text)
            for f in relation.foils
            if f.edit == "argument_swap"
        ]
    return rng.choice(made) if made else None


def in_sentence(record: UnitRecord, unit: str, foil: str | None) -> str | None:
    """Returns the caption with what the foil changes about the unit changed in it.

    It is the same error, inside the sentence.
    """
    if foil is None:
        return None
    changes = dict(
        pair
        for pair in zip(BETWEEN.split(unit), BETWEEN.split(foil), strict=True)
        if pair[0] != pair[1]
    )
    return re.sub(
        "|".join(map(re.escape, changes)), lambda found: changes[found[0]], record.caption
    )


def read_cases(folder: Path) -> dict[str, list[Case]]:
    """Returns the cases by split.

    They are half-truths of every condition (the paper's rule), and attribute swaps.
    """
    cases = {
        split: HalfTruth(str(folder / f"units.{split}.jsonl"), preset="paper").read(folder).cases
        for split in SPLITS
    }
    for case in SceneSwaps(str(folder)).read(folder).cases:
        cases[case.subset].append(case)
    return cases
