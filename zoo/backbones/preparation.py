"""Preprocessing of images for an image tower.

PIL images are normalised directly by open_clip's own transforms. Pixels in uint8 stay uint8, at a
quarter of the size, until the tower normalises them on its device.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor
from torchvision.transforms.functional import center_crop, pil_to_tensor, to_pil_image

from zoo.backbones.settings import Augmentation
from zoo.support.gpu import copy_without_waiting

Decoder = Literal["torchvision", "pil"]
RATIO = (3 / 4, 4 / 3)  # of a random crop's width and height, torchvision's default
ATTEMPTS = 10


def pil_transform(
    settings: Mapping[str, Any], augmentation: Augmentation | None
) -> Callable[[Any], Tensor]:
    """Returns a transform from a PIL image to a normalised `[3, H, W]`.

    Args:
        settings: open_clip's preprocessing settings, with the tower's size.
        augmentation: Random augmentation, drawn by torch's global generator; None prepares images
            as in evaluation.
    """
    from open_clip.transform import PreprocessCfg, image_transform_v2

    crop = None if augmentation is None else {"scale": tuple(augmentation.crop_scale)}
    transform: Callable[[Any], Tensor] = image_transform_v2(
        PreprocessCfg(**settings), is_train=crop is not None, aug_cfg=crop
    )
    return transform


def pil_pixel_transform(settings: Mapping[str, Any]) -> Callable[[Any], Tensor]:
    """Returns a transform from a PIL image to `[3, H, W]` in uint8, as in evaluation.

    `normalize_pixels` gives exactly the numbers of `pil_transform`.

    Args:
        settings: As in `pil_transform`.
    """
    return _PILResize(pil_transform(settings, None))


def pixel_transform(
    settings: Mapping[str, Any], augmentation: Augmentation | None
) -> Callable[[Tensor], Tensor]:
    """Returns a transform from pixels of an image of any size to `[3, H, W]`, all in uint8.

    They equal those of `pil_transform` before normalisation, up to one grey level. The same random
    numbers are drawn, so that crops are the same.

    Args:
        settings: As in `pil_transform`.
        augmentation: As in `pil_transform`.
    """
    size = settings["size"]
    height, width = (size, size) if isinstance(size, int) else size
    mode = settings.get("resize_mode") or "shortest"
    if augmentation is not None:
        return _RandomCrop(height, width, tuple(augmentation.crop_scale))
    if mode == "squash" or (mode == "shortest" and height == width):
        kind = "bilinear" if settings.get("interpolation") == "bilinear" else "bicubic"
        return _ResizeAndCenterCrop(height, width, squash=mode == "squash", interpolation=kind)
    return _PILResize(pil_transform(settings, None))


def normalize_pixels(images: Tensor, settings: Mapping[str, Any]) -> Tensor:
    """Normalises pixels in uint8, `[n, 3, H, W]`, like `pil_transform`."""
    values = torch.tensor([settings["mean"], settings["std"]])[..., None, None]
    mean, std = copy_without_waiting(values, images.device)
    return images.float().div_(255).sub_(mean).div_(std)


@dataclass(frozen=True)
class _RandomCrop:
    """A random crop, resized."""

    height: int
    width: int
    scale: tuple[float, ...]

    def __call__(self, image: Tensor) -> Tensor:
        top, left, height, width = random_box(image.shape[1], image.shape[2], self.scale)
        part = image[:, top : top + height, left : left + width]
        return _resize(part, self.height, self.width, "bicubic")


@dataclass(frozen=True)
class _ResizeAndCenterCrop:
    """The whole image squashed, or the centre of it after its shorter side was resized."""

    height: int
    width: int
    squash: bool
    interpolation: str

    def __call__(self, image: Tensor) -> Tensor:
        height, width = self.height, self.width
        if not self.squash:
            shorter = min(image.shape[1:])
            height, width = (int(height * side / shorter) for side in image.shape[1:])
        resized = _resize(image, height, width, self.interpolation)
        centre: Tensor = center_crop(resized, [self.height, self.width])
        return centre


@dataclass(frozen=True)
class _PILResize:
    """open_clip's steps for PIL images, without the last two, which normalise."""

    transform: Any

    def __call__(self, image: Any) -> Tensor:
        *shape, _to_tensor, _normalise = self.transform.transforms
        picture = to_pil_image(image) if isinstance(image, Tensor) else image
        for step in shape:
            picture = step(picture)
        prepared: Tensor = pil_to_tensor(picture)
        return prepared


def random_box(height: int, width: int, scale: tuple[float, ...]) -> tuple[int, int, int, int]:
    """Draws the same crop as torchvision's RandomResizedCrop with the same random numbers.

    If crops are nearly the whole image, most images need all ten attempts, and torchvision's take
    longer than the resizing.

    Args:
        height: Of the image.
        width: Of the image.
        scale: Least and greatest share of its area.

    Returns:
        Top, left, height and width of the crop.
    """
    ratios = math.log(RATIO[0]), math.log(RATIO[1])
    for _ in range(ATTEMPTS):
        of_area, of_ratio = torch.rand(2).tolist()
        area = height * width * (scale[0] + of_area * (scale[1] - scale[0]))
        ratio = math.exp(ratios[0] + of_ratio * (ratios[1] - ratios[0]))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            top = int(torch.randint(0, height - h + 1, (1,)))
            return top, int(torch.randint(0, width - w + 1, (1,))), h, w
    w = min(width, round(height * RATIO[1]))
    h = min(height, round(width / RATIO[0]))
    return (height - h) // 2, (width - w) // 2, h, w


def _resize(image: Tensor, height: int, width: int, interpolation: str) -> Tensor:
    # the kernel for uint8 needs the channels of a pixel next to each other
    image = image[None].contiguous(memory_format=torch.channels_last)
    return F.interpolate(image, (height, width), mode=interpolation, antialias=True)[0]
