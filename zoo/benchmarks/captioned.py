"""BLIP's caption files, `[{"image": PATH, "caption": [..]}]`.

ARO's order sets and caption retrieval are made from them.
"""

from dataclasses import dataclass
from pathlib import Path

from zoo.benchmarks.annotations import read_list
from zoo.errors import ZooError
from zoo.sources.images import image_ref
from zoo.sources.sample import ImageRef
from zoo.support.text_files import field


@dataclass(frozen=True)
class Captioned:
    """An image and its captions, as raw as in the file."""

    image: ImageRef
    captions: tuple[str, ...]


def read_captioned(path: Path) -> list[Captioned]:
    """Returns the records in file order.

    Raises:
        ZooError: The file is wrong, or an image comes twice. The error names file and entry.
    """
    records: dict[ImageRef, Captioned] = {}
    for i, entry in enumerate(read_list(path)):
        origin = f"{path}[{i}]"
        image = image_ref(field(entry, "image", str, origin))
        captions = field(entry, "caption", list, origin)
        blank = next(
            (k for k, text in enumerate(captions) if not isinstance(text, str) or not text.strip()),
            None,
        )
        if blank is not None:
            raise ZooError(f"{origin} has no text as caption {blank}: write one or take it out")
        if image in records:
            raise ZooError(
                f"{origin} is image {image} a second time: put its captions into one record"
            )
        records[image] = Captioned(image, tuple(captions))
    return list(records.values())
