"""Units files: what is written is read again, and what is wrong is named.

Both published spellings are read.
"""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.units.records import CATS, records
from zoo.errors import ZooError
from zoo.units.reader import read_units, record_to_dict, write_units
from zoo.units.record import UnitRecord


@given(st.lists(records, min_size=1, max_size=5, unique_by=lambda r: r.caption_id))
@settings(max_examples=60, suppress_health_check=[*HealthCheck], deadline=None)
def test_what_is_written_is_read_again(tmp_path: Path, written: list[UnitRecord]) -> None:
    assert write_units(written, tmp_path / "units.jsonl") == len(written)
    assert list(read_units(tmp_path / "units.jsonl").items()) == [
        (r.caption_id, r) for r in written
    ]


def test_the_schema_is_that_of_the_design() -> None:
    row = record_to_dict(CATS)
    assert list(row) == ["caption_id", "image_id", "caption", "entities", "relations", "source"]
    assert row["entities"][1] == {
        "text": "grey sofa",
        "foils": [{"text": "red sofa", "edit": "attribute_change"}],
    }
    assert row["relations"][0]["foils"][1] == {
        "subject": "grey sofa",
        "predicate": "sleep on",
        "object": "two cats",
        "edit": "argument_swap",
    }


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "units.jsonl"
    write_units([CATS], file)
    before = file.read_bytes()

    def broken() -> object:
        yield CATS
        raise OSError(28, "No space left on device")

    with pytest.raises(ZooError, match="No space left"):
        write_units(broken(), file)  # type: ignore[arg-type]
    assert file.read_bytes() == before
    assert os.listdir(tmp_path) == ["units.jsonl"]


def lines(tmp_path: Path, *rows: object) -> Path:
    file = tmp_path / "units.jsonl"
    file.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    )
    return file


def changed(**fields: object) -> dict[str, object]:
    return {**record_to_dict(CATS), "caption_id": "other", **fields}


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ('{"caption_id": "x",', "is not JSON"),
        ("[1]", "the record is a list, but must be an object"),
        (changed(caption_id=None), "field 'caption_id' is missing"),
        (changed(image_id=7), "field 'image_id' is a whole number, but must be a text"),
        (changed(caption=" "), "field 'caption' is blank"),
        (changed(entities=None), "field 'entities' is missing, but must be a list"),
        (changed(relations={}), "field 'relations' is an object, but must be a list"),
        (changed(entities=["cat"]), r"field 'entities\[0\]' is a text, but must be an object"),
        (
            changed(entities=[{"text": "cat", "foils": [{"text": "dog"}]}]),
            r"field 'entities\[0\].foils\[0\].edit' is missing",
        ),
        (
            changed(relations=[{"subject": "a", "predicate": "on", "foils": []}]),
            r"field 'relations\[0\].object' is missing",
        ),
        (changed(source="me"), "field 'source' is a text"),
        (record_to_dict(CATS), "caption_id '17#0' already appears at .*units.jsonl:1"),
    ],
)
def test_an_error_names_file_line_and_field(tmp_path: Path, row: object, complaint: str) -> None:
    file = lines(tmp_path, record_to_dict(CATS), "", row)
    with pytest.raises(ZooError, match=f"units.jsonl:3:? {complaint}"):
        read_units(file)


def test_no_file_no_records_and_no_utf8_are_errors_that_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match=r"absent.jsonl does not exist: `zoo units extract"):
        read_units(tmp_path / "absent.jsonl")
    with pytest.raises(ZooError, match=r"units.jsonl has no units"):
        read_units(lines(tmp_path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ZooError, match=r"empty has no \*.json"):
        read_units(tmp_path / "empty")
    (tmp_path / "latin.jsonl").write_bytes(b'{"caption_id": "caf\xe9"}\n')
    with pytest.raises(ZooError, match=r"latin.jsonl:1 is not UTF-8"):
        read_units(tmp_path / "latin.jsonl")
