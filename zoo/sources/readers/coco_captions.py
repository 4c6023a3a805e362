"""COCO's captions JSON: `images` and `annotations` [`image_id`, `id`, `caption`]."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct

from zoo.errors import ZooError
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.support.schema import validate_record
from zoo.support.text_files import read_json, strip_caption

FORMAT = "the file must have the format of this reader"


class _COCOFile(Struct):
    images: list[Any]
    annotations: list[Any]


class _COCOImage(Struct):
    id: int


class _Annotation(Struct):
    image_id: int
    id: int
    caption: str


class CocoCaptions(Reader):
    """COCO's published captions.

    Args:
        file: captions_train2014.json or a file with the same layout.
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)

    @property
    def files(self) -> tuple[Path, ...]:
        """The caption file."""
        return (self.file,)

    def samples(self) -> Iterator[Sample]:
        """Yields a sample for each annotation."""
        content = validate_record(read_json(self.file), _COCOFile, str(self.file), FORMAT)
        refs: dict[int, tuple[ImageRef, str]] = {}
        for i, entry in enumerate(content.images):
            number = validate_record(entry, _COCOImage, f"{self.file}[images/{i}]").id
            ref = ImageRef("coco", str(number))
            refs[number] = (ref, str(ref))
        for i, entry in enumerate(content.annotations):
            origin = f"{self.file}[annotations/{i}]"
            annotation = validate_record(entry, _Annotation, origin)
            if annotation.image_id not in refs:
                raise ZooError(
                    f"{origin} is a caption of image {annotation.image_id}, "
                    "which is not in the file's list of images: download the file again"
                )
            ref, image_id = refs[annotation.image_id]
            text = strip_caption(annotation.caption, origin)
            yield Sample(ref, text, image_id, str(annotation.id), origin=origin)
