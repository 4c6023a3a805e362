"""Decoding: an image by reference, decoded by PIL or, where it can, by torchvision."""

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
        finder: Finds it.
        ref: Its reference.
        decoder: What decodes it.

    Returns:
        PIL's image, or its pixels `[3, H, W]` in uint8 where torchvision is asked to decode it.

    Raises:
        BrokenImage: The image cannot be decoded.
        ZooError: It is not found, or may not be read.
    """
    return finder.load(ref) if decoder == "pil" else pixels_of(finder, ref)


def pixels_of(finder: ImageFinder, ref: ImageRef) -> Tensor:
    """Returns the pixels of an image, `[3, H, W]` in uint8.

    torchvision decodes JPEGs in grey or three colours. PIL decodes all others, and reports what is
    wrong: four colours, other formats, images cropped or turned, files that are broken or have too
    many pixels.

    Args:
        finder: Finds it.
        ref: Its reference.

    Raises:
        BrokenImage: The image cannot be decoded.
        ZooError: It is not found, or may not be read.
    """
    pixels = None
    if ref.crop is None and not finder.decoding_of(ref).upright:
        pixels = _of_jpeg(finder, ref)
    return pil_to_tensor(finder.load(ref)) if pixels is None else pixels


@cache
def _jpeg_decoder() -> Callable[[Tensor], Tensor]:
    """Returns what decodes a JPEG into the channels that it has.

    Asked for RGB, it would turn four colours into three by another rule than PIL's. torchvision
    means to take its decoder away, in favour of torchcodec's, which gives the same pixels.

    Raises:
        ZooError: Neither is there.
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


def _of_jpeg(finder: ImageFinder, ref: ImageRef) -> Tensor | None:
    try:
        content = finder.content(ref)
    except OSError:
        return None
    if not content.startswith(JPEG):
        return None
    size = _stated_size(content)
    most = Image.MAX_IMAGE_PIXELS
    if size is None or (most is not None and size[0] * size[1] > 2 * most):
        return None  # PIL refuses images of more than twice its bound
    file = torch.frombuffer(bytearray(content), dtype=torch.uint8)
    decode = _jpeg_decoder()
    try:
        pixels = decode(file)
    except RuntimeError:
        return None
    return pixels.expand(3, -1, -1) if len(pixels) in (GREY, COLOUR) else None


def _stated_size(content: bytes) -> tuple[int, int] | None:
    """Returns the height and width in a JPEG's frame header; None where it is not found.

    Reading it takes a hundredth of the time that PIL takes to open the file.
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
