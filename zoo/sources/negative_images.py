"""NegativeImages: images that do not match a caption."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.sources.image_paths import OwnImages
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef
from zoo.support.caption_texts import caption_key, read_entries
from zoo.support.configurable import Configurable


class NegativeImages(Configurable):
    """Negative images from a file, looked up by caption.

    Args:
        file: JSON lines of `{"caption", "negative_image"}`, where the image is a path or a
            reference such as coco:391895, or null if there is none. Other fields are ignored, so
            that `zoo.negatives.Replay` can read negative captions from the same lines. All lines
            of a caption must have the same image, since Replay samples any of them.

    Raises:
        ZooError: The file cannot be read, a line is invalid, or two lines give different images
            for the same caption; the message names the line.
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)
        self.images = _read_images_by_caption(self.file)

    def describe(self) -> dict[str, Any]:
        """Returns the description of the negative images for the results."""
        return {"file": str(self.file), "captions": len(self.images)}

    def find_images(self, finder: ImageFinder, tolerate_missing: bool) -> "FoundImages":
        """Returns the negative images whose files exist.

        Args:
            finder: Finds images.
            tolerate_missing: Whether some images may be missing.

        Raises:
            ZooError: Images are missing although `tolerate_missing` is false, or all are missing.
        """
        resolved = finder.match_published_images(self.images.values())
        images = {text: resolved.get(ref, ref) for text, ref in self.images.items()}
        distinct = dict.fromkeys(images.values())
        missing = finder.find_missing(distinct)
        if missing and (not tolerate_missing or len(missing) == len(distinct)):
            raise ZooError(
                f"{len(missing):,} of {len(distinct):,} negative images of {self.file} are missing "
                f"({missing[0]}): {finder.missing_image_advice(missing[0])}, or set "
                "data.tolerate_missing: true to "
                "skip missing images"
            )
        absent = frozenset(missing)
        present = {text: ref for text, ref in images.items() if ref not in absent}
        return FoundImages(present, finder.select_refs_of_missing_files(resolved), len(missing))


@dataclass(frozen=True)
class FoundImages:
    """Negative images whose files exist.

    Attributes:
        by_caption: The images, by caption.
        by_name: Published images that were found by file name, by the reference whose file is
            missing.
        missing: Number of missing images.
    """

    by_caption: dict[str, ImageRef] = field(default_factory=dict)
    by_name: dict[ImageRef, ImageRef] = field(default_factory=dict)
    missing: int = 0

    def image_for(self, caption: str) -> ImageRef | None:
        """Returns the negative image of a caption, or None if it has none."""
        return self.by_caption.get(caption_key(caption))


def _read_images_by_caption(file: Path) -> dict[str, ImageRef]:
    image_by_caption: dict[str, str | None] = {}
    own_images = OwnImages(file.parent)
    source = 'expected JSON lines of {"caption": .., "negative_image": ..}'
    for origin, caption, image in read_entries(
        file, "negative_image", optional=True, source_hint=source, advice="correct the line"
    ):
        if image_by_caption.setdefault(caption_key(caption), image) != image:
            raise ZooError(
                f"{origin} has a different negative_image for {caption[:60]!r} than an earlier "
                "line: keep only one of the images"
            )
    return {
        caption: own_images.ref(image)
        for caption, image in image_by_caption.items()
        if image is not None
    }
