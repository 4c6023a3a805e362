"""BLIP's caption files, `[{"image": PATH, "caption": [..]}]`.

ARO's order sets and caption retrieval are made from them.
"""

from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from zoo.errors import ZooError
from zoo.sources.images import image_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text, read_list


class _CaptionFileEntry(Struct):
    image: str
    caption: tuple[Text, ...]


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
    for place, entry in read_list(path, _CaptionFileEntry, "write a text or take it out"):
        image = image_ref(entry.image)
        if image in records:
            raise ZooError(
                f"{place} is image {image} a second time: put its captions into one record"
            )
        records[image] = Captioned(image, entry.caption)
    return list(records.values())
