"""COCO's captions JSON: `images` and `annotations` [`image_id`, `id`, `caption`]."""

from pathlib import Path

from zoo.errors import ZooError
from zoo.sources.readers.base import Reader
from zoo.sources.sample import ImageRef, Sample
from zoo.support.text_files import caption, field, read_json


class CocoCaptions(Reader):
    """COCO's published captions.

    Args:
        file: captions_train2014.json or a file of its layout.
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)

    @property
    def files(self) -> tuple[Path, ...]:
        """The caption file."""
        return (self.file,)

    def samples(self) -> list[Sample]:
        """Returns a sample for each annotation."""
        content = read_json(self.file)
        refs: dict[int, tuple[ImageRef, str]] = {}
        for i, image in enumerate(field(content, "images", list, str(self.file))):
            number = field(image, "id", int, f"{self.file}[images/{i}]")
            ref = ImageRef("coco", str(number))
            refs[number] = (ref, str(ref))
        samples = []
        for i, annotation in enumerate(field(content, "annotations", list, str(self.file))):
            origin = f"{self.file}[annotations/{i}]"
            number = field(annotation, "image_id", int, origin)
            if number not in refs:
                raise ZooError(
                    f"{origin} is a caption of image {number}, "
                    "which is not among the file's images: fetch the file again"
                )
            ref, image_id = refs[number]
            text = caption(field(annotation, "caption", str, origin), origin)
            samples.append(
                Sample(
                    ref, text, image_id, str(field(annotation, "id", int, origin)), origin=origin
                )
            )
        return samples
