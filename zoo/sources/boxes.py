"""Boxes in images that were resized: what can be scaled, and what cannot."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from zoo.sources.sample import ImageRef

Size = tuple[int, int]
Box = tuple[int, int, int, int]
BEYOND = 0.05  # of an image's side; published boxes miss an edge by less
RARE = 0.01  # of the boxes; a published file has a few that are wrong


@dataclass(frozen=True)
class Boxes:
    """What was found of boxes, images whose size is known apart from others.

    Attributes:
        resized: Images of another size than published, in the same shape. Their boxes are scaled.
        unfit: Images whose boxes cannot be had, since they have another shape than published, or
            were resized and nobody tells from what.
    """

    resized: frozenset[ImageRef]
    unfit: frozenset[ImageRef]

    @property
    def notes(self) -> dict[str, str]:
        """What results say of them."""
        notes = {}
        if self.resized:
            notes["resized images"] = (
                f"boxes scaled in {len(self.resized):,} crops, whose images have another size than "
                f"published (first: {min(self.resized)})"
            )
        if self.unfit:
            notes["boxes that do not fit"] = (
                f"{len(self.unfit):,} left out: their images were resized, from what is not told "
                f"or to another shape (first: {min(self.unfit)}); put them there as published"
            )
        return notes


def boxes(refs: Iterable[ImageRef], size: Callable[[ImageRef], Size | None]) -> Boxes:
    """Looks at the sizes of images that are cropped.

    Where the published size is not told, images count as resized if many boxes reach far beyond
    them: then none of these boxes can be trusted.

    Args:
        refs: References to images, of which those with a crop are looked at.
        size: Gives the size of an image's file, None where there is none.
    """
    there = {ref: found for ref in refs if ref.crop is not None and (found := size(ref))}
    told = {ref: found for ref, found in there.items() if ref.size not in (None, found)}
    unfit = {ref for ref, found in told.items() if not _have_equal_shape(ref.size or found, found)}
    untold = {ref: found for ref, found in there.items() if ref.size is None}
    beyond = sum(_is_outside(ref.crop, found) for ref, found in untold.items() if ref.crop)
    if beyond > RARE * len(untold):
        unfit |= set(untold)
    return Boxes(frozenset(told.keys() - unfit), frozenset(unfit))


def scale_box(box: Box, published: Size | None, size: Size) -> Box:
    """Returns a box in the pixels of a file.

    Args:
        box: Left, top, width and height in the pixels of the image as published.
        published: Width and height of that image; None where they are those of the file.
        size: Width and height of the file.
    """
    if published is None or published == size:
        return box
    left, top, width, height = box
    x, y = size[0] / published[0], size[1] / published[1]
    first = round(left * x), round(top * y)
    last = round((left + width) * x), round((top + height) * y)
    return (*first, max(1, last[0] - first[0]), max(1, last[1] - first[1]))


def _have_equal_shape(published: Size, size: Size) -> bool:
    """Tells whether two sizes are of one shape, but for what rounding to pixels changes."""
    return abs(published[0] * size[1] - published[1] * size[0]) <= max(published)


def _is_outside(box: Box, size: Size) -> bool:
    left, top, width, height = box
    ends = (left + width, top + height)
    return any(end > (1 + BEYOND) * side for end, side in zip(ends, size, strict=True))
