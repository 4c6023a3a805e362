import json
from collections import Counter

import pytest

from zoo.benchmarks.aro.benchmark import ARO
from zoo.benchmarks.aro.relations import SYMMETRIC_RELATIONS
from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef

RECORD = {
    "image_path": "2410049.jpg",
    "bbox_x": 42,
    "bbox_y": 0,
    "bbox_w": 259,
    "bbox_h": 354,
    "true_caption": "the door is to the left of the shirt",
    "false_caption": "the shirt is to the left of the door",
}


def write(root, name, records):
    (root / "aro").mkdir(exist_ok=True)
    (root / "aro" / name).write_text(json.dumps(records))


def test_a_relation_is_cropped_to_its_box_and_grouped_by_name(tmp_path):
    write(tmp_path, "visual_genome_relation.json", [RECORD | {"relation_name": "to the left of"}])
    (case,) = ARO().read(tmp_path).cases
    assert case.images == (ImageRef("visual_genome", "2410049", (42, 0, 259, 354)),)
    assert case.texts == (RECORD["true_caption"], RECORD["false_caption"])
    assert (case.subset, case.group, case.right_listed_first) == (
        "VG-Relation",
        "to the left of",
        False,
    )


def test_an_attribution_is_grouped_by_its_pair_in_order(tmp_path):
    write(tmp_path, "visual_genome_attribution.json", [RECORD | {"attributes": ["white", "tall"]}])
    (case,) = ARO().read(tmp_path).cases
    assert (case.subset, case.group) == ("VG-Attribution", "white_tall")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"bbox_w": 0}, "box of 0 x 354"),
        ({"false_caption": None}, "'false_caption'"),
        ({"relation_name": 3}, "'relation_name'"),
    ],
)
def test_a_broken_record_is_named_by_file_and_entry(tmp_path, change, named):
    good = RECORD | {"relation_name": "on"}
    write(tmp_path, "visual_genome_relation.json", [good, good | change])
    with pytest.raises(ZooError, match=rf"visual_genome_relation\.json\[1\].*{named}"):
        ARO().read(tmp_path)


def test_157_relations_are_left_out_of_the_published_average():
    assert len(SYMMETRIC_RELATIONS) == 157
    assert {"next to", "with", "on the front of", "wrapped in", "adjusting"} <= SYMMETRIC_RELATIONS
    assert "to the left of" not in SYMMETRIC_RELATIONS


@pytest.mark.slow
def test_the_counts_on_published_files(shared_data, tmp_path):
    contents = ARO(order_dir=str(tmp_path), tagger=TextBlobTagger()).read(shared_data)
    finder = ImageFinder([shared_data])
    found = {case.subset: set() for case in contents.cases}
    for case in contents.cases:
        if finder.find(case.images[0]):
            found[case.subset].add(case.images[0])
    assert Counter(case.subset for case in contents.cases) == {
        "VG-Relation": 43,
        "COCO-Order": 25010,
        "Flickr30k-Order": 5000,
    }
    assert {subset: len(images) for subset, images in found.items()} == {
        "VG-Relation": 0,
        "COCO-Order": 14,
        "Flickr30k-Order": 155,
    }
    assert [subset.name for subset in contents.missing_subsets] == ["VG-Attribution"]
    assert contents.notes["VG-Relation cases"] == "43 in the file, 23,937 as published"
    assert "tagger textblob" in contents.notes["COCO-Order"]
    coco = [case for case in contents.cases if case.subset == "COCO-Order"]
    identities = [
        sum(case.texts[i] == case.texts[0] for case in coco) / len(coco) for i in range(1, 5)
    ]
    assert identities == pytest.approx([0.12, 0.01, 0.005, 0.09], abs=0.03)
    assert len({(case.subset, case.id) for case in contents.cases}) == len(contents.cases)
