"""Pixels in uint8 are prepared as PIL prepares them, to a grey level; the tower normalises them."""

import copy
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torchvision.transforms import RandomResizedCrop
from torchvision.transforms.functional import pil_to_tensor

from zoo.backbones import Augmentation, Backbone
from zoo.backbones.preparation import normalize_pixels, pil_transform, pixel_transform, random_box

SETTINGS: dict[str, Any] = {
    "size": 64,
    "mode": "RGB",
    "mean": (0.48, 0.45, 0.40),
    "std": (0.26, 0.25, 0.27),
    "interpolation": "bicubic",
    "resize_mode": "shortest",
    "fill_color": 0,
}
GREY_LEVEL = 1 / 255 / 0.25


@pytest.fixture(scope="module")
def pictures(shared_data: Path) -> list[Image.Image]:
    files = sorted((shared_data / "coco" / "val2017").glob("*.jpg"))[:4]
    return [Image.open(file).convert("RGB") for file in files]


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"interpolation": "bilinear"},
        {"resize_mode": "squash"},
        {"resize_mode": "longest", "fill_color": 9},
        {"size": (64, 48)},
    ],
    ids=str,
)
def test_evaluation_s_pixels_are_within_a_grey_level(
    other: dict[str, Any], pictures: list[Image.Image]
) -> None:
    settings = SETTINGS | other
    for picture in pictures:
        pixels = pixel_transform(settings, None)(pil_to_tensor(picture))
        assert pixels.dtype == torch.uint8
        difference = normalize_pixels(pixels[None], settings)[0] - pil_transform(settings, None)(
            picture
        )
        assert float(difference.abs().max()) < 1.01 * GREY_LEVEL
        assert float(difference.abs().mean()) < 1e-2 * GREY_LEVEL


def test_a_random_crop_is_that_of_pil_by_the_same_seed(pictures: list[Image.Image]) -> None:
    augmentation = Augmentation((0.4, 1.0))
    seen = []
    for seed, picture in enumerate(pictures):
        torch.manual_seed(seed)
        wanted = pil_transform(SETTINGS, augmentation)(picture)
        after = torch.rand(1)
        torch.manual_seed(seed)
        seen.append(pixel_transform(SETTINGS, augmentation)(pil_to_tensor(picture)))
        assert torch.equal(torch.rand(1), after)
        difference = normalize_pixels(seen[-1][None], SETTINGS)[0] - wanted
        assert float(difference.abs().max()) < 1.01 * GREY_LEVEL
    torch.manual_seed(9)
    assert not torch.equal(
        pixel_transform(SETTINGS, augmentation)(pil_to_tensor(picture)), seen[-1]
    )


@pytest.mark.parametrize("size", [(480, 640), (640, 427), (100, 900), (900, 100), (7, 5)])
@pytest.mark.parametrize("scale", [(0.9, 1.0), (0.4, 1.0)])
def test_a_random_box_is_torchvision_s_by_the_same_seed(
    size: tuple[int, int], scale: tuple[float, float]
) -> None:
    image = torch.empty(3, *size, dtype=torch.uint8)
    for seed in range(50):
        torch.manual_seed(seed)
        wanted = RandomResizedCrop.get_params(image, list(scale), [3 / 4, 4 / 3])
        after = torch.rand(1)
        torch.manual_seed(seed)
        assert random_box(*size, scale) == wanted
        assert torch.equal(torch.rand(1), after)


def test_normalising_pixels_is_exactly_what_pil_s_transform_does(
    pictures: list[Image.Image],
) -> None:
    square = pictures[0].resize((64, 64))
    found = normalize_pixels(pil_to_tensor(square)[None], SETTINGS)[0]
    assert torch.equal(found, pil_transform(SETTINGS, None)(square))


def test_a_tower_encodes_pixels_as_the_numbers_they_stand_for() -> None:
    torch.manual_seed(0)
    backbone = Backbone("zoo-tiny").eval()
    pixels = torch.randint(0, 256, (3, 3, *backbone.image_size), dtype=torch.uint8)
    numbers = normalize_pixels(pixels, backbone.model.visual.preprocess_cfg)
    assert torch.equal(
        backbone.encode_images(pixels).pooled, backbone.encode_images(numbers).pooled
    )
    half = copy.deepcopy(backbone).bfloat16()
    assert half.encode_images(pixels).pooled.dtype == torch.bfloat16


def test_workers_can_be_sent_what_prepares_pixels() -> None:
    backbone = Backbone("zoo-tiny")
    for transform in (backbone.train_pixels, backbone.eval_pixels):
        assert pickle.loads(pickle.dumps(transform)) == transform
