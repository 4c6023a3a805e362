"""`zoo bindings` from the command line's side."""

from pathlib import Path

import pytest

from zoo.cli import main
from zoo.familiarity.table import read_binding_table


def test_a_table_of_captions_is_written_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captions, out = tmp_path / "captions.txt", tmp_path / "table.csv"
    captions.write_text("A red car.\nA small white dog.\n")
    assert main(["bindings", str(captions), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said == f"{out}: 3 bindings of captions.txt, 1 of them with a perfect match\n"
    assert list(read_binding_table(out).perfect_close_counts) == [
        ("red", "car"),
        ("small", "dog"),
        ("white", "dog"),
    ]
    assert str(tmp_path) not in out.read_text()
    assert main(["bindings", str(captions), "--out", str(out)]) == 1
    assert f"{out} exists" in capsys.readouterr().err
    reader = "zoo.sources.readers.PlainText"
    again = ["bindings", str(captions), "--reader", reader, "--out", str(out), "--overwrite"]
    assert main(again) == 0


def test_captions_without_bindings_leave_no_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    captions, out = tmp_path / "captions.txt", tmp_path / "table.csv"
    captions.write_text("A man rides a horse.\n")
    assert main(["bindings", str(captions), "--out", str(out)]) == 1
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert sentence.startswith("zoo: captions.txt: none of the 1 captions gives an attribute")
    assert not out.exists()
