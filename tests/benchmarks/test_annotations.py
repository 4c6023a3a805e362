import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from zoo.benchmarks.annotations import check_user_files, find_annotation_file, unanswerable_note
from zoo.benchmarks.aro.benchmark import ARO
from zoo.benchmarks.base import Case, Subset
from zoo.benchmarks.pairs import Pairs
from zoo.benchmarks.roots import read_benchmark
from zoo.benchmarks.sugarcrepe import SugarCrepe
from zoo.benchmarks.winoground import Winoground
from zoo.errors import ZooError
from zoo.support.schema import read_list
from zoo.support.text_files import read_json


def subset(*files, named=False):
    return Subset("all", files, None, "", from_user=named)


def test_a_file_is_found_plain_before_gzipped_and_under_its_names_in_order(tmp_path):
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b"[]"))
    assert find_annotation_file(tmp_path, subset("a.json", "b.json")) == tmp_path / "b.json.gz"
    (tmp_path / "b.json").write_text("[]")
    assert find_annotation_file(tmp_path, subset("a.json", "b.json")) == tmp_path / "b.json"
    assert find_annotation_file(tmp_path, subset("a.json")) is None


def test_a_file_that_the_user_named_is_taken_from_the_working_directory_or_the_root(
    tmp_path, monkeypatch
):
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "mine.json").write_text("[]")
    monkeypatch.chdir(tmp_path)
    assert (
        find_annotation_file(tmp_path / "root", subset("mine.json", named=True))
        == tmp_path / "root" / "mine.json"
    )
    (tmp_path / "mine.json").write_text("[]")
    assert find_annotation_file(tmp_path / "root", subset("mine.json", named=True)) == Path(
        "mine.json"
    )


@pytest.mark.parametrize(
    "benchmark",
    [
        SugarCrepe({"add_obj": "mine.json"}),
        ARO({"VG-Relation": "mine.json"}),
        Pairs("mine.json"),
        Winoground("mine.json"),
    ],
    ids=lambda b: b.name,
)
def test_a_file_that_the_user_named_is_looked_for_under_every_root_before_it_is_an_error(
    tmp_path, benchmark
):
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with pytest.raises(
        ZooError,
        match=rf"mine\.json is neither in the working directory nor under {first}, {second}",
    ):
        read_benchmark(benchmark, [first, second])
    (second / "mine.json").write_text("nothing that it could read")
    with pytest.raises(ZooError, match=re.escape(str(second / "mine.json"))):
        read_benchmark(benchmark, [first, second])


def test_what_the_first_root_lacks_is_read_from_the_second(tmp_path):
    for root, name in ((tmp_path / "a", "one.csv"), (tmp_path / "b", "two.csv")):
        root.mkdir()
        (root / name).write_text("image,caption,foil\nx.png,a,b\n")
    for name in ("one.csv", "two.csv"):
        assert len(read_benchmark(Pairs(name), [tmp_path / "a", tmp_path / "b"]).cases) == 1


def test_gzipped_and_plain_json_read_the_same(tmp_path):
    value = {"caption": "Café"}
    (tmp_path / "a.json").write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(json.dumps(value).encode()))
    assert read_json(tmp_path / "a.json") == read_json(tmp_path / "b.json.gz") == value


def test_broken_json_names_file_and_line(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1,\n"b": }')
    with pytest.raises(ZooError, match=r"a\.json:2 is not JSON"):
        read_json(tmp_path / "a.json")


def test_a_gzip_cut_short_names_the_file(tmp_path):
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(b'{"a": 1}' * 1000)[:-12])
    with pytest.raises(ZooError, match=r"a\.json\.gz cannot be read"):
        read_json(tmp_path / "a.json.gz")


def test_an_object_in_the_place_of_a_list_is_refused(tmp_path):
    (tmp_path / "a.json").write_text("{}")
    with pytest.raises(ZooError, match=r"a\.json: the record is an object, but must be a list"):
        list(read_list(tmp_path / "a.json", str))


def test_an_override_for_an_unknown_subset_gets_the_near_one():
    with pytest.raises(ZooError, match=r"did you mean add_att"):
        check_user_files("sugarcrepe", {"ad_att": "x.json"}, ("add_att", "swap_obj"))


def test_a_foil_that_is_one_of_the_captions_that_ask_counts_as_unanswerable():
    match = np.array([[True, False]] * 2)
    cases = [
        Case((), ("b", foil), match, "text_only", "swap_obj", foil, query_texts=("a", "b"))
        for foil in "abc"
    ]
    (said,) = unanswerable_note("swap_obj", cases).values()
    assert said.startswith("2 have a text that is both a right and a wrong answer")
