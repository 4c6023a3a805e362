"""The journal holds what was answered, whatever ended the process that wrote it."""

import errno
import json
import os
from pathlib import Path

import pytest

from zoo.errors import ZooError
from zoo.units.llm.journal import Journal, JournalEntry

SETTINGS = {"model": "tiny", "seed": 0}
FIRST = JournalEntry(
    "units", "", {"entities": ["a dog"], "relations": []}, tokens_in=7, tokens_out=3
)
SECOND = JournalEntry("entity_foils", "a dog", {"foils": []}, faults=("timeout",), cleaned=True)
FAILED = JournalEntry("entity_foils", "a ˈcat", error="timeout: after 5 s", faults=("timeout",) * 3)


def written(path: Path) -> Path:
    with Journal(path, SETTINGS) as journal:
        journal.append("1", FIRST)
        journal.append("2", FAILED)
        journal.append("1", SECOND)
    return path


def test_entries_come_back_as_they_were(tmp_path: Path) -> None:
    with Journal(written(tmp_path / "deep" / "journal"), SETTINGS) as journal:
        assert journal.entries("1") == {FIRST.key: FIRST, SECOND.key: SECOND}
        assert journal.entries("2") == {FAILED.key: FAILED}
        assert journal.entries("3") == {}
        assert len(journal) == 2


def test_of_two_entries_of_a_question_the_last_counts(tmp_path: Path) -> None:
    answered = JournalEntry(FAILED.stage, FAILED.unit, {"foils": []})
    with Journal(written(tmp_path / "journal"), SETTINGS) as journal:
        journal.append("2", answered)
        assert journal.entries("2") == {answered.key: answered}


def test_failed_questions_may_count_as_not_asked(tmp_path: Path) -> None:
    with Journal(written(tmp_path / "journal"), SETTINGS, retry_failed=True) as journal:
        assert journal.entries("2") == {}
        assert len(journal.entries("1")) == 2


def test_a_line_that_was_cut_off_anywhere_is_taken_off_and_nothing_else_is_lost(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "journal")
    whole = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        with Journal(path, SETTINGS) as journal:
            kept = [*journal.entries("1").values(), *journal.entries("2").values()]
            assert len(kept) == max(0, sum(end <= size for end in ends) - 1)
            journal.append("4", FIRST)
        with Journal(path, SETTINGS) as journal:
            assert journal.entries("4") == {FIRST.key: FIRST}


def test_other_settings_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "journal")
    with pytest.raises(ZooError, match="were given with seed 0, not 1: use the earlier value"):
        Journal(path, {**SETTINGS, "seed": 1})
    with pytest.raises(ZooError, match=r"were given with top_p None, not 0.5"):
        Journal(path, {**SETTINGS, "top_p": 0.5})


def test_settings_of_no_answer_bind_nobody(tmp_path: Path) -> None:
    Journal(tmp_path / "journal", SETTINGS).__exit__(None, None, None)
    other = {**SETTINGS, "model": "large"}
    with Journal(tmp_path / "journal", other) as journal:
        journal.append("1", FIRST)
    with Journal(tmp_path / "journal", other) as journal:
        assert journal.entries("1") == {FIRST.key: FIRST}


@pytest.mark.parametrize("line", ["{", "[]", '{"stage": "units"}', "\xff"])
def test_a_damaged_line_within_is_named(tmp_path: Path, line: str) -> None:
    path = written(tmp_path / "journal")
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], line.encode("latin-1"), *lines[2:]]))
    with pytest.raises(ZooError, match=r"journal:3 is damaged .*remove the line"):
        Journal(path, SETTINGS)


def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "units.jsonl"
    path.write_text(json.dumps({"caption_id": "1", "caption": "a dog"}) + "\n")
    before = path.read_bytes()
    with pytest.raises(ZooError, match=r"units.jsonl:1 is damaged .it is not an entry"):
        Journal(path, SETTINGS)
    assert path.read_bytes() == before


def test_two_processes_do_not_write_one_journal(tmp_path: Path) -> None:
    with (
        Journal(tmp_path / "journal", SETTINGS),
        pytest.raises(ZooError, match="is being written by another process"),
    ):
        Journal(tmp_path / "journal", SETTINGS)
    Journal(tmp_path / "journal", SETTINGS).__exit__(None, None, None)


def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def flock(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", flock)
    with Journal(tmp_path / "journal", SETTINGS):
        assert "journal cannot be locked (No locks available)" in caplog.text


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ZooError, match=r"could not be written .*choose another path"):
        Journal(tmp_path / "file" / "journal", SETTINGS)


def test_a_journal_without_a_file_keeps_entries_while_it_lives() -> None:
    with Journal(None, SETTINGS) as journal:
        journal.append("1", FIRST)
        journal.append("1", SECOND)
        assert journal.entries("1") == {FIRST.key: FIRST, SECOND.key: SECOND}
