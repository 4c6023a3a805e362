"""FG-OVD (Bianchi et al. 2024), as FG-CLIP asks it: a box against texts with other attributes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import coco_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import lines

MEND = "fetch the file again"
HOW = (
    "`git clone https://github.com/360CVGroup/FG-CLIP` and copy its data/fgovd/*.jsonl into "
    "DATA_ROOT/fgovd; images are COCO's val2017, in DATA_ROOT/coco/val2017"
)
FILES = {
    "hard": "h_attributes_llava",
    "medium": "m_attributes_llava",
    "easy": "e_attributes_llava",
    "trivial": "shuffle_negatives_llava",
}

Texts = Annotated[tuple[str, ...], Meta(min_length=1)]


class _FGOVDEntry(Struct):
    img_path: str
    bbox: tuple[float, float, float, float]
    width: int
    height: int
    pos_expression: Texts
    neg_expression: Texts


class FGOVD(PublishedBenchmark):
    """FG-OVD: a box of an image chooses among a text and up to ten with attributes changed.

    FG-CLIP pools the features of its own tower over the box. Here the box is cropped, for any
    tower, so that figures differ from those. Texts are lower-cased, as in its evaluation. A case's
    id is its line.
    """

    name = "fg_ovd"
    version = 2
    licence = "Apache-2.0"
    citation = (
        "Bianchi et al., The devil is in the fine-grained details, CVPR 2024, arXiv:2311.17518; "
        "as asked by Xie et al., FG-CLIP, ICML 2025, arXiv:2505.05071"
    )
    published = tuple(
        Subset(subset, (f"fgovd/{file}.jsonl",), None, HOW) for subset, file in FILES.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each line: a box, its text and the others."""
        for i, (place, entry) in enumerate(lines(path, _FGOVDEntry, MEND)):
            texts = tuple(t.lower() for t in (*entry.pos_expression, *entry.neg_expression))
            match = np.arange(len(texts))[None] < len(entry.pos_expression)
            # the script compares the first text's score with the highest
            image = _image(entry, place)
            yield Case((image,), texts, match, "i2t", subset, str(i), correct_first=True)


def _image(entry: _FGOVDEntry, place: str) -> ImageRef:
    left, top, width, height = entry.bbox
    # whole pixels around the box
    first = int(left), int(top)
    last = int(np.ceil(left + width)), int(np.ceil(top + height))
    if width <= 0 or height <= 0 or min(first) < 0:
        raise ZooError(f"{place} has the box {entry.bbox}, which shows nothing: {MEND}")
    crop = (*first, last[0] - first[0], last[1] - first[1])
    image = coco_ref(entry.img_path, place)
    return ImageRef(image.source, image.key, crop, (entry.width, entry.height))
