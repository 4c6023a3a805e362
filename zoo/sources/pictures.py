"""Decoding: how the bytes of an image become RGB, as published scripts or the image itself ask."""

from dataclasses import dataclass

import numpy as np
from PIL import ExifTags, Image, ImageColor, ImageOps

from zoo.errors import ZooError

AS_IT_LIES = 1


@dataclass(frozen=True)
class Decoding:
    """How a user's own images are decoded.

    Args:
        upright: Whether an image is turned as its EXIF orientation says. Published scripts leave it
            as it lies.
        background: Colour under transparent pixels, such as white. Where None, the colour that they
            hide is shown, as in published scripts.

    Raises:
        ZooError: The background is no colour.
    """

    upright: bool = False
    background: str | None = None

    def __post_init__(self) -> None:
        try:
            ImageColor.getrgb(self.background or "white")
        except ValueError as error:
            raise ZooError(
                f"background {self.background!r} is no colour: "
                "give one such as white or '#808080', or null"
            ) from error

    def __str__(self) -> str:
        """Returns what differs from published scripts, an empty text where nothing does."""
        said = ["upright"] * self.upright + [f"on {self.background}"] * bool(self.background)
        return ", ".join(said)


AS_PUBLISHED = Decoding()


@dataclass(frozen=True)
class Carried:
    """What a user's own images carry, counted in those that were looked at.

    Attributes:
        looked: Number of images that were looked at.
        turned: Number of images that carry an EXIF orientation.
        transparent: Number of images that can be transparent.
    """

    looked: int = 0
    turned: int = 0
    transparent: int = 0

    def notes(self, decoding: Decoding, upright: str, background: str) -> dict[str, str]:
        """Returns a sentence each on orientation and transparency, where images carry it.

        Args:
            decoding: How the images are decoded.
            upright: Name of the argument that says whether images are turned.
            background: Name of the argument that gives the colour under transparent pixels.
        """
        of = f"of {self.looked:,} own images looked at"
        found = {}
        if self.turned:
            done = "turns them as it says" if decoding.upright else "leaves them as they lie"
            found["orientation"] = (
                f"{self.turned:,} {of} carry an EXIF orientation, and {upright}: "
                f"{str(decoding.upright).lower()} {done}"
            )
        if self.transparent:
            done = (
                f"puts {decoding.background} under their transparent pixels"
                if decoding.background
                else "shows the colour that their transparent pixels hide"
            )
            found["transparency"] = (
                f"{self.transparent:,} {of} have an alpha channel, and {background}: "
                f"{decoding.background or 'null'} {done}"
            )
        return found


def rgb(image: Image.Image, decoding: Decoding = AS_PUBLISHED) -> Image.Image:
    """Returns an image in RGB with 8 bits a channel.

    Sixteen bits of grey are scaled, where Pillow's own conversion would cut them off at 255 and
    show white.

    Args:
        image: The image.
        decoding: Whether its EXIF orientation and its transparency are honoured.

    Raises:
        ValueError: The image has numbers of which nobody says how many are white.
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
            f"its pixels are numbers of 32 bits (mode {image.mode}), "
            "of which none is known to be white"
        )
    return image.convert("RGB")


def is_transparent(image: Image.Image) -> bool:
    """Returns whether an image has an alpha channel, or a colour that stands for transparent."""
    return "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info


def is_turned(image: Image.Image) -> bool:
    """Returns whether the EXIF orientation of an image says to turn it; only its header is read."""
    if image.format == "PNG" and "exif" not in image.info:
        return False  # asked for more, Pillow would decode all of it
    return image.getexif().get(ExifTags.Base.Orientation, AS_IT_LIES) not in (0, AS_IT_LIES)
