"""ARO's copies on the hub: tables with images in them give the cases of the published files."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from zoo.benchmarks.aro.benchmark import ARO
from zoo.benchmarks.base import Case
from zoo.errors import ZooError
from zoo.sources.images import ImageFinder

ENTRIES = [
    {
        "image_id": "2410049",
        "image_path": "2410049.jpg",
        "bbox_x": 2 + i,
        "bbox_y": 0,
        "bbox_w": 10,
        "bbox_h": 7 - i,
        "true_caption": f"the open door and the gray floor {i}",
        "false_caption": f"the gray door and the open floor {i}",
        "attributes": ["open", "gray"],
        "relation_name": "to the left of",
    }
    for i in range(3)
]


def jpeg() -> bytes:
    """A picture whose pixels all differ."""
    values = np.random.default_rng(1).integers(0, 255, (9, 16, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(values).save(file, "JPEG")
    return file.getvalue()


def of_hub(entry: dict[str, Any], column: str) -> dict[str, Any]:
    """An entry as its copy has it: a relation's box is one column, an attribution's are four."""
    row = entry | {column: {"bytes": jpeg(), "path": None}}
    if column == "image":
        row["bbox"] = {side: float(row.pop(f"bbox_{side}")) for side in "xywh"}
        del row["image_path"], row["image_id"]
    return row


def write(folder: Path, split: str, rows: list[dict[str, Any]]) -> None:
    """Writes rows as two shards."""
    (folder / "data").mkdir(parents=True)
    for i, part in enumerate((rows[:2], rows[2:])):
        table = pa.Table.from_pylist(part)
        pq.write_table(table, folder / "data" / f"{split}-{i:05}-of-00002.parquet")


def seen(root: Path, case: Case) -> bytes:
    """The pixels that a model is shown."""
    return ImageFinder([root]).load(case.images[0]).tobytes()


@pytest.mark.parametrize(
    ("subset", "file", "folder", "split", "column"),
    [
        ("VG-Relation", "visual_genome_relation.json", "relation", "test", "image"),
        ("VG-Attribution", "visual_genome_attribution.json", "attribution", "train", "images"),
    ],
)
def test_a_copy_of_a_vg_set_asks_and_shows_what_the_published_file_does(
    tmp_path: Path, subset: str, file: str, folder: str, split: str, column: str
) -> None:
    published, copied = tmp_path / "published", tmp_path / "copied"
    (published / "aro").mkdir(parents=True)
    (published / "aro" / file).write_text(json.dumps(ENTRIES))
    (published / "visual_genome" / "images").mkdir(parents=True)
    (published / "visual_genome" / "images" / "2410049.jpg").write_bytes(jpeg())
    write(copied / "aro" / folder, split, [of_hub(entry, column) for entry in ENTRIES])
    one, other = (ARO(subsets=[subset]).read(root).cases for root in (published, copied))
    assert len(one) == len(other) == 3
    for a, b in zip(one, other, strict=True):
        assert (a.texts, a.group, a.subset) == (b.texts, b.group, b.subset)
        assert a.match.tolist() == b.match.tolist()
        assert a.images[0].crop == b.images[0].crop
        assert seen(published, a) == seen(copied, b)
    assert [case.id for case in other] == ["row 0", "row 1", "row 2"]


@pytest.mark.parametrize(
    ("subset", "folder"), [("COCO-Order", "coco_order"), ("Flickr30k-Order", "flickr_order")]
)
def test_a_copy_of_an_order_set_brings_its_perturbations_and_none_is_made(
    tmp_path: Path, subset: str, folder: str
) -> None:
    kept = tmp_path / "kept"
    rows = [
        {"images": {"bytes": jpeg(), "path": None}, "correct_caption": f"a dog runs {i}"}
        | {f"hard_text_{k}": f"runs {k} dog a {i}" for k in range(1, 5)}
        for i in range(3)
    ]
    write(tmp_path / "aro" / folder, "test", rows)
    contents = ARO(subsets=[subset], order_dir=str(kept)).read(tmp_path)
    assert [case.texts for case in contents.cases] == [
        (f"a dog runs {i}", *(f"runs {k} dog a {i}" for k in range(1, 5))) for i in range(3)
    ]
    assert all(case.right_listed_first for case in contents.cases)
    assert contents.cases[0].match.tolist() == [[True, False, False, False, False]]
    assert len(contents.files) == 2
    assert "perturbed in the copy" in contents.notes[subset]
    assert not kept.exists()


def test_the_published_file_is_read_where_a_copy_lies_beside_it(tmp_path: Path) -> None:
    write(tmp_path / "aro" / "relation", "test", [of_hub(entry, "image") for entry in ENTRIES])
    (tmp_path / "aro" / "visual_genome_relation.json").write_text(json.dumps(ENTRIES[:1]))
    contents = ARO(subsets=["VG-Relation"]).read(tmp_path)
    assert [case.id for case in contents.cases] == ["0"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"bbox": {"x": 1.0, "y": 1.0, "w": 0.0, "h": 3.0}}, "a box of 0 x 3 pixels"),
        ({"bbox": None}, "'bbox'"),
        ({"false_caption": None}, "'false_caption'"),
    ],
)
def test_a_wrong_row_of_a_copy_is_named_by_file_and_row(
    tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    rows = [of_hub(entry, "image") for entry in ENTRIES]
    rows[1] |= change
    write(tmp_path / "aro" / "relation", "test", rows)
    with pytest.raises(ZooError, match=rf"test-00000-of-00002\.parquet\[1\].*{named}"):
        ARO(subsets=["VG-Relation"]).read(tmp_path)
