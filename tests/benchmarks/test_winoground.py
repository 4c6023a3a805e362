import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zoo.benchmarks.winoground import Winoground
from zoo.errors import ZooError
from zoo.sources.sample import ImageRef

ROW = {
    "id": 0,
    "image_0": "ex_0_img_0",
    "image_1": "ex_0_img_1",
    "caption_0": "an old person kisses a young person",
}
ROW |= {
    "caption_1": "a young person kisses an old person",
    "tag": "Adjective-Age",
    "collapsed_tag": "Object",
}


def jsonl(root, rows, folder="data"):
    path = root / "winoground" / folder / "examples.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def parquet(root, rows, name="data/test-00000-of-00001.parquet"):
    path = root / "winoground" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = {"bytes": b"png", "path": "x.png"}
    pq.write_table(
        pa.Table.from_pylist([row | {"image_0": picture, "image_1": picture} for row in rows]), path
    )


def test_the_old_layout_names_images_beside_it(tmp_path):
    jsonl(tmp_path, [ROW])
    (case,) = Winoground().read(tmp_path).cases
    assert case.images == tuple(
        ImageRef("published", f"winoground/data/images/ex_0_img_{k}.png") for k in (0, 1)
    )
    assert case.texts == (ROW["caption_0"], ROW["caption_1"])
    assert np.array_equal(case.match, np.eye(2, dtype=bool))
    assert (case.protocol, case.id, case.group) == ("group", "0", "Object")


def test_the_hub_layout_points_into_the_parquet(tmp_path):
    parquet(tmp_path, [ROW, ROW | {"id": 1, "collapsed_tag": None}])
    cases = Winoground().read(tmp_path).cases
    assert cases[1].images == tuple(
        ImageRef("parquet", f"winoground/data/test-00000-of-00001.parquet#1#image_{k}")
        for k in (0, 1)
    )
    assert [case.group for case in cases] == ["Object", "Adjective-Age"]


def test_shards_are_read_in_order_and_a_small_count_is_noted(tmp_path):
    parquet(tmp_path, [ROW | {"id": 1}], "data/test-00001-of-00002.parquet")
    parquet(tmp_path, [ROW], "data/test-00000-of-00002.parquet")
    contents = Winoground().read(tmp_path)
    assert [case.id for case in contents.cases] == ["0", "1"]
    assert contents.notes == {"winoground cases": "2 in the file, 400 as published"}


def test_without_files_it_is_absent_and_says_that_it_is_gated(tmp_path):
    (part,) = Winoground().read(tmp_path).missing_subsets
    assert "accept the licence" in part.instructions


def test_a_file_of_another_place(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    jsonl(elsewhere, [ROW])
    path = elsewhere / "winoground" / "data"
    (case,) = Winoground(file=str(path / "examples.jsonl")).read(tmp_path / "root").cases
    assert case.images[0] == ImageRef("published", str(path / "images" / "ex_0_img_0.png"))


def test_broken_files_are_named(tmp_path):
    jsonl(tmp_path, [ROW, {k: v for k, v in ROW.items() if k != "caption_1"}])
    with pytest.raises(
        ZooError, match=r"examples\.jsonl:2: field 'caption_1' is missing: download"
    ):
        Winoground().read(tmp_path)
    other = tmp_path / "other"
    parquet(other, [ROW])
    broken = other / "winoground" / "data" / "test-00000-of-00001.parquet"
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(ZooError, match="not a complete parquet file"):
        Winoground().read(other)
