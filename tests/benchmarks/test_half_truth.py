import json

import pytest

from tests.benchmarks.test_half_truth_rules import PARK, SEA
from zoo.benchmarks.half_truth import HalfTruth
from zoo.datamodules.readers.flickr_token import FlickrToken
from zoo.datamodules.sample import ImageRef
from zoo.errors import ZooError
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
    reading = HalfTruth(units(tmp_path / "u.jsonl")).read(tmp_path)
    case = next(c for c in reading.cases if c.subset == "Ant")
    assert case.texts[1:] == (
        f"{case.texts[0]} and Brown dog ignores red ball",
        f"{case.texts[0]} and Brown dog chases red ball",
    )
    assert case.match.tolist() == [[True, False, True]]
    assert (case.protocol, case.id, case.correct_first) == ("half_truth", "1_0", False)
    assert case.images == (ImageRef("coco", "17"),)
    assert reading.absent == []
    assert reading.notes["+Rand"] == "no case: the units have no such foils"
    assert reading.notes["units"] == "extractor rule (1 captions)"
    assert reading.notes["preset"] == "paper"


def test_in_the_public_code_a_tie_counts_for_the_model(tmp_path):
    cases = HalfTruth(units(tmp_path / "u.jsonl"), preset="public_code").read(tmp_path).cases
    assert cases
    assert all(case.correct_first for case in cases)


def test_a_file_beside_the_units_is_the_photograph(tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "000000.png").write_bytes(b"")
    cases = HalfTruth(units(tmp_path / "units.jsonl", "images/000000.png")).read(tmp_path).cases
    assert {case.images for case in cases} == {
        (ImageRef("file", str(tmp_path / "images" / "000000.png")),)
    }


def test_a_reader_says_which_photograph_a_caption_is_of(tmp_path):
    token = tmp_path / "token.txt"
    token.write_text("100_ab.jpg#0\tBrown dog chases a red ball\n")
    good = units(tmp_path / "u.jsonl", "coco_3", "100_ab.jpg#0")
    cases = HalfTruth(good, photographs=FlickrToken(token)).read(tmp_path).cases
    assert cases[0].images == (ImageRef("flickr", "100"),)
    with pytest.raises(ZooError, match="caption 9_9 is none of FlickrToken's"):
        HalfTruth(
            units(tmp_path / "v.jsonl", "coco_3", "9_9"), photographs=FlickrToken(token)
        ).read(tmp_path)


def test_units_are_found_under_the_data_root_and_absent_elsewhere(tmp_path):
    write_units([PARK, SEA], tmp_path / "u.jsonl")
    assert HalfTruth("u.jsonl").read(tmp_path).cases
    absent = HalfTruth("no.jsonl").read(tmp_path)
    assert len(absent.absent) == 8
    assert "zoo units extract" in absent.absent[0].how


def test_a_broken_units_file_names_the_line(tmp_path):
    path = tmp_path / "u.jsonl"
    units(path)
    path.write_text(path.read_text() + json.dumps({"caption_id": "2"}) + "\n")
    with pytest.raises(ZooError, match=r"u\.jsonl:2"):
        HalfTruth(str(path)).read(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [({"preset": "papers"}, "near: paper"), ({"max_images": 0}, "max_images=0")],
)
def test_wrong_arguments_are_refused_at_once(arguments, named):
    with pytest.raises(ZooError, match=named):
        HalfTruth("u.jsonl", **arguments)
