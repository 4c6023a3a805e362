"""CounterCurate: positions over both images, and counts of images with one question per kind."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.samples import counted, tied_scores
from zoo.benchmarks import CounterCurate
from zoo.benchmarks.base import Case
from zoo.benchmarks.roots import read_benchmark
from zoo.errors import ZooError

COLUMNS = "captions\timages\tneg_captions\tneg_images"
LEFT_RIGHT = "countercurate/clip_sample_data/test_left_right_.csv"


def cases(root: Path, subset: str) -> list[Case]:
    return read_benchmark(CounterCurate(subsets=[subset]), [root]).cases


def write(root: Path, file: str, *lines: str) -> None:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def questions(root: Path, content: dict[str, list[dict[str, Any]]]) -> None:
    write(root, "countercurate/looktwiceqa_dataset.json", json.dumps(content))


def question(image: Any, kind: str, count: Any) -> dict[str, Any]:
    return {"id": image, "obj_type": kind, "obj_question": "how many?", "ans": count}


def test_positions_name_flickrs_image_and_the_counterfactual_one(tmp_path: Path) -> None:
    folder = "../../train_data/left_right"
    row = (
        f"a dog left of a cat\t{folder}/pos/36979.jpg\ta cat left of a dog\t{folder}/neg/36979.jpg"
    )
    write(tmp_path, LEFT_RIGHT, COLUMNS, row)
    (case,) = cases(tmp_path, "left_right")
    assert [str(image) for image in case.images] == [
        "flickr:36979",
        "published:countercurate/train_data/left_right/neg/36979.jpg",
    ]
    assert case.texts == ("a dog left of a cat", "a cat left of a dog")
    for scores in tied_scores((2, 2)):
        (first, other), (foil, second) = scores.tolist()
        assert counted(case, scores) == {"i2t": [first > other, foil < second]}


def test_the_made_image_of_up_down_is_found_by_its_path(tmp_path: Path) -> None:
    file = LEFT_RIGHT.replace("left_right", "up_down")
    images = [f"/home/me/train_data/up_down/{end}" for end in ("pos/7.jpg", "neg/7_12.png")]
    write(tmp_path, file, COLUMNS, f"a\t{images[0]}\tb\t{images[1]}")
    (case,) = cases(tmp_path, "up_down")
    assert str(case.images[1]) == "published:countercurate/train_data/up_down/neg/7_12.png"


def test_a_path_outside_the_folder_of_images_is_named(tmp_path: Path) -> None:
    write(tmp_path, LEFT_RIGHT, COLUMNS, "a\timages/1.jpg\tb\timages/2.jpg")
    with pytest.raises(
        ZooError, match=r"_\.csv:2: the path 'images/1.jpg' has no folder train_dat"
    ):
        cases(tmp_path, "left_right")


def test_a_count_is_compared_with_the_next_one(tmp_path: Path) -> None:
    questions(
        tmp_path,
        {
            "5": [question("5", "dogs", "2"), question(5, "cups", 1)],
            "6": [question("6", "cats", "4"), question("6", "cats", "3")],
        },
    )
    found = cases(tmp_path, "counting")
    assert [(case.id, str(case.images[0])) for case in found] == [
        ("5 dogs", "visual_genome:5"),
        ("5 cups", "visual_genome:5"),
    ]
    assert found[0].texts == ("there are 2 dogs in the image.", "there are 3 dogs in the image.")
    assert found[1].texts == ("there are 1 cups in the image.", "there are 2 cups in the image.")
    for scores in tied_scores((1, 2)):
        right, wrong = scores[0].tolist()
        assert counted(found[0], scores) == {"i2t": [right > wrong]}


def test_a_broken_question_is_named(tmp_path: Path) -> None:
    questions(tmp_path, {"5": [question("5", "dogs", "some")]})
    with pytest.raises(ZooError, match=r"\.json\[5\]: field 'ans' is 'some', not a whole number"):
        cases(tmp_path, "counting")
    questions(tmp_path, {"5": [{"id": "5", "ans": "2"}]})
    with pytest.raises(ZooError, match=r"\[5\]: field '\[0\]\.obj_type' is missing"):
        cases(tmp_path, "counting")
