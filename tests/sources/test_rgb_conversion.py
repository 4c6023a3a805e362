"""How bytes become RGB: as published scripts have it.

A user's own images may ask to be read as they themselves say.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import ExifTags, Image

from zoo.benchmarks.pairs import Pairs
from zoo.benchmarks.winoground import Winoground
from zoo.errors import ZooError
from zoo.evaluation.engine import Evaluation
from zoo.sources.images import BrokenImage, ImageFinder
from zoo.sources.rgb_conversion import AS_PUBLISHED, Decoding
from zoo.sources.sample import ImageRef

WIDE = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], dtype=np.uint8)  # 3 wide, 1 high
SIX = 6  # to be turned clockwise by a quarter


def turned(path: Path) -> None:
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = SIX
    Image.fromarray(WIDE).save(path, exif=exif)


def transparent(path: Path) -> None:
    pixels = np.zeros((1, 3, 4), np.uint8)
    pixels[0, :, :3] = [10, 20, 30]
    pixels[0, :, 3] = [0, 51, 255]
    Image.fromarray(pixels).save(path)


def pixels(path: Path, decoding: Decoding = AS_PUBLISHED, source: str = "file") -> np.ndarray:
    return np.asarray(ImageFinder([path.parent], decoding).load(ImageRef(source, path.name)))


@pytest.mark.parametrize("name", ["grey.png", "grey.tiff"])
def test_sixteen_bits_of_grey_are_scaled(tmp_path: Path, name: str) -> None:
    values = np.array([[0, 128, 257, 32_768, 65_407, 65_535]], dtype=np.uint16)
    Image.fromarray(values).save(tmp_path / name)
    found = pixels(tmp_path / name)
    assert found[0, :, 0].tolist() == [0, 0, 1, 128, 255, 255]
    assert (found == found[..., :1]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_numbers_of_which_none_is_known_to_be_white_are_refused(
    tmp_path: Path, dtype: type
) -> None:
    Image.fromarray(np.full((2, 2), 1, dtype)).save(tmp_path / "a.tiff")
    with pytest.raises(BrokenImage, match=r"a\.tiff .*32-bit numbers"):
        pixels(tmp_path / "a.tiff")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_all_else_is_what_pillow_makes_of_it(tmp_path: Path, mode: str) -> None:
    noise = Image.effect_noise((9, 7), 90).convert("RGB").convert(mode)
    path = tmp_path / ("a.tiff" if mode == "CMYK" else "a.png")
    noise.save(path)
    assert np.array_equal(pixels(path), np.asarray(Image.open(path).convert("RGB")))


def test_an_orientation_is_left_as_in_published_scripts_or_honoured(tmp_path: Path) -> None:
    turned(tmp_path / "a.png")
    assert np.array_equal(pixels(tmp_path / "a.png"), WIDE)
    assert np.array_equal(pixels(tmp_path / "a.png", Decoding(upright=True)), WIDE.swapaxes(0, 1))


def test_transparency_is_dropped_as_in_published_scripts_or_put_on_a_colour(
    tmp_path: Path,
) -> None:
    transparent(tmp_path / "a.png")
    assert (pixels(tmp_path / "a.png") == [10, 20, 30]).all()
    on_white = pixels(tmp_path / "a.png", Decoding(background="white"))
    alpha = np.array([0, 51, 255])[:, None] / 255
    expected = alpha * [10, 20, 30] + (1 - alpha) * 255
    assert np.abs(on_white[0].astype(float) - expected).max() <= 1
    assert on_white[0, 0].tolist() == [255, 255, 255]


def test_a_background_that_is_no_colour_is_refused() -> None:
    with pytest.raises(ZooError, match="background 'wite' is not a colour"):
        Decoding(background="wite")


@pytest.mark.parametrize("made", [turned, transparent])
def test_published_images_stay_as_their_scripts_have_them(tmp_path: Path, made: object) -> None:
    assert callable(made)
    made(tmp_path / "a.png")
    asked = pixels(tmp_path / "a.png", Decoding(True, "white"), source="published")
    assert np.array_equal(asked, pixels(tmp_path / "a.png"))
    (tmp_path / "winoground/images").mkdir(parents=True)
    (tmp_path / "winoground/examples.jsonl").write_text(
        '{"id": 0, "image_0": "a", "image_1": "a", "caption_0": "b c", "caption_1": "c b"}\n'
    )
    made(tmp_path / "winoground/images/a.png")
    (case,) = Winoground().read(tmp_path).cases
    found = ImageFinder([tmp_path], Decoding(True, "white")).load(case.images[0])
    assert np.array_equal(np.asarray(found), asked)


class Seen:
    """Keeps the images that it is asked about."""

    def __init__(self) -> None:
        self.images: list[Image.Image] = []

    def score(self, images: Sequence[Image.Image], texts: Sequence[str]) -> np.ndarray:
        self.images += images
        return np.array([[len(text) for text in texts] for _ in images], dtype=np.float32)


@pytest.mark.parametrize("honoured", [False, True])
def test_a_run_says_how_many_carry_what_and_what_is_done(tmp_path: Path, honoured: bool) -> None:
    turned(tmp_path / "a.png")
    transparent(tmp_path / "b.png")
    Image.fromarray(WIDE).save(tmp_path / "c.png")
    rows = ["image,caption,foil", *(f"{name}.png,a,bb" for name in "abc")]
    (tmp_path / "p.csv").write_text("\n".join(rows))
    asked = {"upright": True, "background": "#808080"} if honoured else {}
    evaluation = Evaluation([Pairs(str(tmp_path / "p.csv"))], str(tmp_path), workers=0, **asked)  # type: ignore[arg-type]
    model = Seen()
    results = evaluation.run_plain_model(model)
    notes = results.header["benchmarks"]["pairs"]["notes"]
    assert notes["orientation"].startswith(
        "1 of 3 images that were checked have an EXIF orientation"
    )
    assert notes["transparency"].startswith("1 of 3 images that were checked have an alpha channel")
    assert ("upright: true rotates" if honoured else "upright: false does not rotate") in notes[
        "orientation"
    ]
    assert ("#808080" if honoured else "ignores") in notes["transparency"]
    assert sorted({image.size for image in model.images}) == [*([(1, 3)] * honoured), (3, 1)]
