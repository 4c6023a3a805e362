"""Captions from Parquet."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zoo.errors import ZooError
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.jsonl import JsonLines
from zoo.sources.readers.parquet_table import ParquetTable

ROWS: list[dict[str, Any]] = [
    {
        "image": "coco:391895",
        "caption": "a dog",
        "caption_id": "7",
        "image_id": "i",
        "split": "val",
    },
    {"image": "x.jpg", "caption": " a cat ", "caption_id": "8", "image_id": "j", "split": "train"},
]


def table(path: Path, rows: list[dict[str, Any]], **options: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path


def test_rows_are_read_as_lines_of_json_are(tmp_path: Path) -> None:
    file = table(tmp_path / "c.parquet", ROWS)
    lines = tmp_path / "c.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    found, same = guess_reader(file).read(), JsonLines(lines).read()
    told = ("image", "caption", "image_id", "caption_id", "split")
    assert [[getattr(s, name) for name in told] for s in found] == [
        [getattr(s, name) for name in told] for s in same
    ]
    assert [sample.origin for sample in found] == [f"{file}[0]", f"{file}[1]"]


def test_captions_without_ids_are_numbered_over_all_files_of_a_folder(tmp_path: Path) -> None:
    rows = [{"path": f"{i}.jpg", "text": f"a dog {i}"} for i in range(5)]
    table(tmp_path / "b" / "1.parquet", rows[:3], row_group_size=2)
    table(tmp_path / "c" / "0.parquet", rows[3:])
    reader = guess_reader(tmp_path)
    assert isinstance(reader, ParquetTable)
    samples = reader.read()
    assert [s.caption for s in samples] == [f"a dog {i}" for i in range(5)]
    assert [s.caption_id for s in samples] == ["0", "1", "2", "3", "4"]
    assert {s.image_id for s in samples} == {f"file:{i}.jpg" for i in range(5)}


def test_columns_may_be_named(tmp_path: Path) -> None:
    file = table(tmp_path / "c.parquet", [{"caption": "no", "TEXT": "a dog", "img": "x.jpg"}])
    (sample,) = ParquetTable(file, image_column="img", caption_column="TEXT").read()
    assert (sample.caption, str(sample.image)) == ("a dog", "file:x.jpg")
    with pytest.raises(ZooError, match=r"no column 'filepath' or 'image'.*set image_column"):
        ParquetTable(file).read()
    with pytest.raises(ZooError, match=r"\(did you mean TEXT\?\).*set caption_column"):
        ParquetTable(file, image_column="img", caption_column="TXT").read()


@pytest.mark.parametrize("wrong", [{"caption": None}, {"caption": "  "}, {"image": None}])
def test_what_is_missing_is_named_by_file_row_and_column(
    tmp_path: Path, wrong: dict[str, Any]
) -> None:
    file = table(tmp_path / "c.parquet", [ROWS[0], {**ROWS[1], **wrong}])
    ((column, value),) = wrong.items()
    with pytest.raises(
        ZooError, match=rf"c.parquet\[1\] has {value!r} in column '{column}': write a text"
    ):
        ParquetTable(file).read()


def test_a_file_that_is_cut_and_a_folder_without_any_are_named(tmp_path: Path) -> None:
    file = table(tmp_path / "c.parquet", ROWS)
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(ZooError, match=r"c.parquet is not a valid Parquet file"):
        guess_reader(file)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ZooError, match=r"empty has no \*.parquet"):
        ParquetTable(tmp_path / "empty").read()
