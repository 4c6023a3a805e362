"""`zoo units` from the command line's side."""

import os
from pathlib import Path
from typing import Any

import pytest

from zoo.cli.units import main
from zoo.errors import ZooError
from zoo.sources.readers.guess import guess_reader
from zoo.units.extract import UnitExtractor
from zoo.units.reader import read_units
from zoo.units.record import Entity, UnitRecord
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
        main(["extract", str(captions), "--out", str(out), "--tagger", "textblob", "--seed", "5"])
        == 0
    )
    records = read_units(out)
    samples = guess_reader(captions).samples()
    assert [(r.caption_id, r.image_id, r.caption) for r in records.values()] == [
        (s.caption_id, s.image_id, s.caption) for s in samples
    ]
    assert {r.source["seed"] for r in records.values()} == {5}
    printed = capsys.readouterr().out
    assert "66.7%" in printed
    assert "predicate_change" in printed
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
        (["--extractor", "rul"], "no extractor 'rul' \\(near: rule\\)"),
        (["--extractor", "zoo.errors.ZooError"], "is no UnitExtractor"),
        (["--tagger", "other"], "'other'"),
    ],
)
def test_a_wrong_option_is_named(captions: Path, options: list[Any], complaint: str) -> None:
    with pytest.raises(ZooError, match=complaint):
        main(["extract", str(captions), "--out", str(captions.parent / "u.jsonl"), *options])


def test_show_prints_units_beside_their_foils(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = captions.parent / "units.jsonl"
    main(["extract", str(captions), "--out", str(out), "--tagger", "textblob"])
    capsys.readouterr()
    assert main(["show", str(out), "--n", "3"]) == 0
    printed = capsys.readouterr().out
    assert "man leading horse" in printed.replace("brown ", "")
    assert "3 of 3 records" in printed


def test_a_caption_id_that_comes_twice_is_named_before_anything_is_written(tmp_path: Path) -> None:
    lines = [f'{{"image": "{i}.jpg", "caption": "a dog", "caption_id": "7"}}' for i in (1, 2)]
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    with pytest.raises(ZooError, match=r"c\.jsonl:2 has caption id '7', and so has .*c\.jsonl:1"):
        main(["extract", str(tmp_path / "c.jsonl"), "--out", str(tmp_path / "u.jsonl")])
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]
