"""Winoground-T2I (Zhu et al. 2023): pairs of sentences, with images from a text-to-image model."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.protocols.group import CHANCE
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef
from zoo.support.text_files import text_lines

CASES = 11_479
INSTRUCTIONS = (
    f"{download_command('winoground_t2i')}; "
    "no images are published: generate an image for each sentence, and save the images of pair ID "
    "as DATA_ROOT/winoground_t2i/images/ID_0.png and ID_1.png"
)
ENDINGS = (".png", ".jpg", ".jpeg", ".webp")


class WinogroundT2I(PublishedBenchmark):
    """Winoground-T2I: two sentences, and images from your text-to-image model (11,479 cases).

    Protocol `group` reports three metrics. Metric `text` requires that each image chooses its
    sentence. Metric `image` requires that each sentence chooses its image. Metric `group` requires
    both. A tie is wrong. The results depend on two models: the model that is evaluated, and the
    model that generated the images.

    In 9,978 cases, both sentences have the same words. A model that ignores word order gives them
    equal scores, so it fails these cases and reaches at most 13.1 %. The authors also publish files
    of categories, which zoo does not read.

    Examples:
        The images that your text-to-image model has to make for a pair of sentences:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import WinogroundT2I
        >>> line = chr(9).join(["0_1", "a mug in grass", "grass in a mug"])  # separated by tabs
        >>> _ = Path("dataset.txt").write_text(line)
        >>> [case] = WinogroundT2I({"winoground_t2i": "dataset.txt"}).read(Path()).cases
        >>> [image.key for image in case.images]
        ['images/0_1_0.png', 'images/0_1_1.png']
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
            INSTRUCTIONS,
            chance=CHANCE,
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each line: two images and two sentences."""
        match = np.eye(2, dtype=bool)
        for number, line in enumerate(text_lines(path), 1):
            if not line.strip():
                continue
            name, *texts = line.rstrip("\r\n").split("\t")
            if len(texts) != 2 or not all(text.strip() for text in texts):
                raise ZooError(
                    f"{path}:{number} is not an id and two sentences between tabs: "
                    "download the file again"
                )
            images = tuple(_image(path, f"{name}_{i}") for i in range(2))
            yield Case(images, (texts[0], texts[1]), match, "group", subset, name)


def _image(path: Path, stem: str) -> ImageRef:
    """Returns the image of that name with any of ENDINGS."""
    places = [path.parent / "images" / f"{stem}{ending}" for ending in ENDINGS]
    return ImageRef("published", str(next((p for p in places if p.is_file()), places[0])))
