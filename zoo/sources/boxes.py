"""Bounding boxes in resized images: which can be rescaled, and which cannot."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from zoo.sources.sample import ImageRef

Size = tuple[int, int]
Box = tuple[int, int, int, int]
BEYOND = 0.05  # share of an image's side; published boxes exceed the image by less
RARE = 0.01  # share of the boxes; published files have a few wrong ones


@dataclass(frozen=True)
class BoxCheck:
    """Images with bounding boxes whose size differs from the published one.

    Attributes:
        resized: Images with the published aspect ratio but another size. Their boxes are scaled.
        uncroppable: Images whose boxes cannot be scaled, since they have another aspect ratio than
            published, or were resized from an unknown size.
    """

    resized: frozenset[ImageRef]
    uncroppable: frozenset[ImageRef]

    @property
    def notes(self) -> dict[str, str]:
        """Sentences about these images for the results."""
        notes = {}
        if self.resized:
            notes["resized images"] = (
                f"boxes were scaled for {len(self.resized):,} crops, because their images do not "
                f"have the published size (first: {min(self.resized)})"
            )
        if self.uncroppable:
            notes["boxes that do not fit"] = (
                f"{len(self.uncroppable):,} were left out: their images were resized to another "
                f"aspect ratio or from an unknown size (first: {min(self.uncroppable)}); use the "
                "images as published"
            )
        return notes


def check_boxes(refs: Iterable[ImageRef], size: Callable[[ImageRef], Size | None]) -> BoxCheck:
    """Compares the file sizes of images that have a crop with their published sizes.

    Images without a published size count as resized if many of their boxes exceed the image: then
    none of these boxes can be trusted.

    Args:
        refs: References to images; those without a crop are ignored.
        size: Returns the size of an image file, or None if it is missing.
    """
    size_by_ref = {
        ref: file_size for ref in refs if ref.crop is not None and (file_size := size(ref))
    }
    resized = {
        ref: file_size
        for ref, file_size in size_by_ref.items()
        if ref.size not in (None, file_size)
    }
    unfit = {
        ref
        for ref, file_size in resized.items()
        if not _have_equal_aspect_ratio(ref.size or file_size, file_size)
    }
    unknown = {ref: file_size for ref, file_size in size_by_ref.items() if ref.size is None}
    n_outside = sum(
        _is_outside(ref.crop, file_size) for ref, file_size in unknown.items() if ref.crop
    )
    if n_outside > RARE * len(unknown):
        unfit |= set(unknown)
    return BoxCheck(frozenset(resized.keys() - unfit), frozenset(unfit))


def scale_box(box: Box, published: Size | None, size: Size) -> Box:
    """Converts a box from pixels of the published image to pixels of the file.

    Args:
        box: Left, top, width and height in pixels of the published image.
        published: Width and height of the published image; None if they equal those of the file.
        size: Width and height of the file.
    """
    if published is None or published == size:
        return box
    left, top, width, height = box
    x, y = size[0] / published[0], size[1] / published[1]
    start = round(left * x), round(top * y)
    end = round((left + width) * x), round((top + height) * y)
    return (*start, max(1, end[0] - start[0]), max(1, end[1] - start[1]))


def _have_equal_aspect_ratio(published: Size, size: Size) -> bool:
    """Returns whether two sizes have the same aspect ratio, up to rounding to pixels."""
    return abs(published[0] * size[1] - published[1] * size[0]) <= max(published)


def _is_outside(box: Box, size: Size) -> bool:
    left, top, width, height = box
    ends = (left + width, top + height)
    return any(end > (1 + BEYOND) * side for end, side in zip(ends, size, strict=True))
