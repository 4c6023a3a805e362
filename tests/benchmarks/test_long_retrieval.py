import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zoo.benchmarks import Case, LongRetrieval
from zoo.benchmarks.long_retrieval import IIW_FOLDERS, rejoin_sentences
from zoo.errors import ZooError

CHAT = "In the image.\nA cat sleeps.</s> It is grey"


def write(path: Path, content: Any) -> Path:
    """Writes JSON, or JSON lines, in the form in which the annotations are published."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = content if path.suffix.startswith(".jsonl") else [content]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def listed(*captions: tuple[str, str]) -> dict[str, Any]:
    """Returns captions in the form of FLAIR's files, with a number for each image."""
    numbers = {image: i for i, image in enumerate(dict(captions))}
    return {
        "annotations": [
            {"image_id": numbers[image], "image": image, "caption": text}
            for image, text in captions
        ]
    }


def chats(*images: str) -> list[dict[str, Any]]:
    """Returns ShareGPT4V's records."""
    turns = [{"from": "human", "value": "Describe it."}, {"from": "gpt", "value": CHAT}]
    return [{"image": image, "conversations": turns} for image in images]


def write_all(root: Path) -> None:
    """Writes a small file of every subset."""
    dci = root / "dci/densely_captioned_images"
    write(dci / "splits.json", {"train": ["7-data.json"], "valid": [], "test": ["3-data.json"]})
    for number in (3, 7):
        record = {
            "image": f"sa_{number}.jpg",
            "short_caption": f"Sofa {number}.",
            "extra_caption": "It is red. It is old.\n",
        }
        write(dci / "annotations" / f"{number}-data.json", record)
    docci = [
        {"split": split, "image_file": f"{split}_1.jpg", "description": f"A {split}. It is old."}
        for split in ("train", "test", "qual_test")
    ]
    write(root / "docci/docci_descriptions.jsonlines", docci)
    sentences = listed(("test_1.jpg", "A lamp"), ("test_2.jpg", "A cup"), ("test_1.jpg", "It's on"))
    write(root / "docci/annotations/test_annotations.json", sentences)
    names = [{"image": "test_1"}, {"image/key": "aar_2"}, {"image": "sa_3.jpg"}]
    for folder, name in zip(IIW_FOLDERS, names, strict=True):
        write(root / "imageinwords" / folder / "data.jsonl", [{**name, "IIW": f"{folder}. Big."}])
    write(root / "imageinwords/test_annotations.json", listed(("docci/test_1.jpg", "A lamp")))
    write(
        root / "Urban1k/annotations/annotations.json",
        listed(("1.jpg", "Street. Bus."), ("2.jpg", "Shop.")),
    )
    share = chats(*(f"sa_000000/images/sa_{i}.jpg" for i in range(1_002)))
    write(root / "share4v/share4v_sam_10k.json", share)


def read(root: Path) -> dict[str, Case]:
    """Returns the galleries by subset."""
    return {case.subset: case for case in LongRetrieval().read(root).cases}


def test_each_subset_has_the_captions_of_the_published_code(tmp_path: Path) -> None:
    write_all(tmp_path)
    captions = {
        subset: [
            (case.images[int(np.argmax(case.match[:, j]))].key, text)
            for j, text in enumerate(case.texts)
        ]
        for subset, case in read(tmp_path).items()
    }
    photos = "dci/densely_captioned_images/photos"
    share = [
        (f"share4v/sa_000000/sa_{i}.jpg", "In the image. A cat sleeps. It is grey")
        for i in range(1_002)
    ]
    assert captions == {
        "dci": [
            (f"{photos}/sa_7.jpg", "Sofa 7. It is red. It is old"),
            (f"{photos}/sa_3.jpg", "Sofa 3. It is red. It is old"),
        ],
        "docci": [("docci/images/test_1.jpg", "A test. It is old.")],
        "docci_sentences": [
            ("docci/images/test_1.jpg", "A lamp"),
            ("docci/images/test_2.jpg", "A cup"),
            ("docci/images/test_1.jpg", "It's on"),
        ],
        "iiw": [
            ("imageinwords/docci/test_1.jpg", "DOCCI_Test. Big"),
            ("imageinwords/docci_aar/aar_2.jpg", "IIW-400. Big"),
            ("imageinwords/dci/sa_3.jpg", "DCI_Test. Big"),
        ],
        "iiw_sentences": [("imageinwords/docci/test_1.jpg", "A lamp")],
        "urban1k": [("Urban1k/images/1.jpg", "Street. Bus."), ("Urban1k/images/2.jpg", "Shop.")],
        "sharegpt4v_1k": share[:1_000],
        "sharegpt4v_10k": share,
    }


def test_recalls_are_those_of_a_loop_over_ranks(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    n_images, owners = 14, [*range(14), 3, 3, 9]  # the image of each caption
    entries = [(f"{owner}.jpg", f"caption {j}") for j, owner in enumerate(owners)]
    write(tmp_path / "docci/annotations/test_annotations.json", listed(*entries))
    case = read(tmp_path)["docci_sentences"]
    for _ in range(20):
        scores = generator.permutation(n_images * len(owners)).reshape(n_images, -1)
        expected: dict[str, list[bool]] = {}
        for k in (1, 5, 10):
            for i in range(n_images):
                ranking = sorted(range(len(owners)), key=lambda j, i=i: -scores[i, j])
                hit = any(owners[j] == i for j in ranking[:k])
                expected.setdefault(f"i2t_r@{k}", []).append(hit)
            for j, owner in enumerate(owners):
                ranking = sorted(range(n_images), key=lambda i, j=j: -scores[i, j])
                expected.setdefault(f"t2i_r@{k}", []).append(owner in ranking[:k])
        answers: dict[str, list[bool]] = {}
        for outcome in case.judge(scores.astype(np.float32)):
            answers.setdefault(outcome.metric, []).append(outcome.right)
        assert answers == expected


def test_captions_are_of_one_image_if_their_numbers_are_equal(tmp_path: Path) -> None:
    rows = [(4, "1.jpg", "A bus"), (2, "2.jpg", "A cup"), (4, "1.jpg", "A dog"), (7, "2.jpg", "A")]
    keys = ("image_id", "image", "caption")
    annotations = [dict(zip(keys, row, strict=True)) for row in rows]
    write(tmp_path / "docci/annotations/test_annotations.json", {"annotations": annotations})
    case = read(tmp_path)["docci_sentences"]
    assert [image.key for image in case.images] == [
        "docci/images/1.jpg",
        "docci/images/2.jpg",
        "docci/images/2.jpg",
    ]
    assert case.match.astype(int).tolist() == [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]


def test_captions_without_numbers_have_an_image_each_also_if_two_have_one_file(
    tmp_path: Path,
) -> None:
    share = chats(*(f"sa_000000/images/sa_{i}.jpg" for i in (1, 2, 1)))
    write(tmp_path / "share4v/share4v_sam_10k.json", share)
    case = read(tmp_path)["sharegpt4v_1k"]
    assert [Path(image.key).name for image in case.images] == ["sa_1.jpg", "sa_2.jpg", "sa_1.jpg"]
    assert case.match.astype(int).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_images_of_urban1k_are_in_the_folder_of_the_zip_or_that_of_the_published_code(
    tmp_path: Path,
) -> None:
    write(tmp_path / "Urban1k/annotations/annotations.json", listed(("1.jpg", "A street")))
    assert read(tmp_path)["urban1k"].images[0].key == "Urban1k/images/1.jpg"
    (tmp_path / "Urban1k/image").mkdir()
    assert read(tmp_path)["urban1k"].images[0].key == "Urban1k/image/1.jpg"


def test_a_note_counts_the_images_of_an_incomplete_file(tmp_path: Path) -> None:
    write_all(tmp_path)
    notes = LongRetrieval(subsets=["dci", "sharegpt4v_1k"]).read(tmp_path).notes
    assert notes == {"dci cases": "2 in the file, 7,805 as published"}


def test_a_blank_caption_is_kept_as_the_published_code_does(tmp_path: Path) -> None:
    write(tmp_path / "Urban1k/annotations/annotations.json", listed(("1.jpg", ""), ("2.jpg", "A")))
    assert list(read(tmp_path)["urban1k"].texts) == ["", "A"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two.\nThree</s>Four", "One. Two. Three. Four"),
        (" . \n", ""),
        ("It costs 2.50", "It costs 2. 50"),
        ("Is it? Yes!", "Is it? Yes!"),
    ],
)
def test_sentences_end_where_the_published_code_splits_them(text: str, expected: str) -> None:
    assert rejoin_sentences(text) == expected


@pytest.mark.parametrize(
    ("subset", "file", "content", "message"),
    [
        ("urban1k", "a.json", {"annotations": [{"image_id": 0, "image": "1.jpg"}]}, "caption"),
        ("urban1k", "a.json", {"annotations": [{"image": "1.jpg", "caption": "a"}]}, "image_id"),
        ("urban1k", "a.json", {"other": []}, "has no captions of urban1k"),
        ("urban1k", "a.json", [1], "must be an object"),
        ("docci", "a.jsonl", [{"split": "train", "image_file": "1", "description": "a"}], "docci"),
        ("dci", "a.json", {"test": ["1-data.json"]}, "names 1-data.json"),
        ("iiw", "IIW-400/data.jsonl", [{"IIW": "a"}], "DOCCI_Test"),
        ("sharegpt4v_1k", "a.json", [{"image": "1.jpg", "conversations": []}], "conversations"),
    ],
)
def test_an_invalid_file_is_named(
    tmp_path: Path, subset: str, file: str, content: Any, message: str
) -> None:
    path = write(tmp_path / file, content)
    benchmark = LongRetrieval(files={subset: str(path)}, subsets=[subset])
    with pytest.raises(ZooError, match=message) as error:
        benchmark.read(tmp_path)
    assert path.name in str(error.value)
