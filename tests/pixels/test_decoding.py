"""Decoding by torchvision gives PIL's pixels, and leaves to PIL what it would decode otherwise."""

import io
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torchvision
from PIL import Image
from torch import Tensor
from torchvision.transforms.functional import pil_to_tensor

from zoo.errors import ZooError
from zoo.pixels import decode_image, decoding
from zoo.pixels.decoding import pixels_of
from zoo.sources.images import BrokenImage, ImageFinder
from zoo.sources.rgb_conversion import Decoding
from zoo.sources.sample import ImageRef

PICTURE = Image.radial_gradient("L").resize((60, 40))
SIDEWAYS = 6  # of EXIF's orientations


def jpeg(mode: str, **options: Any) -> bytes:
    file = io.BytesIO()
    PICTURE.convert("RGB").convert(mode).save(file, "JPEG", **options)
    return file.getvalue()


def coloured(format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    Image.merge("RGB", (PICTURE, PICTURE.rotate(180), PICTURE)).save(file, format, **options)
    return file.getvalue()


def oriented() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = SIDEWAYS
    return coloured("JPEG", exif=exif)


@pytest.fixture
def refs(tmp_path: Path) -> Any:
    def written(content: bytes) -> ImageRef:
        path = tmp_path / "image.jpg"
        path.write_bytes(content)
        return ImageRef("file", str(path))

    return written


@pytest.mark.parametrize(
    "content",
    [
        coloured("JPEG"),
        coloured("JPEG", progressive=True),
        jpeg("L"),
        jpeg("CMYK"),
        oriented(),
        coloured("PNG"),
        coloured("WEBP"),
        coloured("GIF"),
    ],
    ids=["colour", "progressive", "grey", "four colours", "turned", "png", "webp", "gif"],
)
def test_pixels_are_those_of_pil_for_every_kind_of_file(content: bytes, refs: Any) -> None:
    finder, ref = ImageFinder([]), refs(content)
    found, wanted = pixels_of(finder, ref), pil_to_tensor(finder.load(ref))
    assert found.dtype == torch.uint8
    assert found.shape == wanted.shape
    assert int((found.int() - wanted.int()).abs().max()) <= 1


def test_images_of_sixteen_bits_are_scaled_as_pil_s_are(tmp_path: Path) -> None:
    path = tmp_path / "deep.png"
    Image.new("I;16", (4, 4), 40_000).save(path)
    pixels = pixels_of(ImageFinder([]), ImageRef("file", str(path)))
    assert pixels.shape == (3, 4, 4)
    assert set(pixels.flatten().tolist()) == {round(40_000 / 257)}


def test_an_own_image_is_turned_and_a_crop_is_cut_where_that_is_asked(refs: Any) -> None:
    ref = refs(oriented())
    assert pixels_of(ImageFinder([]), ref).shape == (3, 40, 60)
    assert pixels_of(ImageFinder([], Decoding(upright=True)), ref).shape == (3, 60, 40)
    crop = ImageRef("file", ref.key, (10, 5, 20, 30))
    assert pixels_of(ImageFinder([]), crop).shape == (3, 30, 20)


@pytest.mark.parametrize("cut", [400, 2])
def test_a_broken_jpeg_is_told_as_pil_tells_it(cut: int, refs: Any) -> None:
    ref = refs(coloured("JPEG")[:cut])
    finder = ImageFinder([])
    with pytest.raises(BrokenImage) as by_torchvision:
        decode_image(finder, ref, "torchvision")
    with pytest.raises(BrokenImage) as by_pil:
        decode_image(finder, ref, "pil")
    assert str(by_torchvision.value) == str(by_pil.value)


@pytest.fixture
def without_decoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A torchvision of a later release, and no torchcodec."""
    monkeypatch.delattr(torchvision.io, "decode_jpeg")
    monkeypatch.setitem(sys.modules, "torchcodec", None)
    decoding._jpeg_decoder.cache_clear()
    yield
    decoding._jpeg_decoder.cache_clear()


def test_where_torchvision_decodes_no_more_torchcodec_does(
    without_decoder: None, refs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What torchcodec's decoder is called with is looked at; it is not installed everywhere."""
    ref, asked = refs(coloured("JPEG")), []

    def decode_jpeg(source: torch.Tensor, *, mode: str) -> torch.Tensor:
        asked.append((source.dtype, mode))
        return torch.zeros(1, 2, 3, dtype=torch.uint8)

    decoders = SimpleNamespace(decode_jpeg=decode_jpeg)
    monkeypatch.setitem(sys.modules, "torchcodec", SimpleNamespace(decoders=decoders))
    assert pixels_of(ImageFinder([]), ref).shape == (3, 2, 3)
    assert asked == [(torch.uint8, "UNCHANGED")]


def test_where_neither_decodes_it_is_said_how_to_go_on(without_decoder: None, refs: Any) -> None:
    with pytest.raises(ZooError, match=r"pip install torchcodec.*data\.decoder: pil"):
        pixels_of(ImageFinder([]), refs(coloured("JPEG")))


def test_torchcodec_gives_the_same_pixels(
    without_decoder: None, refs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torchcodec")
    pytest.importorskip("torchcodec", reason="pip install torchcodec")
    for content in (coloured("JPEG"), coloured("JPEG", progressive=True), jpeg("L"), jpeg("CMYK")):
        ref = refs(content)
        found = pixels_of(ImageFinder([]), ref)
        wanted = pil_to_tensor(ImageFinder([]).load(ref))
        assert int((found.int() - wanted.int()).abs().max()) <= 1


def test_pil_gives_its_own_image_where_it_is_asked(refs: Any) -> None:
    assert isinstance(decode_image(ImageFinder([]), refs(coloured("JPEG")), "pil"), Image.Image)


@pytest.mark.parametrize("crop", [None, (0, 0, 60_000, 40_000)])
def test_an_image_or_crop_of_too_many_pixels_is_unreadable_before_it_is_decoded(
    refs: Any, monkeypatch: pytest.MonkeyPatch, crop: tuple[int, int, int, int] | None
) -> None:
    def decode(_: Tensor) -> Tensor:
        raise AssertionError("torchvision was asked")

    ref = replace(refs(jpeg("RGB") if crop else huge_jpeg()), crop=crop)
    monkeypatch.setattr(decoding, "_jpeg_decoder", lambda: decode)
    for decoder in ("pil", "torchvision"):
        with pytest.raises(BrokenImage, match=r"image\.jpg .* has too many pixels .*: resize it"):
            decode_image(ImageFinder([]), ref, decoder)


def huge_jpeg() -> bytes:
    """Returns a small JPEG whose header states 60,000 by 40,000 pixels."""
    content = bytearray(jpeg("RGB"))
    frame = content.index(b"\xff\xc0")
    content[frame + 5 : frame + 9] = (40_000).to_bytes(2, "big") + (60_000).to_bytes(2, "big")
    return bytes(content)
