"""NegativeImages: for a caption, an image that it does not fit."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.own_images import OwnImages
from zoo.sources.sample import ImageRef
from zoo.support.by_caption import entries, key_of
from zoo.support.spec import Configurable


class NegativeImages(Configurable):
    """The negative images of a file, found by the text of the caption.

    Args:
        file: JSON lines of `{"caption", "negative_image"}`, where the image is a path or a
            reference such as coco:391895, and null if there is none. Other fields are left alone,
            so that `zoo.negatives.Replay` may read negative captions from the same lines. Several
            lines for one caption have one image, since Replay draws any of them.

    Raises:
        ZooError: The file cannot be read, or a line is broken or has another image than one
            before it for the same caption; the message names the line.
    """

    def __init__(self, file: Path) -> None:
        self.file = Path(file)
        self.images = _read(self.file)

    def describe(self) -> dict[str, Any]:
        """Returns what results say of the negative images."""
        return {"file": str(self.file), "captions": len(self.images)}

    def find_images(self, finder: ImageFinder, tolerate_missing: bool) -> "FoundImages":
        """Returns the images that are there.

        Args:
            finder: Finds images.
            tolerate_missing: Whether some of them may be missing.

        Raises:
            ZooError: Images are missing and not tolerated, or all are missing.
        """
        known = finder.resolve_references(self.images.values())
        images = {text: known.get(ref, ref) for text, ref in self.images.items()}
        distinct = dict.fromkeys(images.values())
        missing = finder.missing(distinct)
        if missing and (not tolerate_missing or len(missing) == len(distinct)):
            raise ZooError(
                f"{len(missing):,} of {len(distinct):,} negative images of {self.file} are missing "
                f"({missing[0]}): {finder.hint(missing[0])}, or set data.tolerate_missing: true to "
                "leave out some"
            )
        absent = frozenset(missing)
        there = {text: ref for text, ref in images.items() if ref not in absent}
        return FoundImages(there, finder.by_name(known), len(missing))


@dataclass(frozen=True)
class FoundImages:
    """Negative images that are there.

    Attributes:
        by_caption: The images by the text of their caption.
        by_name: Published images that are taken by their names, by what is written, where nothing
            is.
        missing: How many images are not there.
    """

    by_caption: dict[str, ImageRef] = field(default_factory=dict)
    by_name: dict[ImageRef, ImageRef] = field(default_factory=dict)
    missing: int = 0

    def image_for(self, caption: str) -> ImageRef | None:
        """Returns the negative image of a caption, or None where there is none."""
        return self.by_caption.get(key_of(caption))


def _read(file: Path) -> dict[str, ImageRef]:
    named: dict[str, str | None] = {}
    own = OwnImages(file.parent)
    source = 'give JSON lines of {"caption": .., "negative_image": ..}'
    for origin, caption, image in entries(
        file, "negative_image", optional=True, source=source, mend="mend the line"
    ):
        if named.setdefault(key_of(caption), image) != image:
            raise ZooError(
                f"{origin} has another negative_image for {caption[:60]!r} than a line before it, "
                "and a negative would be drawn beside either: leave one"
            )
    return {caption: own.ref(image) for caption, image in named.items() if image is not None}
