"""Rows of the hub's parquet files: shards, images that stay in the file, and what can be wrong."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec import Struct
from PIL import Image

from zoo.benchmarks.parquet_rows import read_parquet_rows, shard_paths
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder


class Row(Struct):
    text: str


def picture(colour: str) -> dict[str, bytes | str]:
    content = io.BytesIO()
    Image.new("RGB", (4, 3), colour).save(content, "PNG")
    return {"bytes": content.getvalue(), "path": "x.png"}


def write(path: Path, *texts: str) -> Path:
    entries = [{"text": text, "picture": picture("red"), "more": 1.5} for text in texts]
    pq.write_table(pa.Table.from_pylist(entries), path)
    return path


def test_rows_have_their_fields_and_references_that_open_the_images_in_the_file(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "test.parquet", "a", "b")
    read = list(read_parquet_rows(path, Row, ("picture",)))
    assert [(place, row.text) for place, row, _ in read] == [
        (f"{path}[0]", "a"),
        (f"{path}[1]", "b"),
    ]
    (ref,) = read[1][2]
    image = ImageFinder([tmp_path]).load(ref)
    assert (image.size, image.getpixel((0, 0))) == ((4, 3), (255, 0, 0))


def test_shards_of_one_split_come_in_order_and_those_of_another_are_others(tmp_path: Path) -> None:
    names = [f"test-{i:05}-of-00003.parquet" for i in range(3)]
    for name in [*reversed(names), "train-00000-of-00003.parquet", "test-00000-of-00002.parquet"]:
        write(tmp_path / name, "a")
    assert shard_paths(tmp_path / names[1]) == [tmp_path / name for name in names]
    assert shard_paths(tmp_path / "whole.parquet") == [tmp_path / "whole.parquet"]


def test_a_shard_that_is_absent_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "test-00000-of-00002-ab12.parquet", "a")
    with pytest.raises(ZooError, match=r"shard test-00001-of-00002\.parquet is missing: download"):
        shard_paths(path)
    second = write(tmp_path / "test-00001-of-00002-cd34.parquet", "a")
    assert shard_paths(path) == [path, second]


def test_what_is_wrong_is_named_with_file_and_row(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", "a")
    with pytest.raises(ZooError, match=r"x\.parquet has no column image, only text, picture, more"):
        list(read_parquet_rows(path, Row, ("image",)))
    pq.write_table(pa.table({"text": ["a", None], "picture": [b"", b""]}), path)
    with pytest.raises(
        ZooError, match=r"x\.parquet\[1\]: field 'text' is missing, but must be a text"
    ):
        list(read_parquet_rows(path, Row, ("picture",)))
    path.write_bytes(b"PAR1")
    with pytest.raises(ZooError, match=r"x\.parquet is not a complete parquet file"):
        list(read_parquet_rows(path, Row, ("picture",)))
