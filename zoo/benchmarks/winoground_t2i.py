"""Winoground-T2I (Zhu et al. 2023): pairs of sentences to make images of, and to be told apart."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.protocols.group import CHANCE
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.text_files import text_lines

CASES = 11_479
HOW = (
    "`git clone https://github.com/zhuxiangru/Winoground-T2I` and copy data/dataset/dataset.txt "
    "into DATA_ROOT/winoground_t2i; no image is published: put those that a generator made of the "
    "two sentences there, as images/ID_0.png and images/ID_1.png"
)
ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


class WinogroundT2I(PublishedBenchmark):
    """Winoground-T2I: 11,479 pairs of sentences, and the images that one's own generator made.

    A score says how well a model tells these images apart, and how well they were made.
    """

    name = "winoground_t2i"
    licence = "none stated"
    citation = (
        "Zhu et al., A Contrastive Compositional Benchmark for Text-to-Image Synthesis, 2023, "
        "arXiv:2312.02338"
    )
    published = (
        Subset(
            "winoground_t2i",
            ("winoground_t2i/dataset.txt", "winoground_t2i/data/dataset/dataset.txt"),
            CASES,
            HOW,
            chance=CHANCE,
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each line: an image and a sentence, twice."""
        match = np.eye(2, dtype=bool)
        for number, line in enumerate(text_lines(path), 1):
            if not line.strip():
                continue
            name, *texts = line.rstrip("\r\n").split("\t")
            if len(texts) != 2 or not all(text.strip() for text in texts):
                raise ZooError(
                    f"{path}:{number} is not an id and two sentences between tabs: "
                    "fetch the file again"
                )
            images = tuple(_image(path, f"{name}_{i}") for i in range(2))
            yield Case(images, (texts[0], texts[1]), match, "group", subset, name)


def _image(path: Path, stem: str) -> ImageRef:
    """Returns the image of that name, whatever its ending."""
    places = [path.parent / "images" / f"{stem}{ending}" for ending in ENDINGS]
    return ImageRef("published", str(next((p for p in places if p.is_file()), places[0])))
