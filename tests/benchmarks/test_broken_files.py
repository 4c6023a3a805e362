"""A broken file of any benchmark: one sentence that names file and entry, and how to mend it."""

import copy
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from zoo.benchmarks import (
    BLA,
    CREPE,
    FGOVD,
    VALSE,
    COLASingle,
    HardPositives,
    NegBench,
    PublishedBenchmark,
    SugarCrepePP,
    VLCheckList,
)
from zoo.errors import ZooError
from zoo.results.plan import make_plan
from zoo.sources.images import ImageFinder


@dataclass(frozen=True)
class File:
    """A small whole file of a benchmark.

    Attributes:
        benchmark: Its reader, for the file's subset alone.
        path: Where it lies under the data root.
        content: Its entries.
        field: A field of an entry to take out or to spoil, and the steps that lead to it.
        called: What messages call it.
        image: The image that the entry asks about, as messages call it.
        wrong: What stands in the field's place when it is spoilt.
        beside: Another file that belongs to it, with the same content.
    """

    benchmark: PublishedBenchmark
    path: str
    content: Any
    field: tuple[str | int, ...]
    called: str
    image: str
    wrong: Any = 7
    beside: str = ""

    def written(self, content: Any) -> str:
        """Returns the text of the file."""
        if self.path.endswith(".jsonl"):
            return "".join(json.dumps(entry) + "\n" for entry in content)
        if self.path.endswith(".csv"):
            text = io.StringIO()
            writer = csv.DictWriter(text, list(content[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(content)
            return text.getvalue()
        return json.dumps(content, indent=1)

    @property
    def place(self) -> str:
        """What messages call its first entry."""
        name = Path(self.path).name
        lines = {".jsonl": f"{name}:1", ".csv": f"{name}:2"}
        entry = self.field[1] if self.field[0] == "data" else self.field[0]
        return lines.get(Path(name).suffix, f"{name}[{entry}]")


FILES = [
    File(
        SugarCrepePP(subsets=["swap_obj"]),
        "sugarcrepe_pp/swap_obj.json",
        [
            {
                "id": 0,
                "filename": "000000000001.jpg",
                "caption": "a",
                "caption2": "b",
                "negative_caption": "c",
            }
        ],
        (0, "caption2"),
        "caption2",
        "coco:1",
    ),
    File(
        BLA(subsets=["ap"]),
        "bla/active_passive_captions.json",
        [
            {
                "image_id": "411",
                "index": 0,
                "caption_group": [{"True1": "a", "True2": "b", "False1": "c", "False2": "d"}],
            }
        ],
        (0, "caption_group", 0, "False2"),
        "caption_group[0].False2",
        "visual_genome:411",
    ),
    File(
        VALSE(subsets=["existence"]),
        "valse/existence.json",
        {
            "x_1": {
                "dataset": "visual7w",
                "image_file": "v7w_411.jpg",
                "caption": "a",
                "foil": "b",
                "mturk": {"foil": 0, "caption": 3, "other": 0},
            }
        },
        ("x_1", "foil"),
        "foil",
        "visual_genome:411",
    ),
    File(
        VLCheckList(subsets=["Relation/action/swig"]),
        "vl_checklist/Relation/swig_action.json",
        [["biting_7.jpg", {"POS": ["a"], "NEG": ["b"]}]],
        (0, 1, "NEG"),
        "[1].NEG",
        "published:swig/images_512/biting_7.jpg",
    ),
    File(
        NegBench(subsets=["voc2007_mcq"]),
        "negbench/VOC2007_mcq_llama3.1_rephrased.csv",
        [
            {
                "image_path": "/data/VOC2007/JPEGImages/004070.jpg",
                "correct_answer": "0",
                **{f"caption_{k}": f"text {k}" for k in range(4)},
                "correct_answer_template": "hybrid",
            }
        ],
        (0, "correct_answer"),
        "correct_answer",
        "published:voc2007/JPEGImages/004070.jpg",
        wrong="4",
    ),
    File(
        NegBench(subsets=["coco_retrieval"]),
        "negbench/COCO_val_retrieval.csv",
        [{"filepath": "/data/val2017/000000000001.jpg", "captions": "['a', 'b']"}],
        (0, "captions"),
        "captions",
        "coco:1",
        wrong="['a', 7]",
    ),
    File(
        CREPE(subsets=["negate"]),
        "crepe/prod_hard_negatives/negate/prod_vg_hard_negs_negate_complexity_4.csv",
        [
            {
                "image_id": "13",
                "caption": "a",
                "hard_negs": "{'c', 'b'}",
                **dict.fromkeys(("x", "y", "width", "height"), "8.0"),
            }
        ],
        (0, "hard_negs"),
        "hard_negs",
        "visual_genome:13@8,8,8,8",
        wrong="__import__('os')",
    ),
    File(
        HardPositives(subsets=["replace_att"]),
        "hard_positives/data/vl_checklist_attributes.json",
        [{"image_path": "data/VG_100K/13.jpg", "true_caption": "a", "false_caption": "b"}],
        (0, "false_caption"),
        "false_caption",
        "visual_genome:13",
        beside="hard_positives/swapped_data/vl_checklist_attributes.json",
    ),
    File(
        FGOVD(subsets=["hard"]),
        "fgovd/h_attributes_llava.jsonl",
        [
            {
                "img_path": "val2017/000000000001.jpg",
                "bbox": [1.5, 2, 3.1, 4],
                "width": 9,
                "height": 9,
                "pos_expression": ["a"],
                "neg_expression": ["b"],
            }
        ],
        (0, "bbox"),
        "bbox",
        "coco:1@1,2,4,4",
    ),
    File(
        COLASingle(subsets=["clevr"]),
        "cola/COLA_singleobjects_benchmark_CLEVR.json",
        {"labels": ["a", "b"], "data": [["CLEVR_val_1.png", {}, [1, 0], [1, 1]]]},
        ("data", 0, 3),
        "[2]",
        "published:clevr/CLEVR_val_1.png",
    ),
]


def name_of(file: File) -> str:
    return f"{file.benchmark.name}-{file.benchmark.subsets[0].name.replace('/', '-')}"


def write(root: Path, file: File, text: str) -> None:
    for name in filter(None, (file.beside, file.path)):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text if name == file.path else file.written(file.content), "utf-8")


def parent(content: Any, file: File) -> Iterator[Any]:
    for step in file.field[:-1]:
        content = content[step]
    yield content


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_whole_file_is_read_and_its_missing_image_named(file: File, tmp_path: Path) -> None:
    write(tmp_path, file, file.written(file.content))
    assert file.benchmark.read(tmp_path).cases
    with pytest.raises(ZooError, match="no case has its images") as error:
        make_plan([file.benchmark], [tmp_path], ImageFinder([tmp_path]))
    assert f"first missing: {file.image}" in str(error.value)


@pytest.mark.parametrize("file", FILES, ids=name_of)
@pytest.mark.parametrize("spoilt", ["missing", "of another type"])
def test_a_field_that_is_missing_or_of_another_type_is_named_with_its_entry(
    file: File, spoilt: str, tmp_path: Path
) -> None:
    content = copy.deepcopy(file.content)
    (entry,) = parent(content, file)
    if spoilt == "missing":
        del entry[file.field[-1]]
    else:
        entry[file.field[-1]] = file.wrong
    write(tmp_path, file, file.written(content))
    with pytest.raises(ZooError) as error:
        file.benchmark.read(tmp_path)
    said = str(error.value)
    assert file.place in said
    if file.benchmark.name == "cola_single":  # rows are lists, whose fields have no names
        assert (
            "is an object, but must be" in said
            or f"field '{file.called}' is a whole number" in said
        )
    else:
        assert f"{file.place}: field '{file.called}' is " in said
        assert ("is missing" in said) == (spoilt == "missing")
    assert "download the file again" in said
    assert "\n" not in said


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_file_cut_short_is_named_with_its_line(file: File, tmp_path: Path) -> None:
    text = file.written(file.content)
    write(tmp_path, file, text[: -len(text) // 8])
    with pytest.raises(ZooError, match=rf"{Path(file.path).name}:\d+") as error:
        file.benchmark.read(tmp_path)
    said = str(error.value)
    told = "fields, but the header has", "is not a list of texts"
    assert any(t in said for t in (told if file.path.endswith(".csv") else ("is not JSON",)))
    assert "\n" not in said


def test_a_row_of_cola_with_too_few_flags_is_named(tmp_path: Path) -> None:
    file = FILES[-1]
    write(tmp_path, file, json.dumps({"labels": ["a", "b"], "data": [["1.png", {}, [1], [1, 1]]]}))
    with pytest.raises(ZooError, match=r"CLEVR\.json\[0\] has 1 and 2 flags for 2 texts"):
        file.benchmark.read(tmp_path)


def test_hard_positives_that_are_absent_or_of_other_images_are_named(tmp_path: Path) -> None:
    file = next(file for file in FILES if file.beside)
    write(tmp_path, file, file.written(file.content))
    other = [{**file.content[0], "image_path": "data/VG_100K/14.jpg"}]
    (tmp_path / file.beside).write_text(file.written(other))
    with pytest.raises(ZooError, match=r"is about image data/VG_100K/14\.jpg, but .*\[0\] is"):
        file.benchmark.read(tmp_path)
    (tmp_path / file.beside).write_text(file.written([*file.content, *other]))
    with pytest.raises(ZooError, match=r"has 2 entries and .* has 1, but both need"):
        file.benchmark.read(tmp_path)
    (tmp_path / file.beside).unlink()
    with pytest.raises(
        ZooError, match=r"needs the hard positives in .*swapped_data.*, which does not exist"
    ):
        file.benchmark.read(tmp_path)
