"""Decoding of images with PIL, or with torchvision where possible."""

import struct
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import torch
from PIL import Image
from torch import Tensor
from torchvision.transforms.functional import pil_to_tensor

from zoo.backbones.preparation import Decoder
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef

JPEG = b"\xff\xd8"
GREY, COLOUR = 1, 3
FRAMES = {0xC0 + i for i in range(16)} - {0xC4, 0xC8, 0xCC}  # markers of a JPEG's frame header


def decode_image(finder: ImageFinder, ref: ImageRef, decoder: Decoder) -> Any:
    """Returns an image in RGB.

    Args:
        finder: Finds the image.
        ref: Reference of the image.
        decoder: The decoder, 'pil' or 'torchvision'.

    Returns:
        A PIL image, or for the torchvision decoder its pixels `[3, H, W]` in uint8.

    Raises:
        BrokenImage: The image cannot be decoded.
        ZooError: The image is missing or not readable.
    """
    return finder.load(ref) if decoder == "pil" else pixels_of(finder, ref)


def pixels_of(finder: ImageFinder, ref: ImageRef) -> Tensor:
    """Returns the pixels of an image, `[3, H, W]` in uint8.

    torchvision decodes grey and RGB JPEGs. PIL decodes all other images and reports errors: CMYK
    and other formats, images that are cropped or rotated, files that are broken or have too many
    pixels.

    Args:
        finder: Finds the image.
        ref: Reference of the image.

    Raises:
        BrokenImage: The image cannot be decoded.
        ZooError: The image is missing or not readable.
    """
    pixels = None
    if ref.crop is None and not finder.decoding_of(ref).upright:
        pixels = _decode_jpeg(finder, ref)
    return pil_to_tensor(finder.load(ref)) if pixels is None else pixels


@cache
def _jpeg_decoder() -> Callable[[Tensor], Tensor]:
    """Returns a function that decodes a JPEG without converting its channels.

    Conversion to RGB would differ from PIL for CMYK images. torchvision plans to remove its decoder
    in favour of torchcodec's, which gives the same pixels.

    Raises:
        ZooError: Neither decoder is available.
    """
    try:
        from torchvision.io import ImageReadMode, decode_jpeg

        return partial(decode_jpeg, mode=ImageReadMode.UNCHANGED)
    except ImportError:
        pass
    try:
        from torchcodec import decoders
    except ImportError as error:
        raise ZooError(
            "the installed torchvision has no JPEG decoder: pip install torchcodec, or set "
            "data.decoder: pil"
        ) from error
    return partial(decoders.decode_jpeg, mode="UNCHANGED")


def _decode_jpeg(finder: ImageFinder, ref: ImageRef) -> Tensor | None:
    try:
        content = finder.read_stored_bytes(ref)
    except OSError:
        return None
    if not content.startswith(JPEG):
        return None
    size = _jpeg_header_size(content)
    max_pixels = Image.MAX_IMAGE_PIXELS
    if size is None or (max_pixels is not None and size[0] * size[1] > 2 * max_pixels):
        return None  # PIL rejects images with more than twice its limit
    file = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    decode = _jpeg_decoder()
    try:
        pixels = decode(file)
    except RuntimeError:
        return None
    return pixels.expand(3, -1, -1) if len(pixels) in (GREY, COLOUR) else None


def _jpeg_header_size(content: bytes) -> tuple[int, int] | None:
    """Returns the height and width in the frame header of a JPEG, or None if it is not found.

    This is a hundred times faster than opening the file with PIL.
    """
    place = len(JPEG)
    while place + 9 <= len(content) and content[place] == 0xFF:
        marker = content[place + 1]
        if marker in FRAMES:
            height, width = struct.unpack_from(">HH", content, place + 5)
            return height, width
        if marker == 0xFF:  # fills the space before a marker
            place += 1
        else:
            place += 2 + int(struct.unpack_from(">H", content, place + 2)[0])
    return None
