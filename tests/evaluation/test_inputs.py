"""What a notebook hands over: one image or many, in whatever form, and one text or many."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import ExifTags, Image

from tests.support.made import draw
from zoo.errors import ZooError
from zoo.evaluation.inputs import list_images, list_texts, open_picture
from zoo.sources.rgb_conversion import Decoding

PICTURE = draw("red", "square", "blue", "circle")
PIXELS = np.array(PICTURE)
CHANNELS_FIRST = torch.from_numpy(PIXELS.transpose(2, 0, 1).copy())

FORMS: dict[str, Callable[[], Any]] = {
    "whole numbers": lambda: PIXELS,
    "wider whole numbers": lambda: PIXELS.astype(np.int64),
    "fractions": lambda: PIXELS / 255,
    "fractions of half precision": lambda: (PIXELS / 255).astype(np.float16),
    "with alpha": lambda: np.dstack([PIXELS, np.full(PIXELS.shape[:2], 255, np.uint8)]),
    "a tensor": lambda: CHANNELS_FIRST,
    "a tensor of fractions": lambda: (CHANNELS_FIRST / 255).requires_grad_(),
    "a tensor of fractions in bf16": lambda: (CHANNELS_FIRST / 255).bfloat16(),
    "turned around in memory": lambda: np.asfortranarray(PIXELS),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_array_is_the_image_of_its_pixels(form: str) -> None:
    (given,) = list_images(FORMS[form]())
    apart = np.abs(np.array(open_picture(given)).astype(int) - PIXELS)
    assert apart.max() <= (1 if "bf16" in form else 0)


def test_grey_is_grey_in_every_form() -> None:
    grey = PIXELS[:, :, 0]
    expected = np.dstack([grey] * 3)
    for given in (
        grey,
        grey[:, :, None],
        torch.from_numpy(grey.copy()),
        torch.from_numpy(grey[None].copy()),
    ):
        np.testing.assert_array_equal(np.array(open_picture(given)), expected)
    mask = grey > 100
    np.testing.assert_array_equal(np.array(open_picture(mask))[:, :, 1], mask * np.uint8(255))


def test_orientation_and_transparency_are_honoured_where_asked(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 3
    PICTURE.save(tmp_path / "turned.png", exif=exif)
    for given in (tmp_path / "turned.png", Image.open(tmp_path / "turned.png")):
        np.testing.assert_array_equal(np.array(open_picture(given)), PIXELS)
        upright = np.array(open_picture(given, Decoding(upright=True)))
        np.testing.assert_array_equal(upright, PIXELS[::-1, ::-1])
    clear = np.dstack([PIXELS, np.zeros(PIXELS.shape[:2], np.uint8)])
    np.testing.assert_array_equal(np.array(open_picture(clear)), PIXELS)
    assert (np.array(open_picture(clear, Decoding(background="white"))) == 255).all()


def test_one_is_a_list_of_one_and_a_batch_a_list_of_many(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    for one in (file, str(file), PICTURE, PIXELS, CHANNELS_FIRST):
        assert len(list_images(one)) == 1
    assert len(list_images(np.stack([PIXELS] * 3))) == 3
    assert len(list_images(torch.stack([CHANNELS_FIRST] * 2))) == 2
    for many in (
        [file, PICTURE],
        (file, PIXELS),
        (p for p in [file, file]),
        np.array([file, file]),
        np.array(["a", "b"]),
    ):
        assert len(list_images(many)) == 2
    assert list_images([]) == []


def test_one_string_is_one_text() -> None:
    assert list_texts("a dog") == ["a dog"]
    assert list_texts(["a dog", "a cat"]) == ["a dog", "a cat"]
    assert list_texts(t for t in ("a", "b")) == ["a", "b"]
    assert list_texts(np.array(["a", "b"])) == ["a", "b"]
    assert list_texts([]) == []


IMAGES: list[tuple[Any, str]] = [
    (None, "images are a NoneType: give a path"),
    (3, "images are a int"),
    ({"a.png"}, "images are a set, which has no order"),
    ({"a": 1}, "images are a dict"),
    (b"jpeg", "images are a bytes"),
    (np.zeros(3), r"images are an array of shape \(3,\): give one of \[height, width, 3\]"),
    (torch.zeros(1, 1, 3, 4, 4), r"shape \(1, 1, 3, 4, 4\): give one of \[3, height, width\]"),
    ([3], "a int is not an image"),
    ([["a.png"]], "a list is not an image"),
    (CHANNELS_FIRST.numpy(), r"shape \(3, \d+, \d+\): give \[height, width, 3\]"),
    (torch.from_numpy(PIXELS), r"shape \(\d+, \d+, 3\): give \[3, height, width\]"),
    (np.zeros((0, 4, 3), np.uint8), r"shape \(0, 4, 3\)"),
    (PIXELS.astype(float), "of float64 from .* give integers from 0 to 255 or fractions"),
    (PIXELS / 255 - 0.5, "without normalisation"),
    (np.full((4, 4, 3), np.nan), "from nan to nan"),
    (PIXELS.astype(int) * 200, "of int64 from"),
    ([np.array([["a"]])], "an array of <U1"),
    ("nowhere.png", r"nowhere\.png cannot be read as an image"),
    (".", r"\. cannot be read as an image"),
    ("a\0b", "cannot be read as an image"),
]


@pytest.mark.parametrize(("given", "says"), IMAGES)
def test_what_is_no_image_is_named(given: Any, says: str) -> None:
    with pytest.raises(ZooError, match=says):
        [open_picture(image) for image in list_images(given)]


def test_an_image_that_ends_too_early_is_named_even_where_it_was_opened_before(
    tmp_path: Path,
) -> None:
    PICTURE.save(tmp_path / "a.png")
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "a.png").write_bytes(whole[: len(whole) // 2])
    for given in (tmp_path / "a.png", Image.open(tmp_path / "a.png")):
        with pytest.raises(ZooError, match=r"cannot be read as an image"):
            open_picture(given)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "texts are a NoneType: give a string or a list of strings"),
        (3, "texts are a int"),
        ({"a", "b"}, "texts are a set, which has no order"),
        (b"a dog", "texts are a bytes"),
        (["a", 3], "text 1 of 2 is a int: give a string"),
        (["a", None], "text 1 of 2 is a NoneType"),
        ([["a", "b"]], "text 0 of 1 is a list"),
        (PICTURE, "texts are a Image: give a string"),
    ],
)
def test_what_is_no_text_is_named(given: Any, says: str) -> None:
    with pytest.raises(ZooError, match=says):
        list_texts(given)
