"""A benchmark in one file: its subsets and its cases are all that it states."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec import Struct

from zoo.benchmarks import ARO, Case, PublishedBenchmark, Subset, SugarCrepe, Winoground
from zoo.benchmarks.catalog import build_benchmark
from zoo.errors import ZooError
from zoo.sources.images import coco_ref
from zoo.support.configurable import to_config
from zoo.support.schema import read_list


class Row(Struct):
    image: str
    captions: list[str]


class FirstOfMany(PublishedBenchmark):
    """The first caption is right."""

    name = "first_of_many"
    published = (
        Subset("cats", ("many/cats.json",), 2, "draw cats", chance={"i2t": 50.0}),
        Subset("dogs", ("many/dogs.json",), 1, "draw dogs", chance={"i2t": 50.0}),
    )

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        for i, (place, row) in enumerate(read_list(path, Row)):
            match = np.arange(len(row.captions))[None] == 0
            image = coco_ref(row.image, place)
            yield Case((image,), tuple(row.captions), match, "i2t", subset, str(i))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "many").mkdir()
    entry = {"image": "000000000001.jpg", "captions": ["a cat", "a dog"]}
    (tmp_path / "many/cats.json").write_text(json.dumps([entry]))
    return tmp_path


def test_subsets_are_read_where_their_files_are_and_counted_against_those_published(
    root: Path,
) -> None:
    contents = FirstOfMany().read(root)
    assert [(case.subset, case.texts) for case in contents.cases] == [("cats", ("a cat", "a dog"))]
    assert contents.files == [root / "many/cats.json"]
    assert [subset.name for subset in contents.missing_subsets] == ["dogs"]
    assert contents.notes == {"cats cases": "1 in the file, 2 as published"}


def test_subsets_can_be_chosen_and_read_from_other_files(root: Path) -> None:
    (root / "mine.json").write_text((root / "many/cats.json").read_text())
    chosen = FirstOfMany({"dogs": "mine.json"}, ["dogs"])
    assert [subset.from_user for subset in chosen.subsets] == [True]
    assert [case.subset for case in chosen.read(root).cases] == ["dogs"]
    assert to_config(chosen)["init_args"] == {"files": {"dogs": "mine.json"}, "subsets": ["dogs"]}
    with pytest.raises(ZooError, match=r"first_of_many has no subset 'cat'.*cats"):
        FirstOfMany(subsets=["cat"])


def test_its_subsets_are_named_behind_a_colon_and_its_options_are_those_of_the_base() -> None:
    assert FirstOfMany.subset_names == ("cats", "dogs")
    with pytest.raises(ZooError, match="it takes files, subsets"):
        build_benchmark(f"{__name__}.FirstOfMany", {"seed": 1})


@pytest.mark.parametrize("cls", [ARO, SugarCrepe, Winoground])
def test_published_annotations_name_their_licence_and_what_to_cite(
    cls: type[PublishedBenchmark],
) -> None:
    assert cls.licence
    assert "arXiv:" in cls.citation
