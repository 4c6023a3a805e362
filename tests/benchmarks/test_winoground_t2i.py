"""Winoground-T2I: published sentences, and images that somebody's generator made of them."""

from pathlib import Path

import pytest
from PIL import Image

from zoo.benchmarks import WinogroundT2I
from zoo.benchmarks.ceilings import ceilings
from zoo.errors import ZooError
from zoo.results.plan import make_plan
from zoo.sources.images import ImageFinder


def test_pairs_are_read_as_published_and_scored_where_images_were_made(
    shared_data: Path, tmp_path: Path
) -> None:
    file = shared_data / "benchmarks" / "winoground_t2i" / "dataset_first200.txt"
    folder = tmp_path / "winoground_t2i"
    (folder / "images").mkdir(parents=True)
    (folder / "dataset.txt").write_bytes(file.read_bytes())
    for name in ("0_61_326_0.png", "0_61_326_1.jpg", "0_272_349_0.png"):
        Image.new("RGB", (8, 8)).save(folder / "images" / name)
    plan = make_plan([WinogroundT2I()], [tmp_path], ImageFinder([tmp_path]))
    (question,) = plan.questions
    assert question.case.texts == ("The cat chases the mouse.", "The mouse chases the cat.")
    keys = [Path(image.key).name for image in question.case.images]
    assert keys == ["0_61_326_0.png", "0_61_326_1.jpg"]
    assert len(plan.unscored) == 199
    (contents,) = plan.contents.values()
    assert contents.notes["winoground_t2i cases"] == "200 in the file, 11,479 as published"
    lines = [line.split("\t")[1:] for line in file.read_text().splitlines()]
    bags = [[sorted(text.lower().rstrip(".").split()) for text in line] for line in lines]
    same = sum(first == second for first, second in bags)
    (found,) = ceilings(contents.cases).values()
    assert found["image"].order_only == pytest.approx(100 * (200 - 0.75 * same) / 200)


@pytest.mark.parametrize("line", ["0_1\ta sentence", "0_1\ta\tb\tc", "0_1\ta\t "])
def test_a_line_that_is_no_pair_is_named(line: str, tmp_path: Path) -> None:
    (tmp_path / "winoground_t2i").mkdir()
    (tmp_path / "winoground_t2i" / "dataset.txt").write_text(f"0_0\ta\tb\n\n{line}\n")
    with pytest.raises(ZooError, match=r"dataset\.txt:3 is not an id and two sentences between"):
        WinogroundT2I().read(tmp_path)
