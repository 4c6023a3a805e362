"""How the bytes of an image become RGB: as published scripts have it, or as the image itself asks. Free of torch."""

from dataclasses import dataclass

import numpy as np
from PIL import ExifTags, Image, ImageColor, ImageOps

from zoo.errors import ZooError

AS_IT_LIES = 1


@dataclass(frozen=True)
class Decoding:
    """How a user's own images are decoded.

    Args:
        upright: Whether an image is turned as its EXIF orientation says; published scripts leave it as it lies.
        background: The colour under transparent pixels, such as white; where None, the colour that they hide is shown, as in published
            scripts.

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
                f"background {self.background!r} is no colour: give one such as white or '#808080', or null"
            ) from error

    def __str__(self) -> str:
        """Returns what differs from published scripts, nothing where that is nothing."""
        said = ["upright"] * self.upright + [f"on {self.background}"] * bool(self.background)
        return ", ".join(said)


AS_PUBLISHED = Decoding()


@dataclass(frozen=True)
class Carried:
    """Of images that were looked at: how many carry an EXIF orientation, how many can be transparent."""

    looked: int = 0
    turned: int = 0
    transparent: int = 0

    def notes(self, decoding: Decoding, upright: str, background: str) -> dict[str, str]:
        """Returns a sentence on each kind that there is. upright, background: the arguments that change what is done."""
        of = f"of {self.looked:,} own images looked at"
        found = {}
        if self.turned:
            done = "turns" if decoding.upright else "leaves"
            found["orientation"] = (
                f"{self.turned:,} {of} carry an EXIF orientation, and {upright}: "
                f"{str(decoding.upright).lower()} {done} them as {'it says' if decoding.upright else 'they lie'}"
            )
        if self.transparent:
            done = (
                f"puts {decoding.background} under their transparent pixels"
                if decoding.background
                else "shows the colour that their transparent pixels hide"
            )
            found["transparency"] = (
                f"{self.transparent:,} {of} have an alpha channel, and {background}: {decoding.background or 'null'} {done}"
            )
        return found


def rgb(image: Image.Image, decoding: Decoding = AS_PUBLISHED) -> Image.Image:
    """Returns an image in RGB with 8 bits a channel.

    Sixteen bits of grey are scaled, where Pillow's own conversion would cut them off at 255 and show white.

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
            f"its pixels are numbers of 32 bits (mode {image.mode}), of which none is known to be white"
        )
    return image.convert("RGB")


def is_transparent(image: Image.Image) -> bool:
    """Returns whether an image has an alpha channel, or a colour that stands for transparent."""
    return "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info


def is_turned(image: Image.Image) -> bool:
    """Returns whether an image says that it lies otherwise than it is to be seen; only its header is read."""
    if image.format == "PNG" and "exif" not in image.info:
        return False  # asked for more, Pillow would decode all of it
    return image.getexif().get(ExifTags.Base.Orientation, AS_IT_LIES) not in (0, AS_IT_LIES)
