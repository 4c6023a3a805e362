"""Values that were accepted silently, or refused without a name: one sentence for each."""

from pathlib import Path

import pytest

from tests.cli.test_bad_input import fit
from tests.support.made import make_root
from tests.support.mistakes import said
from zoo.cli.fit import parse_settings


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made data root with a file of captions, and a SugarCrepe without an entry."""
    root = make_root(tmp_path_factory.mktemp("refused"))
    (root / "sugarcrepe").mkdir()
    (root / "sugarcrepe" / "swap_obj.json").write_text("{}")
    (root / "null.yaml").write_text("data:\n  init_args:\n    batch_size: null\n")
    return root


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("compare =m1 m2", "=m1 has nothing before the =: write NAME=FOLDER"),
        ("compare a= b=m2", "a= has nothing after the =: write NAME=FOLDER"),
        (
            "compare m1 m2 --reference_models negclip,negclip",
            "--reference_models 'negclip,negclip': negclip is repeated",
        ),
        ("bindings captions.tsv --out t.json", "--out t.json must end in .csv: use t.csv"),
        (
            "halftruth build units.jsonl --out h.txt",
            "--out h.txt must end in .jsonl: use h.jsonl",
        ),
        (
            "data pack captions.tsv --out tars --side 8 --quality 101",
            "--quality: 101 is not a whole number from 1 to 95",
        ),
        ("data pack captions.tsv --out tars --quality 80", "--quality 80 has no effect without"),
        (
            "validate --benchmarks sugarcrepe:swap_obj --model.backbone.name zoo-tiny",
            "swap_obj.json is empty, but must contain an object of entries by key",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_in_a_sentence(
    command: str, sentence: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    assert sentence in said(command.split()).sentence
    assert not (root / "tars").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["report", "m1", "--out", ""],
        ["rescore", "m1", "--out="],
        ["bindings", "captions.tsv", "--out", ""],
        ["data", "pack", "captions.tsv", "--out", ""],
        ["validate", "--benchmarks", "sugarcrepe", "--out", ""],
    ],
)
def test_an_empty_path_is_not_the_working_folder(command: list[str]) -> None:
    assert "--out has an empty value: give a value, or remove the flag" in said(command).sentence


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (
            ["--seed_everything", "99999999999999"],
            "seed_everything: 99999999999999 is not a whole number from 0 to 4294967295",
        ),
        (
            ["--model.backbone.text.context_length", "100000000000"],
            "backbone.text.context_length is 100000000000: give a whole number from 3",
        ),
        (["--config", "null.yaml"], "batch_size=None): give a whole number from 1 up"),
    ],
)
def test_a_setting_out_of_its_range_is_named_with_what_is_allowed(
    flags: list[str], sentence: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    assert sentence in said(fit(root, *flags)).sentence


def test_benchmarks_take_names_with_signs_of_all_scripts() -> None:
    names = ["pairs:a 🐕.csv", "zero_shot_folder:ü 🐕"]
    command = ["validate", "--benchmarks", ",".join(names), "--data_root", "d 🐕"]
    settings = parse_settings([*command, "--model.backbone.name", "zoo-tiny"])
    assert settings.data.init_args.benchmarks == names
    assert settings.data.init_args.data_root == ["d 🐕"]
