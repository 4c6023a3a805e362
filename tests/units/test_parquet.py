"""Units files in Parquet."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.units.records import CATS, records
from zoo.errors import ZooError
from zoo.units.parquet import read_metadata, write_unit_rows
from zoo.units.reader import read_units, record_to_dict, write_units
from zoo.units.sampler import UnitSampler


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    write_unit_rows(rows, path, lambda: {"counts": "kept"})
    return path


@settings(max_examples=25, suppress_health_check=[*HealthCheck])
@given(made=st.lists(records, min_size=1, max_size=5, unique_by=lambda r: r.caption_id))
def test_what_is_written_is_read_again_as_from_json_lines(made: list[Any], tmp_path: Path) -> None:
    file = write(tmp_path / "units.parquet", [record_to_dict(record) for record in made])
    write_units(made, tmp_path / "units.jsonl")
    found = read_units(file)
    assert list(found.items()) == list(read_units(tmp_path / "units.jsonl").items())
    assert list(found.values()) == made
    assert read_metadata(file)["counts"] == "kept"


def test_more_rows_than_are_held_at_a_time_keep_their_order(tmp_path: Path) -> None:
    rows = [{**record_to_dict(CATS), "caption_id": str(i)} for i in range(9000)]
    assert list(read_units(write(tmp_path / "units.parquet", rows))) == [
        str(i) for i in range(9000)
    ]


def test_training_samples_from_a_folder_of_parts(tmp_path: Path) -> None:
    for number in range(3):
        row = {**record_to_dict(CATS), "caption_id": f"{number}#0"}
        write(tmp_path / f"part-{number}.parquet", [row])
    described = UnitSampler(str(tmp_path)).describe()
    assert described["captions"] == 3
    assert described["sources"] == [{"extractor": "by hand"}]


def test_others_may_keep_what_made_the_units_as_a_structure(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist([record_to_dict(CATS)]), tmp_path / "units.parquet")
    assert list(read_units(tmp_path / "units.parquet").values()) == [CATS]


@pytest.mark.parametrize(
    ("column", "value", "complaint"),
    [
        ("caption_id", 7, r"units.parquet\[1\]: field 'caption_id' is a whole number"),
        ("caption", " ", r"units.parquet\[1\]: field 'caption' is blank, but must be a text"),
        ("image_id", None, r"units.parquet\[1\]: field 'image_id' is missing, but must be a text"),
        ("entities", None, r"units.parquet\[1\]: field 'entities' is missing, but must be a list"),
        ("entities", [{"text": "a dog", "foils": None}], r"field 'entities\[0\].foils' is missing"),
        (
            "entities",
            "a dog",
            r"units.parquet\[1\]: field 'entities' is a text, but must be a list",
        ),
        ("source", "{", r"units.parquet\[1\]: field 'source' is not valid JSON"),
        ("source", "[]", r"units.parquet\[1\]: field 'source' is a list, but must be an object"),
    ],
)
def test_an_error_names_file_row_and_field(
    tmp_path: Path, column: str, value: object, complaint: str
) -> None:
    wrong = [{**record_to_dict(CATS), "caption_id": str(i)} for i in range(2)]
    wrong[1][column] = value
    if type(value) in (int, str):  # a column has one type
        wrong[0][column] = type(value)(0 if value == 7 else "x")
    if column == "source":
        wrong[0][column] = json.dumps(CATS.source)
    pq.write_table(pa.Table.from_pylist(wrong), tmp_path / "units.parquet")
    if column in ("caption_id", "entities") and type(value) in (int, str):
        complaint = complaint.replace(r"\[1\]", r"\[0\]")
    with pytest.raises(ZooError, match=complaint):
        read_units(tmp_path / "units.parquet")


def test_a_column_that_lacks_and_a_file_that_is_cut_are_named(tmp_path: Path) -> None:
    file = tmp_path / "units.parquet"
    rows = pa.Table.from_pylist([record_to_dict(CATS)])
    pq.write_table(rows.drop_columns(["relations"]), file)
    with pytest.raises(ZooError, match=r"units.parquet has no column 'relations' \(it has 'cap"):
        read_units(file)
    pq.write_table(rows.drop_columns(["source"]), file)
    assert read_units(file)["17#0"].source == {}
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(ZooError, match=r"units.parquet cannot be read as Parquet"):
        read_units(file)
