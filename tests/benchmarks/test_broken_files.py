"""A broken file of any benchmark: one sentence that names file and entry, and how to mend it."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from zoo.benchmarks import BLA, VALSE, PublishedBenchmark, SugarCrepePP, VLCheckList
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
        fields: A field of an entry to take out or to spoil, and what it is called.
        image: The image that the entry asks about, as messages call it.
    """

    benchmark: PublishedBenchmark
    path: str
    content: Any
    field: tuple[str | int, ...]
    called: str
    image: str

    def written(self, content: Any) -> str:
        """Returns the text of the file."""
        return json.dumps(content, indent=1)

    @property
    def place(self) -> str:
        """What messages call its first entry."""
        return f"{Path(self.path).name}[{self.field[0]}]"


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
]


def name_of(file: File) -> str:
    return file.benchmark.name


def write(root: Path, file: File, text: str) -> None:
    path = root / file.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def parent(content: Any, file: File) -> Iterator[Any]:
    for step in file.field[:-1]:
        content = content[step]
    yield content


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_whole_file_is_read_and_its_missing_image_named(file: File, tmp_path: Path) -> None:
    write(tmp_path, file, file.written(file.content))
    assert file.benchmark.read(tmp_path).cases
    with pytest.raises(ZooError, match="none has its images") as error:
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
        entry[file.field[-1]] = 7
    write(tmp_path, file, file.written(content))
    with pytest.raises(ZooError) as error:
        file.benchmark.read(tmp_path)
    said = str(error.value)
    assert f"{file.place}: field '{file.called}' is " in said
    assert ("is missing" in said) == (spoilt == "missing")
    assert "fetch the file again" in said
    assert "\n" not in said


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_a_file_cut_short_is_named_with_its_line(file: File, tmp_path: Path) -> None:
    text = file.written(file.content)
    write(tmp_path, file, text[: len(text) // 2])
    with pytest.raises(ZooError, match=rf"{Path(file.path).name}:\d+ is not JSON") as error:
        file.benchmark.read(tmp_path)
    assert "\n" not in str(error.value)
