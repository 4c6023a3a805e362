"""Conversion of images to RGB: like published scripts, or with orientation and transparency."""

from dataclasses import dataclass

import numpy as np
from PIL import ExifTags, Image, ImageColor, ImageOps

from zoo.errors import ZooError

UPRIGHT = 1  # the EXIF orientation of an image that needs no rotation


@dataclass(frozen=True)
class Decoding:
    """How a user's own images are decoded.

    Args:
        upright: Whether to rotate images according to their EXIF orientation. Published scripts do
            not rotate them.
        background: Colour behind transparent pixels, such as white. If None, transparency is
            ignored, as in published scripts.

    Raises:
        ZooError: The background is not a colour.
    """

    upright: bool = False
    background: str | None = None

    def __post_init__(self) -> None:
        try:
            ImageColor.getrgb(self.background or "white")
        except ValueError as error:
            raise ZooError(
                f"background {self.background!r} is not a colour: "
                "give a colour such as white or '#808080', or null"
            ) from error

    def __str__(self) -> str:
        """Returns the differences from published scripts; an empty string if there are none."""
        words = ["upright"] * self.upright + [f"on {self.background}"] * bool(self.background)
        return ", ".join(words)


AS_PUBLISHED = Decoding()


@dataclass(frozen=True)
class OrientationAndAlphaCounts:
    """How many of the user's own images have an EXIF orientation or transparency.

    Attributes:
        n_checked: Number of images that were read.
        n_rotated: Number of images with an EXIF orientation.
        n_transparent: Number of images that may have transparent pixels.
    """

    n_checked: int = 0
    n_rotated: int = 0
    n_transparent: int = 0

    def notes(self, decoding: Decoding, upright: str, background: str) -> dict[str, str]:
        """Returns a sentence on orientation and one on transparency, if any image has them.

        Args:
            decoding: How the images are decoded.
            upright: Name of the setting that rotates images.
            background: Name of the setting for the colour behind transparent pixels.
        """
        sample_note = f"of {self.n_checked:,} images that were checked"
        sentences = {}
        if self.n_rotated:
            action = "rotates them" if decoding.upright else "does not rotate them"
            sentences["orientation"] = (
                f"{self.n_rotated:,} {sample_note} have an EXIF orientation, and {upright}: "
                f"{str(decoding.upright).lower()} {action}"
            )
        if self.n_transparent:
            action = (
                f"shows {decoding.background} behind their transparent pixels"
                if decoding.background
                else "ignores their transparency"
            )
            sentences["transparency"] = (
                f"{self.n_transparent:,} {sample_note} have an alpha channel, and {background}: "
                f"{decoding.background or 'null'} {action}"
            )
        return sentences


def to_rgb(image: Image.Image, decoding: Decoding = AS_PUBLISHED) -> Image.Image:
    """Converts an image to RGB with 8 bits per channel.

    16-bit grey values are scaled to 8 bits; Pillow's conversion would clip them at 255.

    Args:
        image: The image.
        decoding: Whether to apply EXIF orientation and transparency.

    Raises:
        ValueError: The image has 32-bit pixels, whose value range is unknown.
    """
    if decoding.upright:
        image = ImageOps.exif_transpose(image)
    if decoding.background and is_transparent(image):
        ground = Image.new("RGBA", image.size, decoding.background)
        ground.alpha_composite(image.convert("RGBA"))
        return ground.convert("RGB")
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        grey = np.asarray(image).astype(np.float64) / 257
        return Image.fromarray(grey.round().astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise ValueError(
            f"its pixels are 32-bit numbers (mode {image.mode}), whose value range is unknown"
        )
    return image.convert("RGB")


def is_transparent(image: Image.Image) -> bool:
    """Returns whether an image has an alpha channel or a transparent palette colour."""
    return "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info


def has_orientation(image: Image.Image) -> bool:
    """Returns whether an image has an EXIF rotation or flip. Reads only the header."""
    if image.format == "PNG" and "exif" not in image.info:
        return False  # `getexif` would decode the whole image
    return image.getexif().get(ExifTags.Base.Orientation, UPRIGHT) not in (0, UPRIGHT)
