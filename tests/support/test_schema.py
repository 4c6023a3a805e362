"""Records of JSON: what is wrong is said with place, field and what it must be."""

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from zoo.errors import ZooError
from zoo.support.schema import Text, read_json_lines, read_list, read_object, validate_record


class Foil(msgspec.Struct):
    text: Text
    edit: str | None = None


class Entry(msgspec.Struct):
    caption: Text
    foils: list[Foil | str] = []
    box: tuple[float, float] = (0, 0)


def test_a_record_comes_as_its_schema_has_it_and_further_keys_are_left_out() -> None:
    held = validate_record({"caption": "a", "foils": ["b", {"text": "c"}], "more": 1}, Entry, "f:1")
    assert held == Entry("a", ["b", Foil("c")])


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([], "f:1: the record is a list, but must be an object: correct the record"),
        ({}, "f:1: field 'caption' is missing: correct the record"),
        ({"caption": None}, "f:1: field 'caption' is missing, but must be a text"),
        ({"caption": " "}, "f:1: field 'caption' is blank, but must be a text"),
        ({"caption": 1}, "f:1: field 'caption' is a whole number, but must be a text"),
        ({"caption": "a", "foils": {}}, "field 'foils' is an object, but must be a list"),
        ({"caption": "a", "foils": [{}]}, "field 'foils[0].text' is missing"),
        (
            {"caption": "a", "foils": [True]},
            "field 'foils[0]' is true or false, but must be a text or an object",
        ),
        (
            {"caption": "a", "box": [1]},
            "field 'box' has 1 of 2 required entries",
        ),
    ],
)
def test_what_is_wrong_is_named(value: Any, says: str) -> None:
    with pytest.raises(ZooError) as raised:
        validate_record(value, Entry, "f:1")
    assert says in str(raised.value)


def test_what_is_there_is_said() -> None:
    with pytest.raises(ZooError, match=r"correct the record \(it has 'text', 'more'\)$"):
        validate_record({"text": "a", "more": 1}, Entry, "f:1")
    with pytest.raises(ZooError, match=r"must be a text: correct the record \(found '17'\)$"):
        validate_record({"caption": "a", "foils": [{"text": "b"}, {"text": 17}]}, Entry, "f:1")
    with pytest.raises(ZooError, match=r"must be a whole number: correct the record$"):
        validate_record({"a": 1, "b": "c"}, dict[str, int], "f:1")


def test_files_of_records_name_file_and_place_of_what_is_wrong(tmp_path: Path) -> None:
    good, bad = {"caption": "a"}, {"caption": 7}
    (tmp_path / "l.json.gz").write_bytes(gzip.compress(json.dumps([good, bad]).encode()))
    (tmp_path / "k.json").write_text(json.dumps({"x": good, "y": bad}))
    (tmp_path / "j.jsonl").write_text(f"{json.dumps(good)}\n\n{json.dumps(bad)}\n")
    read = {
        r"l\.json\.gz\[1\]": read_list(tmp_path / "l.json.gz", Entry),
        r"k\.json\[y\]": read_object(tmp_path / "k.json", Entry),
        r"j\.jsonl:3": read_json_lines(tmp_path / "j.jsonl", Entry),
    }
    for place, found in read.items():
        assert next(found)[-1] == Entry("a")
        with pytest.raises(ZooError, match=rf"{place}: field 'caption' is a whole number"):
            next(found)


def test_the_fields_above_a_record_are_named_too() -> None:
    with pytest.raises(ZooError, match=r"field 'negatives.cat\[1\].text' is missing: leave it out"):
        validate_record(["a", {}], list[Foil | str], "f:1", "leave it out", path="negatives.cat")
