"""Converts images and texts that users pass in to lists of images and of strings."""

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from zoo.errors import ZooError
from zoo.sources.rgb_conversion import AS_PUBLISHED, Decoding, to_rgb

Picture = Image.Image | str | PathLike[str] | NDArray[Any] | Tensor


def list_images(images: Picture | Iterable[Picture]) -> list[Picture]:
    """Returns images as a list.

    Args:
        images: One image, an ordered collection of images, or a batch in one array. An image is a
            PIL image, a path, an array `[h, w, 3]` (or `[h, w]`, which is grey) or a tensor
            `[3, h, w]`. Arrays and tensors with one more dimension are batches.

    Raises:
        ZooError: It is none of these.
    """
    if isinstance(images, Image.Image | str | PathLike):
        return [images]
    if isinstance(images, np.ndarray | Tensor) and (
        isinstance(images, Tensor) or _holds_numbers(images)
    ):
        if images.ndim not in (2, 3, 4):
            raise ZooError(
                f"images are an array of shape {tuple(images.shape)}: give one of "
                f"{_expected_layout(images)}, or a batch of them"
            )
        return list(images) if images.ndim == 4 else [images]
    return _to_ordered_list(images, "images", "a path, a PIL image, an array, or a list of these")


def list_texts(value: str | Iterable[str]) -> list[str]:
    """Returns texts as a list; one string is one text.

    Raises:
        ZooError: It is neither a string nor an ordered collection of strings.
    """
    texts = (
        [value]
        if isinstance(value, str)
        else _to_ordered_list(value, "texts", "a string or a list of strings")
    )
    wrong = next((i for i, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise ZooError(
            f"text {wrong} of {len(texts)} is a {type(texts[wrong]).__name__}: give a string"
        )
    return [str(text) for text in texts]


def open_picture(picture: Picture, decoding: Decoding = AS_PUBLISHED) -> Image.Image:
    """Returns an image in RGB.

    Args:
        picture: An image from `listed_images`. Arrays and tensors hold integers from 0 to 255, or
            fractions from 0 to 1.
        decoding: Whether its EXIF orientation and its transparency are applied.

    Raises:
        ZooError: It is not an image, or cannot be decoded.
    """
    if isinstance(picture, np.ndarray | Tensor):
        return to_rgb(_to_image(picture), decoding)
    if not isinstance(picture, Image.Image | str | PathLike):
        raise ZooError(
            f"a {type(picture).__name__} is not an image: give a path, a PIL image or an array"
        )
    try:
        if isinstance(picture, Image.Image):
            return to_rgb(picture, decoding)
        with Image.open(fspath(picture)) as file:
            return to_rgb(file, decoding)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ZooError(
            f"{picture} cannot be read as an image ({error}): give the path of a JPEG or PNG file"
        ) from error


def _to_ordered_list(value: Any, name: str, expected: str) -> list[Any]:
    if isinstance(value, set | frozenset | dict | bytes) or not isinstance(value, Iterable):
        reason = ", which has no order" if isinstance(value, set | frozenset) else ""
        raise ZooError(f"{name} are a {type(value).__name__}{reason}: give {expected}")
    return list(value)


def _expected_layout(array: NDArray[Any] | Tensor) -> str:
    return "[3, height, width]" if isinstance(array, Tensor) else "[height, width, 3]"


def _holds_numbers(array: NDArray[Any]) -> bool:
    return bool(array.dtype.kind in "biuf")


def _to_image(picture: NDArray[Any] | Tensor) -> Image.Image:
    """Returns the image of an array or a tensor.

    Args:
        picture: An array `[h, w]` or `[h, w, c]`, or a tensor `[h, w]` or `[c, h, w]`, with 1, 3 or
            4 channels, the fourth alpha.
    """
    layout, shape = _expected_layout(picture), tuple(picture.shape)
    if isinstance(picture, Tensor):
        picture = picture.detach().cpu()
        pixels = (picture.float() if picture.dtype == torch.bfloat16 else picture).numpy()
        pixels = pixels.transpose(1, 2, 0) if pixels.ndim == 3 else pixels
    else:
        pixels = picture
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if 0 in shape or not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))):
        raise ZooError(f"an image is an array of shape {shape}: give {layout}")
    if not _holds_numbers(pixels):
        raise ZooError(f"an image is an array of {pixels.dtype}: give numbers")
    if pixels.dtype == np.bool_:
        pixels = pixels.astype(np.uint8) * 255
    highest = 1 if pixels.dtype.kind == "f" else 255
    low, high = pixels.min(), pixels.max()
    if not (low >= 0 and high <= highest):
        raise ZooError(
            f"an image is an array of {pixels.dtype} from {low:g} to {high:g}: give integers from "
            "0 to 255 or fractions from 0 to 1, without normalisation, which the model applies"
        )
    integers = np.rint(pixels * 255) if highest == 1 else pixels
    return Image.fromarray(np.ascontiguousarray(integers.astype(np.uint8)))
