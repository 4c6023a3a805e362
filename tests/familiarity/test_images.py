"""Which images a model has seen, and of which that cannot be told."""

import json
from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.familiarity.images import SeenImages, seen_images
from zoo.sources.readers.karpathy import KarpathyJson
from zoo.sources.source import read_source as source_of


def test_images_are_named_by_numbers_file_names_and_references(tmp_path: Path) -> None:
    lines = [
        "42",
        "",
        "COCO_val2014_000000000007.jpg",
        "visual_genome:9",
        "1007129816_e794419615.jpg",
        "1000092795.jpg",
    ]
    (tmp_path / "ids.txt").write_text("\n".join(lines))
    seen = seen_images(str(tmp_path / "ids.txt"))
    flickr = ("flickr:1007129816", "flickr:1000092795")
    assert seen.images == {"coco:42", "coco:7", "visual_genome:9", *flickr}
    assert seen.describe() == {"named": str(tmp_path / "ids.txt"), "images": 5}


def test_a_list_may_have_any_ending_and_captions_may_end_in_txt(tmp_path: Path) -> None:
    (tmp_path / "ids").write_text("42\nphotos/my dog.jpg\n")
    assert seen_images(str(tmp_path / "ids")).images == {"coco:42", "file:photos/my dog.jpg"}
    tokens = tmp_path / "Flickr8k.token.txt"
    tokens.write_text("1007129816_e794419615.jpg#0\tA man in a hat .\n")
    assert seen_images(str(tokens)).images == {"flickr:1007129816"}
    for caption in ("a man in a hat", "a man. in a hat", "a man in a hat ."):
        (tmp_path / "captions.txt").write_text(f"{caption}\n")
        with pytest.raises(ZooError, match=rf"captions\.txt:1: '{caption}' is not an image"):
            seen_images(str(tmp_path / "captions.txt"))


def test_a_bare_number_that_may_be_of_two_data_sets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("42\n2317429.jpg\n")
    with pytest.raises(
        ZooError, match=r"ids\.txt:2: 2317429\.jpg may .* write visual_genome:2317429 or flickr:231"
    ):
        seen_images(str(tmp_path / "ids.txt"))
    for wrong in ("visual_genome:abc", "coco:"):
        (tmp_path / "ids.txt").write_text(f"{wrong}\n")
        with pytest.raises(ZooError, match=rf"ids\.txt:1: {wrong} is not an image"):
            seen_images(str(tmp_path / "ids.txt"))
    (tmp_path / "ids.txt").write_text("VG_100K/2317429.jpg\nflickr30k/36979.jpg\n")
    assert seen_images(str(tmp_path / "ids.txt")).images == {
        "visual_genome:2317429",
        "flickr:36979",
    }


def test_a_file_is_the_same_image_by_its_whole_path_and_from_a_folder(tmp_path: Path) -> None:
    root, lists = tmp_path / "root", tmp_path / "lists"
    for file in (root / "own" / "a.png", lists / "b.png"):
        file.parent.mkdir(parents=True)
        file.touch()
    named = lists / "ids.txt"
    named.write_text("own/a.png\nb.png\n")
    seen = seen_images(str(named), [root])
    asked = ["own/a.png", f"{root}/own/a.png", f"{root}/x/../own/a.png", f"{lists}/b.png", "b.png"]
    assert all(seen.contains(f"file:{path}") for path in asked)
    assert not any(seen.contains(f"file:{path}") for path in (f"{root}/b.png", "a.png"))
    assert seen.describe()["images"] == 2
    named.write_text(f"{root}/own/a.png\n")
    seen = seen_images(str(named), [root])
    assert [seen.contains(f"file:{path}") for path in ("own/a.png", "own/b.png")] == [True, False]


def test_karpathys_training_images_are_those_of_train_and_restval(
    shared_data: Path, tmp_path: Path
) -> None:
    sample = shared_data / "coco" / "dataset_coco_sample.json"
    (tmp_path / "coco").mkdir()
    (tmp_path / "coco" / "dataset_coco.json").symlink_to(sample)
    seen = seen_images("karpathy_train", [tmp_path / "nowhere", tmp_path])
    images = json.loads(sample.read_text())["images"]
    assert seen.images == {f"coco:{i['cocoid']}" for i in images if i["split"] == "restval"}
    assert len(seen.images) == 74
    assert seen_images(str(sample)).images == {f"coco:{i['cocoid']}" for i in images}
    with pytest.raises(
        ZooError, match=r"Karpathy's splits were not found: put coco/dataset_coco\.json"
    ):
        seen_images("karpathy_train", [tmp_path / "nowhere"])


def test_a_models_own_images_are_those_it_names_or_those_of_its_captions(shared_data: Path) -> None:
    own = seen_images(
        "trained", training_images=["coco:1", "val2014/COCO_val2014_000000000002.jpg"]
    )
    assert own.images == {"coco:1", "coco:2"}
    reader = KarpathyJson(shared_data / "coco" / "dataset_coco_sample.json")
    read = {sample.image for sample in reader.read()}
    described = source_of(reader).describe()
    assert len(seen_images("trained", captions=described).images) == len(read)
    with pytest.raises(ZooError, match=r"training captions: give --exclude_images a file of them"):
        seen_images("trained")


def test_what_cannot_be_told_is_neither_seen_nor_unseen() -> None:
    seen = SeenImages("x", frozenset({"coco:1", "coco:2"}))
    told = {i: seen.contains(i) for i in ("coco:1", "coco:3", "flickr:1", "visual_genome:5")}
    assert told == {"coco:1": True, "coco:3": False, "flickr:1": False, "visual_genome:5": None}
    assert [seen.contains(i) for i in ("published:a.png", "parquet:a#0#image", "file:a.png")] == [
        None
    ] * 3
    own = SeenImages("x", frozenset({"file:a.png"}))
    assert [own.contains("file:a.png"), own.contains("file:b.png"), own.contains("coco:1")] == [
        True,
        False,
        False,
    ]
    genome = SeenImages("x", frozenset({"visual_genome:5"}))
    assert [genome.contains("visual_genome:6"), genome.contains("coco:1")] == [False, None]


def test_images_of_cases_alone_tell_no_more_than_all_of_them_would(tmp_path: Path) -> None:
    seen = seen_images("trained", training_images=["coco:1"], sources=["coco", "file"])
    told = {i: seen.contains(i) for i in ("coco:1", "coco:2", "file:a.png", "flickr:3")}
    assert told == {"coco:1": True, "coco:2": False, "file:a.png": False, "flickr:3": False}
    assert seen.contains("visual_genome:5") is None
    assert seen_images("trained", sources=["coco"]).contains("coco:2") is False
    (tmp_path / "image_data.json").write_text('[{"image_id": 5, "coco_id": 9}]')
    told_by_file = seen_images("trained", [tmp_path], training_images=["coco:1"], sources=["coco"])
    assert told_by_file.contains("visual_genome:5") is None  # coco:9 may have been trained on


def test_visual_genomes_own_file_says_which_images_are_cocos(tmp_path: Path) -> None:
    (tmp_path / "visual_genome").mkdir()
    entries = [{"image_id": 5, "coco_id": 1, "width": 9}, {"image_id": 6, "coco_id": None}]
    (tmp_path / "visual_genome" / "image_data.json").write_text(json.dumps(entries))
    (tmp_path / "ids.txt").write_text("1\n")
    seen = seen_images(str(tmp_path / "ids.txt"), [tmp_path])
    assert [seen.contains(f"visual_genome:{n}") for n in (5, 6)] == [True, False]
    (tmp_path / "ids.txt").write_text("visual_genome:5\n")
    seen = seen_images(str(tmp_path / "ids.txt"), [tmp_path])
    assert [seen.contains(f"coco:{n}") for n in (1, 2)] == [True, False]


def test_a_file_without_an_image_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("\n")
    with pytest.raises(
        ZooError, match=r"ids\.txt has no image: use a file of images, one per line"
    ):
        seen_images(str(tmp_path / "ids.txt"))
