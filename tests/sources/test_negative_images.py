"""Images that captions do not fit, from a file."""

import json
from pathlib import Path

import pytest
from PIL import Image

from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.negative_images import NegativeImages


def written(folder: Path, *lines: object) -> NegativeImages:
    file = folder / "negatives.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("\n".join(texts) + "\n")
    return NegativeImages(file)


def line(caption: str, image: str | None) -> dict[str, str | None]:
    return {"caption": caption, "negative": "beside the point", "negative_image": image}


def test_an_image_is_found_by_its_caption_beside_the_file_or_under_a_root(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    for path in ("beside.png", "root/under.png"):
        Image.new("RGB", (2, 2)).save(tmp_path / path)
    lines = [line("a  cat", "beside.png"), line("a dog", "under.png"), line("a bird", None)]
    found = written(tmp_path, *lines).find_images(ImageFinder([tmp_path / "root"]), False)
    assert str(found.image_for("a cat")).endswith("beside.png")
    assert str(found.image_for("a dog")) == "file:under.png"
    assert found.image_for("a bird") is None
    assert found.image_for("a fish") is None


@pytest.mark.parametrize("other", ["other.png", None])
def test_a_caption_with_two_images_is_refused_since_its_negative_is_drawn_beside_either(
    tmp_path: Path, other: str | None
) -> None:
    lines = [line("a cat", "one.png"), line("a dog", "one.png"), line("a  cat", other)]
    with pytest.raises(
        ZooError, match=r"negatives\.jsonl:3 has a different negative_image for 'a  cat"
    ):
        written(tmp_path, *lines)
    assert len(written(tmp_path, lines[0], lines[0]).images) == 1


def test_a_caption_may_have_what_other_files_end_lines_with(tmp_path: Path) -> None:
    caption = "a cat\u2028a dog\x85"
    text = json.dumps(line(caption, "one.png"), ensure_ascii=False)
    assert list(written(tmp_path, text).images) == ["a cat a dog"]


def test_missing_images_are_refused_or_left_out(tmp_path: Path) -> None:
    Image.new("RGB", (2, 2)).save(tmp_path / "there.png")
    images = written(tmp_path, line("a cat", "there.png"), line("a dog", "absent.png"))
    finder = ImageFinder([tmp_path])
    with pytest.raises(ZooError, match=r"1 of 2 negative images of .* are missing \(file:absent"):
        images.find_images(finder, tolerate_missing=False)
    found = images.find_images(finder, tolerate_missing=True)
    assert found.missing == 1
    assert found.image_for("a dog") is None
    assert found.image_for("a cat") is not None


@pytest.mark.parametrize("broken", ["[]", {"caption": "a"}, {"caption": "a", "negative_image": 1}])
def test_a_broken_line_is_told_by_its_number(tmp_path: Path, broken: object) -> None:
    with pytest.raises(ZooError, match=r"negatives\.jsonl:1 .*correct the line"):
        written(tmp_path, broken)
