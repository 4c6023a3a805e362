"""Inputs: what callers hand over as images and texts, as lists of images and of strings."""

from collections.abc import Iterable
from os import PathLike, fspath
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

from zoo.errors import ZooError
from zoo.sources.pictures import AS_PUBLISHED, Decoding, rgb

Picture = Image.Image | str | PathLike[str] | NDArray[Any] | Tensor


def listed_images(given: Picture | Iterable[Picture]) -> list[Picture]:
    """Returns images as a list.

    Args:
        given: One image, a collection of images that keeps their order, or a batch in one array. An
            image is a PIL image, a path, an array `[h, w, 3]` (or `[h, w]`, which is grey) or a
            tensor `[3, h, w]`. Arrays and tensors of one more dimension are batches.

    Raises:
        ZooError: It is none of these.
    """
    if isinstance(given, Image.Image | str | PathLike):
        return [given]
    if isinstance(given, np.ndarray | Tensor) and (
        isinstance(given, Tensor) or _holds_numbers(given)
    ):
        if given.ndim not in (2, 3, 4):
            raise ZooError(
                f"images are an array of shape {tuple(given.shape)}: give one of {_layout(given)}, "
                "or several stacked"
            )
        return list(given) if given.ndim == 4 else [given]
    return _in_order(given, "images", "a path, a PIL image, an array, or a list of these")


def listed_texts(given: str | Iterable[str]) -> list[str]:
    """Returns texts as a list; one string is one text.

    Raises:
        ZooError: It is neither a string nor a collection of strings that keeps their order.
    """
    texts = (
        [given]
        if isinstance(given, str)
        else _in_order(given, "texts", "a string or a list of strings")
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
        picture: An image as `listed_images` returns it. Arrays and tensors hold whole numbers from
            0 to 255, or fractions from 0 to 1.
        decoding: Whether its EXIF orientation and its transparency are honoured.

    Raises:
        ZooError: It is no whole image.
    """
    if isinstance(picture, np.ndarray | Tensor):
        return rgb(_to_image(picture), decoding)
    if not isinstance(picture, Image.Image | str | PathLike):
        raise ZooError(
            f"a {type(picture).__name__} is no image: give a path, a PIL image or an array"
        )
    try:
        if isinstance(picture, Image.Image):
            return rgb(picture, decoding)
        with Image.open(fspath(picture)) as file:
            return rgb(file, decoding)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ZooError(
            f"{picture} cannot be read as an image ({error}): give a path of a whole JPEG or PNG"
        ) from error


def _in_order(given: Any, what: str, wanted: str) -> list[Any]:
    if isinstance(given, set | frozenset | dict | bytes) or not isinstance(given, Iterable):
        why = ", which keeps no order" if isinstance(given, set | frozenset) else ""
        raise ZooError(f"{what} are a {type(given).__name__}{why}: give {wanted}")
    return list(given)


def _layout(array: NDArray[Any] | Tensor) -> str:
    return "[3, height, width]" if isinstance(array, Tensor) else "[height, width, 3]"


def _holds_numbers(array: NDArray[Any]) -> bool:
    return bool(array.dtype.kind in "biuf")


def _to_image(picture: NDArray[Any] | Tensor) -> Image.Image:
    """Returns the image of an array or a tensor.

    Args:
        picture: An array `[h, w]` or `[h, w, c]`, or a tensor `[h, w]` or `[c, h, w]`, of 1, 3 or 4
            channels, the fourth alpha.
    """
    layout, shape = _layout(picture), tuple(picture.shape)
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
    top = 1 if pixels.dtype.kind == "f" else 255
    low, high = pixels.min(), pixels.max()
    if not (low >= 0 and high <= top):
        raise ZooError(
            f"an image is an array of {pixels.dtype} from {low:g} to {high:g}: give whole "
            "numbers from 0 to 255 or fractions from 0 to 1, before any normalisation, which the "
            "model does itself"
        )
    whole = np.rint(pixels * 255) if top == 1 else pixels
    return Image.fromarray(np.ascontiguousarray(whole.astype(np.uint8)))
