"""`zoo units` from the command line's side."""

import csv
import json
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.language.tokens import split_tokens
from tests.support.fake_model import FakeServer
from tests.support.mistakes import said
from zoo.cli.units import main
from zoo.errors import ZooError
from zoo.language.tagger import Tagger, Token
from zoo.language.textblob_tagger import token_spans
from zoo.sources.readers.base import Reader
from zoo.sources.readers.guess import guess_reader
from zoo.sources.readers.plain_text import PlainText
from zoo.sources.sample import Sample
from zoo.support.ranges import NonNegativeInt
from zoo.units.extractor import CaptionRow, UnitExtractor
from zoo.units.reader import read_units
from zoo.units.record import Entity, UnitRecord
from zoo.units.rules.corpus_counts import read_counts
from zoo.units.sampler import UnitSampler

CAPTIONS = (
    "1000268201.jpg#0\tA man rides a brown horse .\n1000268201.jpg#1\tTwo dogs on a bench .\n"
    "1001773457.jpg#0\tSomething .\n"
)


class Whole(UnitExtractor):
    """The caption is its only unit."""

    name = "whole"

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        return UnitRecord(caption_id, image_id, caption, (Entity(caption),), source=self.describe())


class Broken(Whole):
    """Fails at the second caption."""

    name = "broken"

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        if caption.startswith("Two"):
            raise ZooError("the model is gone: start it again")
        return super().extract(caption, caption_id, image_id)


class Top(UnitExtractor):
    """The first words are units.

    Args:
        top: How many words are taken.
    """

    name = "top"

    def __init__(self, top: NonNegativeInt = 2) -> None:
        self.top = top

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        words = tuple(Entity(word) for word in caption.split()[: self.top])
        return UnitRecord(caption_id, image_id, caption, words)


class Nouns(Tagger):
    """One word is a noun, and the rest are verbs.

    Args:
        word: The noun.
    """

    name = "nouns"

    def __init__(self, word: str) -> None:
        self.word = self.version = word

    def analyse(self, text: str) -> list[Token]:
        return [
            Token(word, *span, *(("NN", "B-NP") if word == self.word else ("VB", "O")))
            for word, span in zip(split_tokens(text), token_spans(text), strict=True)
        ]


class Twice(PlainText):
    """The first two lines alone."""

    def samples(self) -> list[Sample]:
        return list(super().samples())[:2]


class NoReader(Reader):
    """Gives what is no sample."""

    def __init__(self, file: Path, what: str = "lines") -> None:
        self.file, self.what = file, what

    def samples(self) -> list[Sample]:
        return self.file.read_text().splitlines() if self.what == "lines" else None  # type: ignore


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    file = tmp_path / "captions.token"
    file.write_text(CAPTIONS)
    return file


def test_extract_writes_a_record_a_caption_under_the_ids_of_the_reader(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = captions.parent / "made" / "units.jsonl"
    assert (
        main(
            [
                "extract",
                str(captions),
                "--out",
                str(out),
                "--tagger",
                "TextBlobTagger",
                "--seed",
                "5",
            ]
        )
        == 0
    )
    records = read_units(out)
    samples = guess_reader(captions).read()
    assert [(r.caption_id, r.image_id, r.caption) for r in records.values()] == [
        (s.caption_id, s.image_id, s.caption) for s in samples
    ]
    assert {r.source["seed"] for r in records.values()} == {5}
    printed = capsys.readouterr().out
    assert "66.7%" in printed
    assert "argument_change" in printed
    assert "3 captions, extractor rule, seed 5, tagger textblob" in printed
    assert UnitSampler(str(out)).describe()["captions"] == 3


def test_an_extractor_of_ones_own_is_named_by_its_path(captions: Path) -> None:
    out = captions.parent / "units.jsonl"
    main(["extract", str(captions), "--out", str(out), "--extractor", f"{__name__}.Whole"])
    assert [r.entities[0].text for r in read_units(out).values()][2] == "Something ."


def test_a_failure_leaves_no_file(captions: Path) -> None:
    with pytest.raises(ZooError, match="model is gone"):
        main(
            [
                "extract",
                str(captions),
                "--out",
                str(captions.parent / "units.jsonl"),
                "--extractor",
                f"{__name__}.Broken",
            ]
        )
    assert os.listdir(captions.parent) == ["captions.token"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--splits", "val"], "has no split 'val': it has none"),
        (["--extractor", "RuleExtracter"], "RuleExtracter (did you mean RuleExtractor"),
        (["--extractor", "rule"], "rule (it is zoo.units.RuleExtractor)"),
        (["--extractor", "zoo.errors.ZooError"], "does not correspond to a subclass of UnitExtr"),
        (["--extractor", "zoo.units.UnitExtractor"], "zoo.units.UnitExtractor is abstract"),
        (["--extractor.sead", "3"], "zoo.units.RuleExtractor takes no 'sead' (did you mean seed?)"),
        (["--extractor", f"{__name__}.Top", "--extractor.top", "-1"], "top: -1 is not a whole"),
        (["--extractor", f"{__name__}.Whole", "--seed", "3"], "--extractor Whole takes no seed"),
        (["--tagger", "other"], "tagger: there is no class other"),
        (["--extractor.tagger", "other"], "extractor.tagger: there is no class other"),
        (["--reader", "CsvTabel"], "CsvTabel (did you mean CsvTable"),
        (
            ["--reader", "CsvTable", "--reader.colum", "x"],
            "takes no 'colum' (did you mean ima",
        ),
        (["--reader", "json.loads"], "Expected 'json.loads' to be a function that returns Reader"),
    ],
)
def test_a_wrong_option_is_named(captions: Path, options: list[str], complaint: str) -> None:
    out = str(captions.parent / "u.jsonl")
    assert complaint in said(["units", "extract", str(captions), "--out", out, *options]).sentence
    assert os.listdir(captions.parent) == ["captions.token"]


def test_an_extractor_takes_arguments_of_its_own_and_help_shows_them(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, own = captions.parent / "u.jsonl", f"{__name__}.Top"
    taken = {}
    for top in (1, 3):
        flags = ["--extractor", own, "--extractor.top", str(top), "--overwrite"]
        main(["extract", str(captions), "--out", str(out), *flags])
        taken[top] = [entity.text for entity in list(read_units(out).values())[1].entities]
    assert taken == {1: ["Two"], 3: ["Two", "dogs", "on"]}
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["extract", "--extractor.help", own])
    assert stop.value.code == 0
    assert "How many words are taken. (default: 2)" in " ".join(capsys.readouterr().out.split())


def test_a_tagger_may_be_given_to_the_command_or_to_the_extractor(captions: Path) -> None:
    made = {}
    for flag in ("--tagger", "--extractor.tagger"):
        out = captions.parent / f"{flag}.jsonl"
        own = [flag, f"{__name__}.Nouns", f"{flag}.word", "dogs"]
        main(["extract", str(captions), "--out", str(out), *own])
        made[flag] = list(read_units(out).values())
        tagged = {(r.source["tagger"], r.source["tagger_version"]) for r in made[flag]}
        assert tagged == {("nouns", "dogs")}
    assert made["--tagger"] == made["--extractor.tagger"]


def test_a_reader_is_named_with_its_arguments(captions: Path) -> None:
    table, out = captions.parent / "t.txt", captions.parent / "u.jsonl"
    table.write_text("picture;says;also\na.png;A dog;A cat\n")
    own = ["--reader.separator", ";", "--reader.image_column", "picture"]
    whole = ["--extractor", f"{__name__}.Whole", "--overwrite"]
    for column, caption in (("says", "A dog"), ("also", "A cat")):
        reader = ["--reader", "CsvTable", *own, "--reader.caption_column", column]
        main(["extract", str(table), "--out", str(out), *reader, *whole])
        assert [record.caption for record in read_units(out).values()] == [caption]
    main(["extract", str(table), "--out", str(out), "--reader", f"{__name__}.Twice", *whole])
    assert len(read_units(out)) == 2


class Gives(UnitExtractor):
    """Gives what it is told to."""

    name = "gives"

    def __init__(self, what: str) -> None:
        self.what = what

    def extract(self, caption: str, caption_id: str, image_id: str) -> UnitRecord:
        record = UnitRecord(caption_id, image_id, caption)
        return {  # type: ignore[return-value]
            "none": None,
            "dict": {"caption": caption},
            "other id": replace(record, caption_id="7"),
        }.get(self.what, record)

    def extract_all(self, captions: Iterable[CaptionRow], progress: Any = None) -> Any:
        records = list(super().extract_all(captions, progress))
        return {"fewer": records[1:], "more": [*records, records[0]]}.get(self.what, records)


@pytest.mark.parametrize("what", ["none", "dict", "other id", "fewer", "more"])
def test_an_extractor_that_gives_no_record_a_caption_is_told_so(captions: Path, what: str) -> None:
    out = str(captions.parent / "u.jsonl")
    own = ["--extractor", f"{__name__}.Gives", "--extractor.what", what]
    sentence = said(["units", "extract", str(captions), "--out", out, *own]).sentence
    assert sentence.startswith("zoo: Gives yielded ")
    assert "one zoo.units.UnitRecord per caption, in order and with its caption_id" in sentence
    assert os.listdir(captions.parent) == ["captions.token"]


@pytest.mark.parametrize("command", ["units extract", "negatives export", "negatives build"])
def test_a_reader_that_gives_no_samples_is_told_so(captions: Path, command: str) -> None:
    out = str(captions.parent / "u.jsonl")
    for what, shown in (("lines", "'1000268201.jpg#0"), ("none", "None")):
        own = ["--reader", f"{__name__}.NoReader", "--reader.what", what]
        sentence = said([*command.split(), str(captions), "--out", out, *own]).sentence
        assert f"NoReader.samples() returned {shown}" in sentence
        assert "must yield one zoo.sources.Sample" in sentence


def test_show_prints_units_beside_their_foils(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = captions.parent / "units.jsonl"
    main(["extract", str(captions), "--out", str(out), "--tagger", "TextBlobTagger"])
    capsys.readouterr()
    assert main(["show", str(out), "--n", "3"]) == 0
    printed = capsys.readouterr().out
    assert "man riding horse" in printed.replace("brown ", "")
    assert "3 of 3 records" in printed


def test_a_caption_id_that_comes_twice_is_named_before_anything_is_written(tmp_path: Path) -> None:
    lines = [f'{{"image": "{i}.jpg", "caption": "a dog", "caption_id": "7"}}' for i in (1, 2)]
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    with pytest.raises(ZooError, match=r"c\.jsonl:2 and .*c\.jsonl:1 have the same caption id '7'"):
        main(["extract", str(tmp_path / "c.jsonl"), "--out", str(tmp_path / "u.jsonl")])
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]


def test_a_language_model_is_named_with_arguments_of_its_own_and_asked_again_on_demand(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = captions.parent / "units.jsonl"
    with FakeServer().running() as server:
        server.unanswerable = "Two dogs"
        arguments = ["extract", str(captions), "--out", str(out), "--seed", "5"]
        arguments += ["--extractor", "OpenAICompatible", "--extractor.model", "fake"]
        arguments += ["--extractor.base_url", server.url]
        assert main(arguments) == 0
        records = list(read_units(out).values())
        assert [bool(record.entities) for record in records] == [True, False, False]
        assert "malformed" in str(records[1].source["error"])
        assert {record.source["seed"] for record in records} == {5}
        printed = capsys.readouterr().out
        assert re.search(r"captions with an error +│ +1 ", printed)
        assert "extractor openai_compatible, model fake" in printed
        assert (captions.parent / "units.jsonl.journal").is_file()
        server.unanswerable = None
        assert main([*arguments, "--overwrite", "--extractor.retry_failed", "true"]) == 0
    assert [bool(r.entities) for r in read_units(out).values()] == [True, True, False]
    assert "with an error" not in capsys.readouterr().out


def test_units_of_other_settings_are_not_mixed_with_those_kept(captions: Path) -> None:
    out = captions.parent / "units.jsonl"
    arguments = ["extract", str(captions), "--out", str(out), "--overwrite"]
    arguments += ["--extractor", "OpenAICompatible"]
    with FakeServer().running() as server:
        arguments += ["--extractor.base_url", server.url]
        assert main(arguments) == 0
        with pytest.raises(ZooError, match=r"were given with temperature 0.3, not 0.9"):
            main([*arguments, "--extractor.temperature", "0.9"])


@pytest.fixture
def by_both(captions: Path) -> tuple[Path, Path]:
    """Units of the captions by rule, and by a language model in Parquet."""
    rule, model = captions.parent / "rule.jsonl", captions.parent / "model.parquet"
    main(["extract", str(captions), "--out", str(rule), "--tagger", "TextBlobTagger"])
    with FakeServer().running() as server:
        asked = ["--extractor", "OpenAICompatible", "--extractor.base_url", server.url]
        main(["extract", str(captions), "--out", str(model), *asked])
    return rule, model


def test_report_prints_counts_drops_and_what_two_files_share(
    by_both: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    rule, model = by_both
    capsys.readouterr()
    assert main(["report", str(rule), "--n", "2"]) == 0
    alone = capsys.readouterr().out
    assert re.search(r"captions with entities +│ 2 \(66.7%\)", alone)
    assert "rule.jsonl: extractor rule, seed 0" in alone
    assert "2 of 3 records" in alone
    page = rule.parent / "page.html"
    assert main(["report", str(rule), str(model), "--out", str(page)]) == 0
    both = capsys.readouterr().out
    assert re.search(r"dropped: ungrounded_entity +│ 0 +│ 1 ", both)
    assert re.search(r"entities +│ \d+ \(\d+\.\d%\) +│", both)
    assert "3 captions are in both, 0 only in rule.jsonl and 0 only in model.parquet" in both
    assert "are not known" not in both
    assert page.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("by", [0, 1], ids=["rule", "language model"])
def test_units_of_either_extractor_are_audited(
    by_both: tuple[Path, Path], by: int, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = by_both[0].parent / "sheet.csv"
    assert main(["audit", str(by_both[by]), "--out", str(sheet), "--n", "2"]) == 0
    rows = sheet.read_text().splitlines()
    assert len(rows) == 3
    records = read_units(by_both[by])
    for row in csv.DictReader(rows):
        record = records[row["caption_id"]]
        units = {u.text: {f.text for f in u.foils} for u in (*record.entities, *record.relations)}
        assert row["foil"] in units[row["unit"]]
    judged = [rows[0], *(re.sub(",,,$", ",ok,broken,", row) for row in rows[1:])]
    sheet.write_text("\n".join(judged))
    capsys.readouterr()
    assert main(["audit", str(sheet)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"broken +│ 2 foils +│ 2 +│ 100.0%", printed)
    assert "2 of 2 judged" in printed


def test_report_of_other_captions_or_without_images_is_refused_in_a_sentence(
    by_both: tuple[Path, Path], tmp_path: Path
) -> None:
    rule, _ = by_both
    other = tmp_path / "other.jsonl"
    other.write_text(rule.read_text().replace(".jpg#", ".jpeg#"))
    alone = said(["units", "report", str(rule), str(other)]).sentence
    assert "have no caption in common (of 3 and 3 caption ids)" in alone
    page = str(tmp_path / "page.html")
    asked = ["units", "report", str(rule), "--out", page, "--data_root", str(tmp_path)]
    assert "no image of the 3 captions on the page was found under" in said(asked).sentence
    assert not Path(page).exists()


def test_a_page_of_units_has_no_images_outside_of_its_folders(
    by_both: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "units").mkdir()
    units, page = tmp_path / "units" / "units.jsonl", tmp_path / "page.html"
    image = tmp_path / "images" / "secret.png"
    Image.new("RGB", (8, 8)).save(image)
    records = [json.loads(line) for line in by_both[0].read_text().splitlines()]
    written = [{**record, "image_id": f"file:{image}"} for record in records if "caption" in record]
    units.write_text("".join(f"{json.dumps(record)}\n" for record in written))
    asked = ["units", "report", str(units), "--out", str(page), "--overwrite"]
    assert said(asked).status == 0
    assert "data:image/jpeg" not in page.read_text("utf-8")
    assert said([*asked, "--data_root", str(image.parent)]).status == 0
    assert "data:image/jpeg" in page.read_text("utf-8")


def test_counts_of_captions_are_written_and_taken(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts, out = captions.parent / "counts.txt", captions.parent / "u.jsonl"
    assert main(["count", str(captions), "--out", str(counts)]) == 0
    assert "counts of 3 captions" in capsys.readouterr().out
    assert counts.read_text().startswith("heads: ")
    main(["extract", str(captions), "--out", str(out), "--extractor.counts", str(counts)])
    (digest,) = {record.source["counts"] for record in read_units(out).values()}
    assert digest == read_counts(counts).digest
    assert not (captions.parent / "u.jsonl.words").exists()


def test_many_captions_are_counted_before_their_units_are_extracted(
    captions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.cli.units.MIN_CAPTIONS", 3)
    out = captions.parent / "u.jsonl"
    main(["extract", str(captions), "--out", str(out)])
    (digest,) = {record.source["counts"] for record in read_units(out).values()}
    assert digest == read_counts(captions.parent / "u.jsonl.words").digest


def test_the_report_has_a_blind_score_by_condition(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = captions.parent / "u.jsonl"
    main(["extract", str(captions), "--out", str(out)])
    capsys.readouterr()
    assert main(["report", str(out)]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\+Obj +│ +[\d.]+% \(", printed)
    assert "50 % is chance" in printed
