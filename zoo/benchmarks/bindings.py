"""Cases about captions of two bindings: against the swap, and among all captions.

LabCLIP asks both of PUG:SPARE, and BindSplit by the number of bindings that training never had.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from zoo.benchmarks.base import Case
from zoo.sources.sample import ImageRef


@dataclass(frozen=True)
class BindingImage:
    """An image of two objects.

    Attributes:
        image: The image.
        id: What the case is called; unique in its subset.
        caption: What is true of the image.
        swap: The caption with its attributes exchanged.
        right: All captions that are true of the image, in either order.
    """

    image: ImageRef
    id: str
    caption: str
    swap: str
    right: tuple[str, ...]


def binding_cases(
    subset: str, shown: Sequence[BindingImage], captions: Sequence[str]
) -> Iterator[Case]:
    """Yields a case of caption against swap for each entry, and one of all images and captions.

    Args:
        subset: The subset.
        shown: What is asked about; an image may come several times.
        captions: Every caption that an image may have.
    """
    match = np.array([[True, False]])
    for one in shown:
        yield Case((one.image,), (one.caption, one.swap), match, "i2t", subset, one.id)
    if not shown:
        return
    right = {one.image: one.right for one in shown}
    column = {caption: j for j, caption in enumerate(captions)}
    belongs = np.zeros((len(right), len(captions)), dtype=bool)
    for i, texts in enumerate(right.values()):
        belongs[i, [column[text] for text in texts]] = True
    yield Case(tuple(right), tuple(captions), belongs, "retrieval", subset, "all captions")
