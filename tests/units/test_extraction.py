"""What is counted while units are extracted."""

import json
from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.units.counts import Counts
from zoo.units.extraction import check_output, total_stored_counts, write_extracted_units
from zoo.units.reader import read_units
from zoo.units.rules.rule import RuleExtractor

CAPTIONS = [
    ("A man rides a brown horse", "1#0", "1"),
    ("Two dogs next to a white cat", "1#1", "1"),
    ("Yes .", "2#0", "2"),
]


@pytest.fixture(scope="module")
def rules() -> RuleExtractor:
    return RuleExtractor(tagger=TextBlobTagger())


@pytest.mark.parametrize("name", ["units.jsonl", "units.parquet"])
def test_the_file_is_kept_with_what_was_counted(
    rules: RuleExtractor, name: str, tmp_path: Path
) -> None:
    found = write_extracted_units(rules, CAPTIONS, tmp_path / name)
    records = list(read_units(tmp_path / name).values())
    assert [r.caption for r in records] == [caption for caption, _, _ in CAPTIONS]
    assert found.captions == 3
    assert found.units["entities"] == sum(len(r.entities) for r in records)
    assert found.captions_with["relations"] == sum(bool(r.relations) for r in records) == 2
    foils = [f for r in records for u in (*r.entities, *r.relations) for f in u.foils]
    assert found.foils.total() == len(foils)
    assert found.dropped["symmetric_swap"] == 1  # of "next to"
    assert total_stored_counts(tmp_path / name) == found


def test_counts_of_a_second_file_are_its_own(rules: RuleExtractor, tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        found = write_extracted_units(rules, CAPTIONS[1:2], tmp_path / name)
        assert found.dropped["symmetric_swap"] == 1


def test_counts_of_a_folder_are_the_sum_of_its_files(rules: RuleExtractor, tmp_path: Path) -> None:
    parts = [
        write_extracted_units(rules, CAPTIONS[:2], tmp_path / "a.parquet"),
        write_extracted_units(rules, CAPTIONS[2:], tmp_path / "b.jsonl"),
    ]
    assert total_stored_counts(tmp_path) == sum(parts, Counts())
    assert sum(parts, Counts()).captions == 3
    (tmp_path / "b.jsonl.counts").unlink()
    assert total_stored_counts(tmp_path) is None


@pytest.mark.parametrize("kept", ["", "{", "[]", "{}", '{"captions": 1}'])
def test_counts_that_cannot_be_read_are_not_known(
    rules: RuleExtractor, kept: str, tmp_path: Path
) -> None:
    write_extracted_units(rules, CAPTIONS, tmp_path / "a.jsonl")
    assert json.loads((tmp_path / "a.jsonl.counts").read_text())["captions"] == 3
    (tmp_path / "a.jsonl.counts").write_text(kept)
    assert total_stored_counts(tmp_path / "a.jsonl") is None


def test_a_file_where_the_counts_would_go_is_not_written_over_unasked(tmp_path: Path) -> None:
    mine = tmp_path / "units.jsonl.counts"
    mine.write_text("mine")
    with pytest.raises(
        ZooError, match=r"units\.jsonl\.counts exists: choose another file, or add --ov"
    ):
        check_output(tmp_path / "units.jsonl", overwrite=False)
    check_output(tmp_path / "units.jsonl", overwrite=True)
    mine.rename(tmp_path / "units.parquet.counts")
    check_output(tmp_path / "units.parquet", overwrite=False)  # its counts are in its metadata
