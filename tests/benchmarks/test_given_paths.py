"""A path that any benchmark is given is looked for as it is written, then under the data roots."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import zoo
from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.catalog import build_benchmark
from zoo.benchmarks.roots import read_benchmark
from zoo.benchmarks.winoground import Winoground
from zoo.errors import ZooError

UNIT = {
    "caption_id": "1",
    "image_id": "coco:1",
    "caption": "a dog and a cat",
    "entities": [
        {"text": "a dog", "foils": []},
        {"text": "a cat", "foils": [{"text": "a cow", "edit": "object_change"}]},
    ],
    "relations": [],
}
SCENE = {
    "caption_id": "1",
    "image_id": "1.png",
    "caption": "a red cube and a blue ball",
    "attribute_swap": "a blue cube and a red ball",
    "split": "test",
}


def write(folder: Path) -> None:
    (folder / "scenes").mkdir(parents=True, exist_ok=True)
    (folder / "units.jsonl").write_text(json.dumps(UNIT) + "\n")
    (folder / "scenes" / "captions.jsonl").write_text(json.dumps(SCENE) + "\n")
    (folder / "mine.csv").write_text("image,caption,foil\na.jpg,a dog,a cat\n")
    row = {"id": 1, "caption_0": "a b", "caption_1": "b a", "image_0": b"", "image_1": b""}
    pq.write_table(pa.Table.from_pylist([row]), folder / "pairs.parquet")
    swap = {"0": {"filename": f"{1:012}.jpg", "caption": "a", "negative_caption": "b"}}
    (folder / "swaps.json").write_text(json.dumps(swap))


ASKED = {
    "half_truth": lambda: build_benchmark("half_truth:units.jsonl"),
    "scene_swaps": lambda: build_benchmark("scene_swaps:scenes"),
    "pairs": lambda: build_benchmark("pairs:mine.csv"),
    "winoground": lambda: Winoground("pairs.parquet"),
    "sugarcrepe": lambda: build_benchmark("sugarcrepe", {"files": {"swap_obj": "swaps.json"}}),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("place", ["here", "root", "second"])
def test_it_is_found_here_and_under_any_root(
    name: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("here", "root", "second"):
        (tmp_path / folder).mkdir()
    write(tmp_path / place)
    monkeypatch.chdir(tmp_path / "here")
    asked: Benchmark = ASKED[name]()
    assert len(read_benchmark(asked, [tmp_path / "root", tmp_path / "second"]).cases) >= 1


def test_what_is_here_comes_before_what_is_under_a_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("here", "root"):
        write(tmp_path / folder)
    monkeypatch.chdir(tmp_path / "here")
    for name, make in ASKED.items():
        files = read_benchmark(make(), [tmp_path / "root"]).files
        assert [file.absolute().is_relative_to(tmp_path / "here") for file in files] == [True], name


@pytest.mark.parametrize(
    "asked", ["half_truth:nowhere.jsonl", "scene_swaps:nowhere", "pairs:nowhere.csv"]
)
def test_one_that_is_nowhere_is_an_error_and_not_an_absent_part(asked: str, tmp_path: Path) -> None:
    class Blind:
        def score(self, images: list, texts: list[str]) -> object:  # type: ignore[type-arg]
            return np.zeros((len(images), len(texts)))

    write(tmp_path / "root")
    with pytest.raises(ZooError, match=r"nowhere\S* is neither in the working directory nor under"):
        zoo.evaluate(Blind(), [f"pairs:{tmp_path / 'root' / 'mine.csv'}", asked], tmp_path / "root")
