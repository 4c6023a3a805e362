"""What is in a units file and what two share: numbers, samples and their page."""

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.pages import check_page
from zoo.errors import ZooError
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.results.units_report import UnitsReport, read_units_report
from zoo.sources.images import ImageFinder
from zoo.sources.readers.guess import guess_reader
from zoo.units.extraction import write_extracted_units
from zoo.units.overlap import RULE
from zoo.units.reader import read_units, write_units
from zoo.units.record import Entity
from zoo.units.rules.rule import RuleExtractor


@pytest.fixture(scope="module")
def folder(made_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Units by rule, and the same where one caption has another entity and one has an error."""
    folder = tmp_path_factory.mktemp("units")
    samples = guess_reader(made_root / "captions.tsv").read()
    captions = [(s.caption, s.caption_id, s.image_id) for s in samples]
    captions.append(("Two dogs next to a white cat", "dogs", samples[0].image_id))
    write_extracted_units(RuleExtractor(tagger=TextBlobTagger()), captions, folder / "rule.jsonl")
    records = list(read_units(folder / "rule.jsonl").values())
    other = replace(records[0], entities=(*records[0].entities, Entity("<b>green</b> moon")))
    failed = replace(records[1], source={"error": "malformed: 'I cannot say'"})
    write_units([other, failed, *records[2:]], folder / "other.jsonl")
    return folder


@pytest.fixture(scope="module")
def two(folder: Path) -> UnitsReport:
    return read_units_report([folder / "rule.jsonl", folder / "other.jsonl"], n=50, seed=0)


def test_counts_stand_side_by_side_and_what_is_not_known_is_said(two: UnitsReport) -> None:
    rows = {row[0]: row[1:] for row in two.kinds_table.rows}
    assert two.kinds_table.header == ("", "rule.jsonl", "other.jsonl")
    n = len(two.files[0].records)
    assert rows["captions"] == (f"{n:,}", f"{n:,}")
    first, second = (int(cell.split()[0].replace(",", "")) for cell in rows["entities"])
    assert second == first + 1
    assert rows["captions with an error"] == ("0 (0.0%)", f"1 ({1 / n:.1%})")
    assert rows["dropped: symmetric_swap"] == ("1", "0")
    (note,) = two.notes
    assert note.startswith("The dropped items of other.jsonl are unknown")


def test_drops_of_a_file_that_was_changed_since_are_not_known(folder: Path, tmp_path: Path) -> None:
    for name in ("rule.jsonl", "rule.jsonl.counts"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert read_units_report([tmp_path / "rule.jsonl"], 1, 0).notes == []
    lines = (folder / "rule.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "rule.jsonl").write_text("".join(lines[1:]))
    assert len(read_units_report([tmp_path / "rule.jsonl"], 1, 0).notes) == 1


def test_samples_are_settled_by_the_seed(folder: Path) -> None:
    drawn = [read_units_report([folder / "rule.jsonl"], 3, seed).samples for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]["rule.jsonl"]) == 3


def test_files_of_one_name_are_told_apart_by_their_paths(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "rule.jsonl").write_bytes((folder / "rule.jsonl").read_bytes())
    paths = [folder / "rule.jsonl", tmp_path / "rule.jsonl"]
    assert read_units_report(paths, 1, 0).kinds_table.header == ("", *map(str, paths))


def test_the_page_has_numbers_samples_and_images(two: UnitsReport, made_root: Path) -> None:
    text = two.page(ImageFinder([made_root]), must_find=True)
    for row in (*two.kinds_table.rows, *two.shared_table().rows):
        assert "".join(f"<td>{cell}</td>" for cell in row) in text
    assert RULE.replace('"', "&#34;") in text
    assert two.describe_comparison() in text
    assert "&lt;b&gt;green&lt;/b&gt; moon" in text
    assert "malformed: &#39;I cannot say&#39;" in text
    shown = [d.record for d in two.disagreements] + [r for s in two.samples.values() for r in s]
    assert text.count("data:image/jpeg;base64,") == len(shown)
    assert not re.findall(r'(?:src|href)="(?!data:|#)', text)


def test_where_no_image_is_found_the_page_has_none_unless_they_were_asked_for(
    two: UnitsReport, tmp_path: Path
) -> None:
    moved = [
        replace(
            file,
            records={
                key: replace(record, image_id="file:nowhere.png")
                for key, record in file.records.items()
            },
        )
        for file in two.files
    ]
    report = UnitsReport(moved, 3, 0)
    finder = ImageFinder([tmp_path])
    text = report.page(finder, must_find=False)
    assert "<img" not in text
    assert "image not found" not in text
    with pytest.raises(ZooError, match=r"no image of the 7 captions .*--data_root"):
        report.page(finder, must_find=True)


@pytest.mark.slow
def test_a_browser_shows_the_page_in_light_and_dark_without_a_fault(
    browser: SimpleNamespace, two: UnitsReport, made_root: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text(two.page(ImageFinder([made_root]), must_find=True))
    check_page(browser, page)
