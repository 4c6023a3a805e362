import json
from collections import Counter

import pytest

from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef


def write(root, subset, cases):
    (root / "sugarcrepe").mkdir(exist_ok=True)
    (root / "sugarcrepe" / f"{subset}.json").write_text(json.dumps(cases))


CASE = {
    "filename": "000000222235.jpg",
    "caption": " A cat sits. ",
    "negative_caption": "A dog sits.",
}


def test_a_file_name_that_is_none_of_cocos_is_named_with_its_entry(tmp_path):
    folder = tmp_path / "sugarcrepe"
    folder.mkdir()
    entry = {"filename": "cat.png", "caption": "a", "negative_caption": "b"}
    (folder / "add_obj.json").write_text(json.dumps({"7": entry}))
    with pytest.raises(
        ZooError, match=r"add_obj\.json\[7\]: 'cat\.png' is not a file name of coco"
    ):
        SugarCrepe().read(tmp_path)


def test_keys_are_ids_and_captions_are_left_raw(tmp_path):
    write(tmp_path, "swap_obj", {"107": CASE, "109": CASE})
    contents = SugarCrepe().read(tmp_path)
    assert [case.id for case in contents.cases] == ["107", "109"]
    case = contents.cases[0]
    assert case.images == (ImageRef("coco", "222235"),)
    assert case.texts == (" A cat sits. ", "A dog sits.")
    assert case.match.tolist() == [[True, False]]
    assert (case.protocol, case.subset, case.right_listed_first) == ("i2t", "swap_obj", False)


def test_parts_without_a_file_are_absent_and_another_number_of_cases_is_noted(tmp_path):
    write(tmp_path, "swap_obj", {"0": CASE})
    contents = SugarCrepe().read(tmp_path)
    assert len(contents.missing_subsets) == 6
    assert contents.notes == {"swap_obj cases": "1 in the file, 245 as published"}


def test_an_override_stands_for_the_published_name(tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps({"0": CASE}))
    contents = SugarCrepe(files={"add_obj": str(tmp_path / "mine.json")}).read(tmp_path)
    assert [case.subset for case in contents.cases] == ["add_obj"]


def test_a_case_without_a_foil_is_named_by_file_and_key(tmp_path):
    write(tmp_path, "add_att", {"17": {"filename": "000000222235.jpg", "caption": "A cat."}})
    with pytest.raises(
        ZooError, match=r"add_att\.json\[17\]: field 'negative_caption' is missing: .* 'caption'\)"
    ):
        SugarCrepe().read(tmp_path)


def test_the_published_files_give_7511_cases_of_which_481_have_images(shared_data):
    contents = SugarCrepe().read(shared_data)
    finder = ImageFinder([shared_data])
    found = Counter(case.subset for case in contents.cases if finder.find(case.images[0]))
    assert len(contents.cases) == 7511
    assert not contents.missing_subsets
    assert not contents.notes
    assert found == {
        "add_att": 34,
        "add_obj": 138,
        "replace_att": 66,
        "replace_obj": 109,
        "replace_rel": 86,
        "swap_att": 34,
        "swap_obj": 14,
    }
    assert len({(case.subset, case.id) for case in contents.cases}) == 7511
