"""Sheets of units to be judged by hand."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from zoo.cli.units import main
from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.units.audit import (
    CAPTION_COLUMNS,
    COLUMNS,
    SheetRow,
    draw_caption_rows,
    draw_sheet_rows,
    read_sheet,
    verdict_shares,
    write_sheet,
)
from zoo.units.record import UnitRecord
from zoo.units.rules.rule import RuleExtractor

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "studies"))


@pytest.fixture(scope="module")
def records() -> dict[str, UnitRecord]:
    """Units of nine captions by caption id."""
    extractor = RuleExtractor(tagger=TextBlobTagger())
    numbers = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    return {
        str(i): extractor.extract(f"A black dog chases {n} white cats on the grass", str(i), str(i))
        for i, n in enumerate(numbers)
    }


def test_a_draw_is_settled_by_its_seed_takes_a_caption_once_and_both_kinds_in_turn(
    records: dict[str, UnitRecord],
) -> None:
    rows = draw_sheet_rows(records, 6, seed=1)
    assert rows == draw_sheet_rows(records, 6, seed=1) != draw_sheet_rows(records, 6, seed=2)
    assert len({row.caption_id for row in rows}) == 6
    assert sorted(row.kind for row in rows) == ["entity"] * 3 + ["relation"] * 3
    for row in rows:
        record = records[row.caption_id]
        units = {u.text: {f.text for f in u.foils} for u in (*record.entities, *record.relations)}
        assert row.foil in units[row.unit]


def test_one_edit_can_be_drawn_alone_and_a_misspelt_one_is_named(
    records: dict[str, UnitRecord],
) -> None:
    assert {row.edit for row in draw_sheet_rows(records, 5, 0, "argument_swap")} == {
        "argument_swap"
    }
    with pytest.raises(ZooError, match=r"argument_swop.*did you mean argument_swap"):
        draw_sheet_rows(records, 5, 0, "argument_swop")


def test_a_sheet_of_captions_has_all_their_units_and_counts_missed_ones(
    records: dict[str, UnitRecord], tmp_path: Path
) -> None:
    rows = draw_caption_rows(records, 2, seed=0)
    assert len({row.caption_id for row in rows}) == 2
    for caption_id in {row.caption_id for row in rows}:
        record = records[caption_id]
        units = [u.text for u in (*record.entities, *record.relations)]
        assert [row.unit for row in rows if row.caption_id == caption_id] == units
    judged = [
        replace(row, unit_verdict="ok", foil_verdict="ok" if row.foil else "") for row in rows
    ]
    judged[0] = replace(judged[0], missed_entities="0", missed_relations="2")
    judged[1] = replace(judged[1], unit_verdict="false")
    write_sheet(judged, tmp_path / "sheet.csv", CAPTION_COLUMNS)
    shares = {
        (share.verdict, share.group): (share.count, share.n)
        for share in verdict_shares(read_sheet(tmp_path / "sheet.csv"))
    }
    n_relations = len(records[rows[0].caption_id].relations)
    n_entities = len(records[rows[0].caption_id].entities)
    assert shares["any error", "units"] == (1, len(rows))
    assert shares["missed", "relations"] == (2, n_relations + 2)
    assert shares["missed", "entities"] == (0, n_entities - 1)
    text = (tmp_path / "sheet.csv").read_text().replace(",0,2", ",0,two", 1)
    (tmp_path / "wrong.csv").write_text(text)
    with pytest.raises(ZooError, match="missed_relations 'two' is not a number"):
        read_sheet(tmp_path / "wrong.csv")


def test_a_sheet_is_never_written_over(records: dict[str, UnitRecord], tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    write_sheet(draw_sheet_rows(records, 2, 0), sheet)
    before = sheet.read_bytes()
    with pytest.raises(ZooError, match="may contain verdicts"):
        write_sheet(draw_sheet_rows(records, 3, 0), sheet)
    assert sheet.read_bytes() == before


def test_verdicts_come_back_as_they_were_written(
    records: dict[str, UnitRecord], tmp_path: Path
) -> None:
    rows = [
        replace(row, unit_verdict="ok", note='a, "b"') for row in draw_sheet_rows(records, 3, 0)
    ]
    write_sheet(rows, tmp_path / "sheet.csv")
    assert read_sheet(tmp_path / "sheet.csv") == rows


ROW = SheetRow("1", "1", "a dog", "entity", "dog", "cat", "object_change", "ok", "ok")


def test_shares_are_of_what_was_judged() -> None:
    swap = replace(ROW, kind="relation", edit="argument_swap")
    rows = [
        ROW,
        replace(ROW, unit_verdict="false", foil_verdict="nonsense"),
        replace(ROW, foil_verdict=""),
        replace(swap, foil_verdict="absurd_swap"),
        swap,
    ]
    found = {(s.verdict, s.group): (s.count, s.n) for s in verdict_shares(rows)}
    assert found["false", "units"] == (1, 5)
    assert found["nonsense", "foils"] == (1, 4)
    assert found["nonsense", "foils of entities"] == (1, 2)
    assert found["absurd_swap", "swaps"] == (1, 2)
    assert found["absurd_swap", "foils"] == (1, 4)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("1,1,a dog,entity,dog,cat,object_change,ok,nonsens,", ":2: foil_verdict 'nonsens'"),
        ("1,1,a dog,entity,dog,cat,object_change,maybe,ok,", ":2: unit_verdict 'maybe'"),
        ("1,1,a dog,entity,dog,cat,object_change,ok,absurd_swap,", "applies only to swaps"),
        ("1,1,a dog, wet,entity,dog,cat,object_change,ok,ok,", "11 columns instead of 10"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, complaint: str) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(",".join(COLUMNS) + "\n" + line + "\n")
    with pytest.raises(ZooError, match=complaint):
        read_sheet(sheet)


def test_another_table_is_no_sheet(tmp_path: Path) -> None:
    (tmp_path / "pairs.csv").write_text("image,caption\n")
    with pytest.raises(ZooError, match="is not a sheet"):
        read_sheet(tmp_path / "pairs.csv")


def test_from_units_to_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    captions, units = tmp_path / "captions.token", tmp_path / "u.jsonl"
    captions.write_text(
        "1.jpg#0\tA black dog chases a white cat .\n2.jpg#0\tA boy in a red hat .\n"
    )
    main(["extract", str(captions), "--out", str(units), "--tagger", "TextBlobTagger"])
    main(["audit", str(units), "--n", "2"])
    sheet = tmp_path / "u.audit.csv"
    rows = read_sheet(sheet)
    sheet.unlink()
    judged = [replace(row, unit_verdict="ok", foil_verdict="ok") for row in rows]
    judged.append(replace(judged[0], foil="", foil_verdict=""))
    judged.append(replace(judged[0], foil_verdict=""))
    write_sheet(judged, sheet)
    capsys.readouterr()
    assert main(["audit", str(sheet)]) == 0
    assert "3 of 4 judged" in capsys.readouterr().out


def test_the_committed_shares_are_those_of_the_committed_sheets() -> None:
    import units_audit

    assert (units_audit.RESULTS / "units_audit.md").read_text() == units_audit.table()
