"""Cases about captions of two bindings: caption against swap, and caption among all captions.

LabCLIP uses both on PUG:SPARE; BindSplit splits them by the number of bindings unseen in training.
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
        id: The id of the case, unique in its subset.
        caption: A true caption of the image.
        swap: The caption with its attributes exchanged.
        true_captions: All captions that are true of the image, in either order.
    """

    image: ImageRef
    id: str
    caption: str
    swap: str
    true_captions: tuple[str, ...]


def binding_cases(
    subset: str, images: Sequence[BindingImage], captions: Sequence[str]
) -> Iterator[Case]:
    """Yields a case (caption against swap) for each image, and one of all images and captions.

    Args:
        subset: The subset.
        images: The images; one may occur several times.
        captions: Every caption that an image may have.
    """
    match = np.array([[True, False]])
    for entry in images:
        yield Case((entry.image,), (entry.caption, entry.swap), match, "i2t", subset, entry.id)
    if not images:
        return
    true_captions = {entry.image: entry.true_captions for entry in images}
    columns = {caption: j for j, caption in enumerate(captions)}
    gallery_match = np.zeros((len(true_captions), len(captions)), dtype=bool)
    for i, texts in enumerate(true_captions.values()):
        gallery_match[i, [columns[text] for text in texts]] = True
    yield Case(
        tuple(true_captions), tuple(captions), gallery_match, "retrieval", subset, "all captions"
    )
