"""`zoo negatives` from the command line."""

import json
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest

from tests.support.mistakes import said
from zoo.cli import main
from zoo.language.textblob_tagger import TextBlobTagger
from zoo.negatives.base import NegativeGenerator
from zoo.negatives.replay import Replay
from zoo.units.record import UnitRecord

CAPTIONS = ["A man in a red hat rides a horse.", "Two dogs chase three cats.", "A dog."]


class Echo(NegativeGenerator):
    """What no generator may do: gives the caption back, in capitals."""

    name: ClassVar[str] = "echo"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        return caption.upper()


class Constant(NegativeGenerator):
    name: ClassVar[str] = "constant"

    def negative(self, caption: str, rng: Random, record: UnitRecord | None = None) -> str | None:
        return "a dog"


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    file = tmp_path / "captions.txt"
    file.write_text("\n".join(CAPTIONS) + "\n", "utf-8")
    return file


def exported(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_preview_prints_captions_negatives_and_rates(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["negatives", "preview", str(captions), "--tagger", "TextBlobTagger"]) == 0
    out = capsys.readouterr().out
    assert "Two cats chase three dogs." in out
    assert "none" in out
    assert "generator negclip_swap, tagger textblob" in out
    assert "yield        66.7%  2 of 3 captions have a negative" in out
    assert "identity      0.0%  0 of 2" in out


def test_preview_counts_what_a_bad_generator_does(
    captions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["negatives", "preview", str(captions), "--generator", f"{__name__}.Echo"]) == 0
    assert "identity    100.0%  3 of 3" in capsys.readouterr().out
    assert main(["negatives", "preview", str(captions), "--generator", f"{__name__}.Constant"]) == 0
    out = capsys.readouterr().out
    assert "duplicates   66.7%  2 of 3" in out
    assert "captions      0.0%" in out


def test_negatives_that_are_other_captions_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "captions.txt"
    file.write_text("A dog chases a man\na man chases a  dog\n", "utf-8")
    assert main(["negatives", "preview", str(file), "--tagger", "TextBlobTagger"]) == 0
    assert "captions    100.0%  2 of 2" in capsys.readouterr().out


def test_negatives_that_name_the_members_of_a_list_in_another_order_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "captions.txt"
    file.write_text("A black and white dog\nA black dog on a white car\n", "utf-8")
    assert main(["negatives", "preview", str(file), "--generator", "SwapOrFoil"]) == 0
    assert "reordered    50.0%  1 of 2" in capsys.readouterr().out


def test_export_writes_every_caption_and_replay_reads_it(
    captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "negatives.jsonl"
    assert (
        main(
            [
                "negatives",
                "export",
                str(captions),
                "--out",
                str(out),
                "--generator",
                "AROShuffle",
                "--tagger",
                "TextBlobTagger",
            ]
        )
        == 0
    )
    assert "3 negatives of 3 captions" in capsys.readouterr().out
    lines = exported(out)
    assert [entry["caption"] for entry in lines] == CAPTIONS
    assert {entry["generator"] for entry in lines} == {"aro_shuffle"}
    assert {entry["tagger"] for entry in lines} == {"textblob"}
    replay = Replay(out)
    replay.check(CAPTIONS)
    assert [replay.negative(caption, Random(0)) for caption in CAPTIONS] == [
        entry["negative"] for entry in lines
    ]


def test_the_seed_decides(captions: Path, tmp_path: Path) -> None:
    def made(seed: int) -> list[Any]:
        out = tmp_path / f"{seed}.jsonl"
        arguments = [
            "--generator",
            "AROShuffle",
            "--tagger",
            "TextBlobTagger",
            "--seed",
            str(seed),
            "--overwrite",
        ]
        assert main(["negatives", "export", str(captions), "--out", str(out), *arguments]) == 0
        return [entry["negative"] for entry in exported(out)]

    assert made(1) == made(1)
    assert any(made(1) != made(seed) for seed in (2, 3))


def test_what_the_command_makes_is_what_training_makes_in_its_first_epoch(
    captions: Path, tmp_path: Path
) -> None:
    from zoo.datamodules.texts import CaptionTexts
    from zoo.negatives.aro import AROShuffle
    from zoo.sources.readers.guess import guess_reader

    out = tmp_path / "n.jsonl"
    main(
        [
            "negatives",
            "export",
            str(captions),
            "--out",
            str(out),
            "--generator",
            "AROShuffle",
            "--tagger",
            "TextBlobTagger",
            "--seed",
            "7",
        ]
    )
    texts = CaptionTexts(7, [AROShuffle(tagger=TextBlobTagger())])
    samples = guess_reader(captions).read()
    assert [texts.negatives(sample, 0, i)[0] for i, sample in enumerate(samples)] == [
        entry["negative"] for entry in exported(out)
    ]


def test_entity_foils_come_from_a_units_file(captions: Path, tmp_path: Path) -> None:
    units, out = tmp_path / "units.jsonl", tmp_path / "negatives.jsonl"
    entity = {"text": "red hat", "foils": [{"text": "old hat", "edit": "attribute_change"}]}
    record = {
        "caption_id": "1",
        "image_id": "1",
        "caption": CAPTIONS[0],
        "entities": [entity],
        "relations": [],
        "source": {},
    }
    units.write_text(json.dumps(record) + "\n", "utf-8")
    arguments = [
        "negatives",
        "export",
        str(captions),
        "--out",
        str(out),
        "--generator",
        "EntityFoilInPlace",
    ]
    assert main([*arguments, "--units", str(units)]) == 0
    assert [entry["negative"] for entry in exported(out)] == [
        "A man in an old hat rides a horse.",
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["preview", "absent.txt"], "absent.txt cannot be read"),
        (
            ["preview", "CAPTIONS", "--generator", "NegCLIPSwop"],
            "generator: there is no class NegCLIPSwop (did you mean NegCLIPSwap",
        ),
        (["preview", "CAPTIONS", "--generator", "EntityFoilInPlace"], "give one with --units"),
        (
            ["preview", "CAPTIONS", "--generator", "Replay"],
            "Replay: the following arguments are required: file",
        ),
        (
            ["preview", "CAPTIONS", "--generator", "json.JSONDecoder"],
            "a subclass of NegativeGenerator",
        ),
        (
            ["preview", "CAPTIONS", "--generator", "no.such.Thing"],
            "no.such.Thing: No module named 'no'",
        ),
        (
            ["preview", "CAPTIONS", "--tagger", "nltk"],
            "tagger: there is no class nltk",
        ),
        (
            ["preview", "CAPTIONS", "--generator", "BigramShuffle", "--tagger", "TextBlobTagger"],
            "--generator BigramShuffle takes no tagger: remove --tagger",
        ),
        (
            ["export", "CAPTIONS", "--out", "CAPTIONS/x.jsonl"],
            "Not a directory): choose another path",
        ),
    ],
)
def test_mistakes_are_one_sentence(captions: Path, arguments: list[str], message: str) -> None:
    filled = [argument.replace("CAPTIONS", str(captions)) for argument in arguments]
    assert message in said(["negatives", *filled]).sentence


def test_a_failed_export_leaves_what_was_there(
    captions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "negatives.jsonl"
    out.write_text("before\n", "utf-8")
    made = iter([None])

    def fails(*_: object) -> str | None:
        for value in made:
            return value
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Constant, "negative", fails)
    assert (
        main(
            [
                "negatives",
                "export",
                str(captions),
                "--out",
                str(out),
                "--generator",
                f"{__name__}.Constant",
            ]
        )
        == 1
    )
    assert out.read_text("utf-8") == "before\n"
    assert {path.name for path in tmp_path.iterdir()} == {"captions.txt", "negatives.jsonl"}


def test_units_of_other_captions_are_refused(
    captions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for caption_id, caption, message in (
        ("1", "Another.", "the text of caption '1' differs"),
        ("x", "A dog.", "no units of these captions"),
    ):
        units = tmp_path / "units.jsonl"
        units.write_text(
            json.dumps(
                {
                    "caption_id": caption_id,
                    "image_id": "1",
                    "caption": caption,
                    "entities": [],
                    "relations": [],
                }
            )
            + "\n"
        )
        assert (
            main(
                [
                    "negatives",
                    "preview",
                    str(captions),
                    "--units",
                    str(units),
                    "--tagger",
                    "TextBlobTagger",
                ]
            )
            == 1
        )
        assert message in capsys.readouterr().err
