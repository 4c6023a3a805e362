"""FG-OVD (Bianchi et al. 2024) as used by FG-CLIP: a box against texts with other attributes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import coco_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import DOWNLOAD_AGAIN, read_json_lines

INSTRUCTIONS = download_command("fg_ovd")
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
    """FG-OVD: an object in a box, a text about the object, and up to ten wrong texts.

    In `hard`, `medium` and `easy`, the wrong texts change one, two or three attributes of the
    object. In `trivial`, the wrong texts describe other objects. If a case has fewer than ten wrong
    texts, its chance level is higher. The protocol is `i2t`.

    Files and rules are those of FG-CLIP's evaluation (Xie et al., 2025): texts are in lower case,
    and a tie is right. There is one difference. FG-CLIP pools image features over the box. zoo
    crops the image to the box, which works with any image tower. Values therefore differ from
    FG-CLIP's.

    Images are COCO's val2017. If your image was resized, zoo scales the box. If your image has
    another aspect ratio than the published one, the case is left out.

    Examples:
        A line: the box that is cropped, and the texts in lower case:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import FGOVD
        >>> _ = Path("hard.jsonl").write_text('{"img_path": "000000000139.jpg", "width": 8, '
        ...     '"height": 8, "bbox": [1, 2, 4, 3], "pos_expression": ["A Red cup"], '
        ...     '"neg_expression": ["A blue cup"]}')
        >>> [case] = FGOVD({"hard": "hard.jsonl"}, subsets=["hard"]).read(Path()).cases
        >>> str(case.images[0]), case.texts
        ('coco:139@1,2,4,3', ('a red cup', 'a blue cup'))
    """

    name = "fg_ovd"
    version = 2
    licence = "Apache-2.0"
    citation = (
        "Bianchi et al., The devil is in the fine-grained details, CVPR 2024, arXiv:2311.17518; "
        "as used by Xie et al., FG-CLIP, ICML 2025, arXiv:2505.05071"
    )
    published = tuple(
        Subset(subset, (f"fgovd/{file}.jsonl",), None, INSTRUCTIONS)
        for subset, file in FILES.items()
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each line: a box, its text and the others."""
        for i, (place, entry) in enumerate(read_json_lines(path, _FGOVDEntry, DOWNLOAD_AGAIN)):
            texts = tuple(t.lower() for t in (*entry.pos_expression, *entry.neg_expression))
            match = np.arange(len(texts))[None] < len(entry.pos_expression)
            # the script compares the score of the first text with the highest score
            image = _image(entry, place)
            yield Case((image,), texts, match, "i2t", subset, str(i), right_listed_first=True)


def _image(entry: _FGOVDEntry, place: str) -> ImageRef:
    left, top, width, height = entry.bbox
    # whole pixels around the box
    top_left = int(left), int(top)
    bottom_right = int(np.ceil(left + width)), int(np.ceil(top + height))
    if width <= 0 or height <= 0 or min(top_left) < 0:
        raise ZooError(f"{place} has the box {entry.bbox}, which is empty: {DOWNLOAD_AGAIN}")
    crop = (*top_left, bottom_right[0] - top_left[0], bottom_right[1] - top_left[1])
    image = coco_ref(entry.img_path, place)
    return ImageRef(image.source, image.key, crop, (entry.width, entry.height))
