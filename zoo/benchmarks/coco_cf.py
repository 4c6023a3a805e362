"""COCO-Counterfactuals (Le et al. 2023): captions with a noun replaced, and generated images."""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.protocols.group import CHANCE
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.sample import ImageRef
from zoo.support.schema import DOWNLOAD_AGAIN, read_json_lines

HUB = HubDataset("Intel/COCO-Counterfactuals", "958a3e0b32421b9f07c4c3f78aecbf98019a3402")
FILES = ("coco_cf/data/examples.jsonl", "coco_cf/examples.jsonl")
INSTRUCTIONS = HUB.download_instructions("coco_cf")
PAIRS, RETRIEVAL = "pairs", "retrieval"
SHARE = 0.3


class _CounterfactualLine(Struct):
    id: int | str
    image_0: str
    image_1: str
    caption_0: str
    caption_1: str


class COCOCounterfactuals(PublishedBenchmark):
    """COCO-Counterfactuals: 17,410 pairs of generated images, whose captions differ in a noun.

    An example has two captions: a caption of COCO, and the same caption with another noun. Each
    caption has an image that was generated for it. zoo expects the images in folder `images` next
    to the annotations.

    Subset `pairs` has one case per example. The protocol is `group`, and a tie is wrong. Subset
    `retrieval` searches all images and captions of 30 % of the examples, with protocol `retrieval`.
    In the table, the number of cases of `retrieval` is the number of images.

    Papers with values of `retrieval` do not describe how they sampled the examples. zoo takes the
    examples with the lowest hash of seed and id, so that all users have the same sample. The values
    in papers are therefore of other samples.

    Args:
        seed: Seed of the sample for subset `retrieval`.
        files: Paths of annotation files, by subset, if they are not the default ones.
        subsets: The chosen subsets; None for all.

    Examples:
        A pair of generated images, which differ in what runs:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import COCOCounterfactuals
        >>> _ = Path("pairs.jsonl").write_text('{"id": "5_0", "image_0": "a", "image_1": "b", '
        ...     '"caption_0": "a dog runs", "caption_1": "a cow runs"}')
        >>> benchmark = COCOCounterfactuals(files={"pairs": "pairs.jsonl"}, subsets=["pairs"])
        >>> benchmark.read(Path()).cases[0].texts
        ('a dog runs', 'a cow runs')
    """

    name = "coco_cf"
    licence = "CC BY 4.0"
    citation = (
        "Le et al., COCO-Counterfactuals: Automatically Constructed Counterfactual Examples for "
        "Image-Text Pairs, NeurIPS 2023, arXiv:2309.14356"
    )
    hub = HUB
    published = (
        Subset(PAIRS, FILES, 17_410, INSTRUCTIONS, chance=CHANCE),
        Subset(RETRIEVAL, FILES, 10_446, INSTRUCTIONS),
    )

    def __init__(
        self,
        seed: int = 0,
        files: dict[str, str] | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        super().__init__(files, subsets)
        self.seed = seed

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each example, or the single case of the retrieval."""
        examples = [line for _, line in read_json_lines(path, _CounterfactualLine, DOWNLOAD_AGAIN)]
        if subset == RETRIEVAL:
            return [_gallery(path, self._sample_examples(examples))]
        match = np.eye(2, dtype=bool)
        return [
            Case(_images(path, line), _texts(line), match, "group", subset, str(line.id))
            for line in examples
        ]

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset, with a note on how the retrieval was sampled."""
        contents = super().read_subset(path, subset)
        if subset == RETRIEVAL:
            (case,) = contents.cases
            contents.notes[subset] = (
                f"{len(case.images) // 2:,} examples with the lowest hashes under seed "
                f"{self.seed}; publications used other samples"
            )
        return contents

    def _sample_examples(
        self, examples: Sequence[_CounterfactualLine]
    ) -> list[_CounterfactualLine]:
        def rank(line: _CounterfactualLine) -> bytes:
            return hashlib.blake2b(f"{self.seed} {line.id}".encode()).digest()

        selected_ids = {
            id(line) for line in sorted(examples, key=rank)[: round(SHARE * len(examples))]
        }
        return [line for line in examples if id(line) in selected_ids]


def _gallery(path: Path, examples: Iterable[_CounterfactualLine]) -> Case:
    sampled = list(examples)
    images = tuple(chain.from_iterable(_images(path, line) for line in sampled))
    texts = tuple(chain.from_iterable(map(_texts, sampled)))
    return Case(images, texts, np.eye(len(images), dtype=bool), "retrieval", RETRIEVAL, "all")


def _texts(line: _CounterfactualLine) -> tuple[str, str]:
    return line.caption_0, line.caption_1


def _images(path: Path, line: _CounterfactualLine) -> tuple[ImageRef, ...]:
    folder = path.parent / "images"
    names = line.image_0, line.image_1
    return tuple(ImageRef("published", str(folder / f"{name}.jpg")) for name in names)
