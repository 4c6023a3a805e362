import gzip
import json

import pytest

from zoo.benchmarks.annotations import locate, overrides, read_json, read_list
from zoo.errors import ZooError


def test_a_file_is_found_plain_before_gzipped_and_under_its_names_in_order(tmp_path):
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b"[]"))
    assert locate(tmp_path, ("a.json", "b.json")) == tmp_path / "b.json.gz"
    (tmp_path / "b.json").write_text("[]")
    assert locate(tmp_path, ("a.json", "b.json")) == tmp_path / "b.json"
    assert locate(tmp_path, ("a.json",)) is None


def test_an_override_that_is_no_file_is_named(tmp_path):
    with pytest.raises(ZooError, match=r"mine\.json"):
        locate(tmp_path, ("a.json",), "mine.json")


def test_an_override_is_taken_from_under_the_root(tmp_path):
    (tmp_path / "mine.json").write_text("[]")
    assert locate(tmp_path, ("a.json",), "mine.json") == tmp_path / "mine.json"


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
    with pytest.raises(ZooError, match="not a list of records"):
        read_list(tmp_path / "a.json")


def test_an_override_for_an_unknown_subset_gets_the_near_one():
    with pytest.raises(ZooError, match=r"near: add_att"):
        overrides("sugarcrepe", {"ad_att": "x.json"}, ("add_att", "swap_obj"))
