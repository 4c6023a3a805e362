import csv
import json

import numpy as np
import pytest

from zoo.benchmarks.retrieval import Retrieval
from zoo.errors import ZooError
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.sources.sample import ImageRef


def test_one_case_holds_every_image_and_all_of_its_captions(tmp_path):
    (tmp_path / "aro").mkdir()
    records = [
        {
            "image": "val2014/COCO_val2014_000000000007.jpg",
            "caption": ["a cat", "one cat", "cat", "a pet", "pets", "a sixth"],
        },
        {"image": "val2014/COCO_val2014_000000000003.jpg", "caption": ["a dog", "a cat"]},
    ]
    (tmp_path / "aro" / "coco_karpathy_test.json").write_text(json.dumps(records))
    contents = Retrieval("coco_karpathy").read(tmp_path)
    (case,) = contents.cases
    assert case.images == (ImageRef("coco", "7"), ImageRef("coco", "3"))
    assert case.texts == ("a cat", "one cat", "cat", "a pet", "pets", "a sixth", "a dog", "a cat")
    assert case.match.tolist() == [[True] * 6 + [False] * 2, [False] * 6 + [True] * 2]
    assert case.protocol == "retrieval"
    assert contents.notes == {"coco_karpathy cases": "2 in the file, 5,000 as published (images)"}


def test_captions_are_cleaned_where_that_is_asked_for(tmp_path):
    (tmp_path / "flickr30k").mkdir()
    long = " ".join(["Word"] * 40)
    captions = ['A man\'s "t-shirt", (red); #1: ok!', f"{long}."]
    records = [{"image": "flickr30k-images/1007129816.jpg", "caption": captions}]
    (tmp_path / "aro").mkdir()
    (tmp_path / "aro" / "flickr30k_test.json").write_text(json.dumps(records))
    plain, cleaned = (Retrieval("flickr30k", pre_caption=asked) for asked in (False, True))
    (case,), (clean,) = (benchmark.read(tmp_path).cases for benchmark in (plain, cleaned))
    assert case.texts == tuple(captions)
    assert clean.texts == ("a man's t-shirt , red 1 ok", " ".join(["word"] * 30))
    assert clean.match.tolist() == case.match.tolist()
    assert cleaned.read(tmp_path).notes["captions"] == "cleaned by pre_caption"
    assert "captions" not in plain.read(tmp_path).notes
    assert plain.subsets[0].published
    assert not cleaned.subsets[0].published


def test_a_karpathy_file_gives_its_test_split(shared_data, tmp_path):
    (tmp_path / "coco").mkdir()
    (tmp_path / "coco" / "dataset_coco.json").write_bytes(
        (shared_data / "coco" / "dataset_coco_sample.json").read_bytes()
    )
    (case,) = Retrieval("coco_karpathy").read(tmp_path).cases
    assert case.match.shape == (14, 70)


def test_any_reader_is_a_source(shared_data):
    file = shared_data / "coco" / "annotations" / "captions_val2017.json"
    contents = Retrieval(CocoCaptions(file)).read(shared_data)
    (case,) = contents.cases
    assert case.subset == "CocoCaptions"
    assert case.match.shape == (96, 480)
    assert (case.match.sum(0) == 1).all()
    assert contents.files == [file]
    samples = CocoCaptions(file).read()
    assert all(
        case.images[np.argmax(case.match[:, j])] == sample.image for j, sample in enumerate(samples)
    )


def test_the_published_sources_have_their_shapes(shared_data):
    shapes = {case.subset: case.match.shape for case in Retrieval().read(shared_data).cases}
    assert shapes == {
        "coco_karpathy": (5000, 25010),
        "flickr30k": (1000, 5000),
        "flickr8k": (1000, 5000),
    }


def test_published_values_are_those_of_vl_compos_table(shared_data):
    with (shared_data / "golden" / "vl_compo_individual_results.csv").open(
        encoding="utf-8"
    ) as file:
        row = next(
            row
            for row in csv.DictReader(file)
            if (row["arch"], row["pretrained"]) == ("ViT-B-32", "openai")
        )
    for subset in Retrieval().subsets:
        for metric, value in subset.published.items():
            side, k = metric.split("_r@")
            assert value == pytest.approx(float(row[f"{subset.name}::{side}/R@{k}"]), abs=0.005)
    assert {subset.name: len(subset.published) for subset in Retrieval().subsets} == {
        "coco_karpathy": 6,
        "flickr30k": 6,
        "flickr8k": 0,
    }


def test_an_unknown_source_gets_the_near_one():
    with pytest.raises(ZooError, match="did you mean flickr8k"):
        Retrieval("flicker8k")


def test_flickr8k_without_its_split_is_refused(tmp_path):
    (tmp_path / "flickr8k").mkdir()
    (tmp_path / "flickr8k" / "Flickr8k.token.txt").write_text("1_ab.jpg#0\ta dog\n")
    with pytest.raises(ZooError, match=r"Flickr_8k\.testImages\.txt"):
        Retrieval("flickr8k").read(tmp_path)
