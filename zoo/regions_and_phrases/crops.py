"""Crops of an image, which are encoded separately.

Structure-guided inference (Role of Inference, sections 3.2 and B.1) cuts an image of 224 x 224
pixels into crops of six sizes.
"""

from collections.abc import Sequence

from torch import Tensor

from zoo.errors import ZooError
from zoo.regions_and_phrases.base import Views
from zoo.support.ranges import PositiveInt

Size = tuple[PositiveInt, PositiveInt]
SIZES: tuple[Size, ...] = ((32, 32), (56, 56), (112, 112), (224, 224), (56, 112), (112, 56))


class Grid(Views):
    """Crops that do not overlap others of the same size; by default, 86 crops of six sizes.

    Args:
        sizes: The sizes of the crops: pairs of width and height, in pixels.
        side: The image is first resized and centre-cropped to a square with this side, in pixels.

    Raises:
        ZooError: A crop is larger than the image, or `sizes` is empty.
    """

    def __init__(self, sizes: Sequence[Size] = SIZES, side: PositiveInt = 224) -> None:
        self.sizes, self.side = [(width, height) for width, height in sizes], side
        if not self.sizes:
            raise ZooError(f"{type(self).__name__} has no sizes: give some, such as [[224, 224]]")
        self.count = len(self.boxes(side, side))

    def stride(self, length: int) -> int:
        """Returns the distance between neighbouring crops that are `length` pixels wide or high."""
        return length

    def boxes(self, width: int, height: int) -> list[tuple[int, int, int, int]]:
        """Returns the left edge, top edge, width and height of every crop of an image.

        Crops are in the order of `sizes`. Those of one size are listed row by row, from the upper
        left.

        Args:
            width: The image's width.
            height: The image's height.

        Raises:
            ZooError: A crop is larger than the image.
        """
        crops = []
        for w, h in self.sizes:
            if w > width or h > height:
                raise ZooError(
                    f"{type(self).__name__} has crops of {w} x {h} pixels, which are larger than "
                    f"its images of {width} x {height}: remove that size, or increase side"
                )
            crops += [
                (left, top, w, h)
                for top in range(0, height - h + 1, self.stride(h))
                for left in range(0, width - w + 1, self.stride(w))
            ]
        return crops

    def views(self, image: Tensor) -> list[Tensor]:
        """Returns the crops of an image, `[3, height, width]` each."""
        height, width = image.shape[-2:]
        return [
            image[:, top : top + h, left : left + w]
            for left, top, w, h in self.boxes(width, height)
        ]


class Overlap(Grid):
    """Crops that overlap neighbours of the same size by half; by default, 270 crops of six sizes.

    Args:
        sizes: The sizes of the crops: pairs of width and height, in pixels.
        side: The image is first resized and centre-cropped to a square with this side, in pixels.

    Raises:
        ZooError: A crop is larger than the image, or `sizes` is empty.
    """

    def stride(self, length: int) -> int:
        """Returns half of `length`, but at least 1; see `Grid.stride`."""
        return max(1, length // 2)
