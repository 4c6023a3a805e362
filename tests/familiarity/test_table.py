"""The table of bindings is counted as the paper says, and read again as it was written."""

import csv
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from zoo.errors import ZooError
from zoo.familiarity.bindings import Binding
from zoo.familiarity.captions import count_caption_bindings, load_binding_table
from zoo.familiarity.table import count_bindings, read_binding_table, to_csv, write_binding_table
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.sources.readers.plain_text import PlainText
from zoo.support.configurable import to_config
from zoo.support.text_files import sha256
from zoo.units.parquet import write_unit_rows
from zoo.units.reader import record_to_dict, write_units
from zoo.units.record import Entity, UnitRecord


def record(number: int, *texts: str) -> UnitRecord:
    return UnitRecord(str(number), "1", " ".join(texts), tuple(map(Entity, texts)))


SAID = ("A red car and a small white dog.", "Two red cars on the road.")
RECORDS = [
    record(1, "red cars", "small white dog"),
    record(2, "red car", "chairs"),
    record(3, "white dog", "red shiny car"),
]
COUNTS = {
    ("red", "car"): (2, 1),
    ("shiny", "car"): (0, 1),
    ("small", "dog"): (0, 1),
    ("white", "dog"): (1, 1),
}


def test_components_with_one_attribute_count_as_perfect_and_with_more_as_close() -> None:
    table = count_bindings(RECORDS, {"captions": "made"})
    assert table.perfect_close_counts == COUNTS
    labels = [table.familiarity_label(Binding(*b)) for b in [*COUNTS, ("red", "dog")]]
    assert labels == ["perfect", "close", "close", "perfect", "none"]


def test_a_table_is_read_as_it_was_written_and_in_the_form_that_is_released(
    tmp_path: Path,
) -> None:
    table = count_bindings(RECORDS, {"captions": "made"})
    write_binding_table(table, tmp_path / "table.csv")
    again = load_binding_table(str(tmp_path / "table.csv"))
    assert again.perfect_close_counts == COUNTS
    assert again.about == {
        "version": 1,
        "captions": "made",
        "n": 3,
        "table": "table.csv",
        "sha256": sha256(tmp_path / "table.csv"),
    }
    released = tmp_path / "released.csv"
    released.write_bytes(to_csv(table, with_description=False))
    assert released.read_text().splitlines() == [
        "attr,obj_lemma,perfect_count,close_count",
        "red,car,2,1",
        "shiny,car,0,1",
        "small,dog,0,1",
        "white,dog,1,1",
    ]
    assert load_binding_table(str(released)).perfect_close_counts == COUNTS


def test_units_of_a_file_are_counted_as_they_are(tmp_path: Path) -> None:
    write_units(RECORDS, tmp_path / "units.jsonl")
    assert load_binding_table(str(tmp_path / "units.jsonl")).perfect_close_counts == COUNTS


def test_units_and_captions_may_stand_in_parquet(tmp_path: Path) -> None:
    write_unit_rows(map(record_to_dict, RECORDS), tmp_path / "units.parquet", dict)
    assert load_binding_table(str(tmp_path / "units.parquet")).perfect_close_counts == COUNTS
    rows = [{"image": f"{i}.jpg", "caption": caption} for i, caption in enumerate(SAID)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "captions.parquet")
    (tmp_path / "captions.txt").write_text("\n".join(SAID))
    tables = [load_binding_table(str(tmp_path / f"captions.{kind}")) for kind in ("parquet", "txt")]
    assert tables[0].perfect_close_counts == tables[1].perfect_close_counts


def test_captions_are_counted_by_their_rule_units(tmp_path: Path) -> None:
    captions = tmp_path / "captions.txt"
    captions.write_text("\n".join(SAID))
    table = load_binding_table(str(captions))
    assert table.perfect_close_counts[Binding("red", "car")] == (1, 1)
    assert (
        table.perfect_close_counts[Binding("small", "dog")]
        == table.perfect_close_counts[Binding("white", "dog")]
        == (0, 1)
    )
    assert (table.about["extractor"], table.about["n"]) == ("rule", 2)


@pytest.mark.slow
def test_real_captions_give_a_table_that_holds_what_a_loop_finds_in_them(
    shared_data: Path, tmp_path: Path
) -> None:
    lines = (shared_data / "flickr8k" / "Flickr8k.token.txt").read_text().splitlines()[:4000]
    captions = tmp_path / "some.token.txt"
    captions.write_text("\n".join(lines))
    table = count_caption_bindings(FlickrToken(captions))
    assert table.about["n"] == 4_000
    perfect, close = table.perfect_close_counts[Binding("brown", "dog")]
    text = captions.read_text().lower()
    assert 0 < perfect <= text.count("brown dog")
    assert close > 0
    assert table.familiarity_label(Binding("purple", "sky")) == "none"
    assert "purple sky" not in text


def test_training_captions_are_those_that_a_checkpoint_names(tmp_path: Path) -> None:
    captions = tmp_path / "captions.txt"
    captions.write_text("A red car.\n")
    described = {
        "reader": to_config(PlainText(captions)),
        "files": {captions.name: sha256(captions)},
    }
    assert load_binding_table("training", (), described).perfect_close_counts == {
        ("red", "car"): (1, 0)
    }
    captions.write_text("A blue car.\n")
    with pytest.raises(ZooError, match="is not the file that the model was trained on: restore"):
        load_binding_table("training", (), described)
    captions.unlink()
    with pytest.raises(ZooError, match="is missing; it is the file that the model was trained on"):
        load_binding_table("training", (), described)
    with pytest.raises(ZooError, match="does not state its training captions"):
        load_binding_table("training")


def test_coco_stands_for_its_training_captions_under_a_data_root(
    shared_data: Path, tmp_path: Path
) -> None:
    with pytest.raises(ZooError, match=r"COCO's training captions are not in .*: put coco/"):
        load_binding_table("coco", [tmp_path])
    (tmp_path / "coco").mkdir()
    sample = shared_data / "coco" / "dataset_coco_sample.json"
    # the sample's own training images are Karpathy's restval
    trained = sample.read_text("utf-8").replace('"val"', '"test"').replace('"restval"', '"train"')
    (tmp_path / "coco" / "dataset_coco.json").write_text(trained, "utf-8")
    table = load_binding_table("coco", [tmp_path])
    assert (table.about["captions"], table.about["n"]) == ("dataset_coco.json", 370)


BROKEN = {
    '# {"version": 7}\nattr,obj_lemma,perfect_count,close_count\na,b,1,0\n': (
        "is a table of bindings of version 7, but this version of zoo uses version 1: create the "
        "table again from its captions by `zoo bindings`"
    ),
    "# {no\nattr,obj_lemma,perfect_count,close_count\n": "does not state the version",
    '# {"version": 1}\nattr,obj,perfect,close\n': "does not have the columns attr, obj_lemma",
    "attr,obj_lemma,perfect_count,close_count\nred,car,many,0\n": ":2 is not a binding with two",
    "attr,obj_lemma,perfect_count,close_count\nred,car,-3,0\n": ":2 is not a binding with two",
    "attr,obj_lemma,perfect_count,close_count\nred,car\n": ":2 is not a binding with two counts",
    "attr,obj_lemma,perfect_count,close_count\n": "has no binding",
}


@pytest.mark.parametrize("content", BROKEN)
def test_a_table_that_is_broken_or_of_another_version_is_refused(
    content: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(ZooError) as error:
        read_binding_table(path)
    assert str(error.value).startswith(str(path))
    assert BROKEN[content] in str(error.value)


def test_captions_without_bindings_are_refused(tmp_path: Path) -> None:
    captions = tmp_path / "captions.txt"
    captions.write_text("A man rides a horse.\n")
    with pytest.raises(ZooError, match=r"captions.txt: none of the 1 captions gives an attribute"):
        load_binding_table(str(captions))


def test_what_csv_reads_of_a_table_is_its_counts(tmp_path: Path) -> None:
    records = [record(1, 'say "hi", friend', "red car")]
    table = count_bindings(records, {"captions": "made"})
    path = tmp_path / "table.csv"
    path.write_bytes(to_csv(table, with_description=False))
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert {Binding(a, o): (int(p), int(c)) for a, o, p, c in rows} == table.perfect_close_counts
    assert read_binding_table(path).perfect_close_counts == table.perfect_close_counts
