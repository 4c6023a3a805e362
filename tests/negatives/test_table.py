"""The table of replacements: what is written is read, by weight, and never half-written."""

import json
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zoo.errors import ZooError
from zoo.negatives import table as table_module
from zoo.negatives.table import ReplacementTable, open_table, write_table

ENTRIES = {
    ("dog", "NN"): {"cat": 3.0, "wolf": 1.0},
    ("dogs", "NNS"): {"cats": 3.0},
    ("xyzzy", "NN"): {},
}

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
entries = st.dictionaries(
    st.tuples(words, st.sampled_from(["NN", "JJ"])),
    st.dictionaries(words, st.floats(0.5, 1000, width=16), max_size=5),
    max_size=6,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_table(tmp_path / "made" / "t.arrow", ENTRIES, tagger="textblob")
    return tmp_path / "made" / "t.arrow"


def test_what_was_written_is_read(file: Path) -> None:
    table = ReplacementTable(file)
    assert len(table) == 3
    assert {key: table.alternatives(key) for key in ENTRIES} == ENTRIES
    assert [table.count_alternatives(key) for key in ENTRIES] == [2, 1, 0]
    assert table.settings["tagger"] == "textblob"


def test_a_word_without_alternatives_is_told_from_one_that_was_never_looked_up(file: Path) -> None:
    table = ReplacementTable(file)
    assert ("xyzzy", "NN") in table
    assert ("dog", "NNS") not in table
    assert table.count_alternatives(("dog", "NNS")) == 0


def test_draws_follow_the_weights(file: Path) -> None:
    table = ReplacementTable(file)
    drawn = [table.draw(("dog", "NN"), Random(seed)) for seed in range(2000)]
    assert set(drawn) == {"cat", "wolf"}
    assert 1400 < drawn.count("cat") < 1600
    assert {table.draw(("dogs", "NNS"), Random(seed)) for seed in range(20)} == {"cats"}


@settings(deadline=None, max_examples=30)
@given(entries)
def test_any_words_and_weights_come_back(
    tmp_path_factory: pytest.TempPathFactory, made: dict[tuple[str, str], dict[str, float]]
) -> None:
    file = tmp_path_factory.mktemp("any") / "t.arrow"
    write_table(file, made)
    table = ReplacementTable(file)
    for key, alternatives in made.items():
        assert table.alternatives(key) == pytest.approx(alternatives, abs=1e-3)
        assert not alternatives or table.draw(key, Random(0)) in alternatives


def test_the_digest_tells_tables_apart(file: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "same.arrow", ENTRIES, tagger="textblob")
    write_table(
        tmp_path / "other.arrow",
        {**ENTRIES, ("dog", "NN"): {"cat": 3.0, "wolf": 2.0}},
        tagger="textblob",
    )
    digests = [
        ReplacementTable(path).settings["digest"]
        for path in (file, tmp_path / "same.arrow", tmp_path / "other.arrow")
    ]
    assert digests[0] == digests[1] != digests[2]


def test_a_table_is_opened_once_a_process(file: Path) -> None:
    assert open_table(file) is open_table(file)


def test_what_is_no_table_is_named(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ZooError, match=r"absent.arrow does not exist: run `zoo negatives build"):
        ReplacementTable(tmp_path / "absent.arrow")
    (tmp_path / "text").write_text("dog\tcat\n")
    with pytest.raises(ZooError, match="text cannot be read as a table"):
        ReplacementTable(tmp_path / "text")
    cut = tmp_path / "cut.arrow"
    cut.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ZooError, match=r"cut.arrow cannot be read as a table"):
        ReplacementTable(cut)
    other = pa.table({"word": ["dog"]})
    for metadata in ({}, {"zoo": json.dumps({"version": "1"})}):
        with (
            pa.OSFile(str(tmp_path / "other.arrow"), "wb") as sink,
            pa.ipc.new_file(sink, other.schema.with_metadata(metadata)) as writer,
        ):
            writer.write_table(other.replace_schema_metadata(metadata))
        with pytest.raises(ZooError, match=r"other.arrow cannot be read as a table"):
            ReplacementTable(tmp_path / "other.arrow")
    monkeypatch.setattr(table_module, "VERSION", 2)
    with pytest.raises(ZooError, match="version 1, but this version of zoo reads version 2"):
        ReplacementTable(file)


def test_a_table_that_cannot_be_written_leaves_what_was_there(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(ZooError, match="could not be written"):
        write_table(file, {})
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["t.arrow"]
