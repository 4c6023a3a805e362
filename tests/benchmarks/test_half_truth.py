import json

import pytest

from tests.benchmarks.test_half_truth_rules import PARK, SEA
from zoo.benchmarks.half_truth.benchmark import HalfTruth
from zoo.errors import ZooError
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.sources.sample import ImageRef
from zoo.units.reader import write_units
from zoo.units.record import UnitRecord


def units(path, image_id="coco:17", caption_id="1_0"):
    write_units(
        [
            UnitRecord(
                caption_id,
                image_id,
                PARK.caption,
                PARK.entities,
                PARK.relations,
                {"extractor": "rule"},
            )
        ],
        path,
    )
    return str(path)


def test_a_case_compares_anchor_half_truth_and_completion(tmp_path):
    contents = HalfTruth(units(tmp_path / "u.jsonl")).read(tmp_path)
    case = next(c for c in contents.cases if c.subset == "Ant")
    assert case.texts[1:] == (
        f"{case.texts[0]} and Brown dog ignores red ball",
        f"{case.texts[0]} and Brown dog chases red ball",
    )
    assert case.match.tolist() == [[True, False, True]]
    assert (case.protocol, case.id, case.right_listed_first) == ("half_truth", "1_0", False)
    assert case.images == (ImageRef("coco", "17"),)
    assert contents.missing_subsets == []
    assert contents.notes["+Rand"] == "no cases: the units have no such foils"
    assert contents.notes["units"] == "extractor rule (1 captions)"
    assert contents.notes["preset"] == "checked"


def test_in_the_public_code_a_tie_counts_for_the_model(tmp_path):
    cases = HalfTruth(units(tmp_path / "u.jsonl"), preset="public_code").read(tmp_path).cases
    assert cases
    assert all(case.right_listed_first for case in cases)


def test_a_file_beside_the_units_is_the_image(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "000000.png").write_bytes(b"")
    cases = HalfTruth(units(tmp_path / "units.jsonl", "images/000000.png")).read(tmp_path).cases
    assert {case.images for case in cases} == {
        (ImageRef("file", str(tmp_path / "images" / "000000.png")),)
    }


def test_a_reader_says_which_image_a_caption_is_of(tmp_path):
    token = tmp_path / "token.txt"
    token.write_text("100_ab.jpg#0\tBrown dog chases a red ball\n")
    good = units(tmp_path / "u.jsonl", "coco_3", "100_ab.jpg#0")
    cases = HalfTruth(good, captions=FlickrToken(token)).read(tmp_path).cases
    assert cases[0].images == (ImageRef("flickr", "100"),)
    with pytest.raises(ZooError, match="FlickrToken has no caption 9_9"):
        HalfTruth(units(tmp_path / "v.jsonl", "coco_3", "9_9"), captions=FlickrToken(token)).read(
            tmp_path
        )


def test_units_are_found_under_the_data_root_and_absent_elsewhere(tmp_path):
    write_units([PARK, SEA], tmp_path / "u.jsonl")
    assert HalfTruth("u.jsonl").read(tmp_path).cases
    absent = HalfTruth("no.jsonl").read(tmp_path)
    assert len(absent.missing_subsets) == 8
    assert "zoo units extract" in absent.missing_subsets[0].instructions


def test_a_broken_units_file_names_the_line(tmp_path):
    path = tmp_path / "u.jsonl"
    units(path)
    path.write_text(path.read_text() + json.dumps({"caption_id": "2"}) + "\n")
    with pytest.raises(ZooError, match=r"u\.jsonl:2"):
        HalfTruth(str(path)).read(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"preset": "papers"}, "did you mean paper"), ({"max_images": 0}, "max_images=0")],
)
def test_wrong_arguments_are_refused_at_once(arguments, named):
    with pytest.raises(ZooError, match=named):
        HalfTruth("u.jsonl", **arguments)


BENCH = UnitRecord("1_1", "coco:17", "a kite beside some white dogs", ())


def test_foils_that_another_caption_bears_out_are_left_out_and_counted(tmp_path):
    park = UnitRecord("1_0", "coco:17", PARK.caption, PARK.entities, PARK.relations)
    write_units([park, BENCH], tmp_path / "u.jsonl")
    checked, paper = (
        HalfTruth(str(tmp_path / "u.jsonl"), preset).read(tmp_path)
        for preset in ("checked", "paper")
    )
    left_out = "foils left out because another caption of the image has their words"
    assert checked.notes[left_out] == ("+Obj 1 of 2; +Attr 1 of 2; Rel:Attr 1 of 2; Rel:Obj 1 of 1")
    assert left_out not in paper.notes
    subsets = {case.subset for case in checked.cases}
    assert {case.subset for case in paper.cases} - subsets == {"Rel:Obj"}
    texts = " ".join(text for case in checked.cases for text in case.texts)
    assert "kite" not in texts
    assert "white" not in texts


def test_captions_that_only_the_reader_has_are_known_too(tmp_path):
    token = tmp_path / "token.txt"
    token.write_text(
        f"100_ab.jpg#0\t{PARK.caption}\n100_ab.jpg#1\t{BENCH.caption}\n7_ab.jpg#0\ta blue cat\n"
    )
    file = units(tmp_path / "u.jsonl", "coco_3", "100_ab.jpg#0")
    alone = HalfTruth(file).read(tmp_path).cases
    known = HalfTruth(file, captions=FlickrToken(token)).read(tmp_path).cases
    assert {c.subset for c in alone} - {c.subset for c in known} == {"Rel:Obj"}


@pytest.mark.parametrize("preset", ["checked", "paper", "public_code"])
def test_a_condition_alone_has_the_cases_that_it_has_in_the_whole(tmp_path, preset):
    write_units([PARK, SEA], tmp_path / "u.jsonl")
    whole, part = (
        HalfTruth(str(tmp_path / "u.jsonl"), preset, subsets=subsets).read(tmp_path).cases
        for subsets in (None, ["+Attr", "Swap"])
    )
    assert [c.texts for c in part] == [c.texts for c in whole if c.subset in ("+Attr", "Swap")]
    assert len(part) == 2
