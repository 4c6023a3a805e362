"""BLIP's caption files, `[{"image": PATH, "caption": [..]}]`.

ARO's order sets and caption retrieval use them.
"""

from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from zoo.errors import ZooError
from zoo.sources.images import infer_image_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import Text, read_list


class _CaptionFileEntry(Struct):
    image: str
    caption: tuple[Text, ...]


@dataclass(frozen=True)
class CaptionedImage:
    """An image and its captions, unchanged from the file."""

    image: ImageRef
    captions: tuple[str, ...]


def read_blip_captions(path: Path) -> list[CaptionedImage]:
    """Returns the records in file order.

    Raises:
        ZooError: The file is invalid, or an image occurs twice. The error names the file and the
            entry.
    """
    records: dict[ImageRef, CaptionedImage] = {}
    for place, entry in read_list(path, _CaptionFileEntry, "write a text or delete it"):
        image = infer_image_ref(entry.image)
        if image in records:
            raise ZooError(f"{place}: image {image} occurs twice: put its captions into one record")
        records[image] = CaptionedImage(image, entry.caption)
    return list(records.values())
