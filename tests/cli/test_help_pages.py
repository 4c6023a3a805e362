"""Help: a page a command, and a text for every argument of whatever class can be named."""

import importlib
from pathlib import Path

import pytest

from tests.support.runs import losses
from zoo.cli import main
from zoo.cli.fit import parse_settings
from zoo.cli.flags import FLAGS
from zoo.cli.help_pages import EXAMPLES, class_arguments
from zoo.errors import ZooError
from zoo.support.class_names import BASE_CLASS_BY_KIND, list_classes

DATA = ("--data", "EvaluationDataModule", "--data.benchmarks", "[aro]")
NAMED = [
    (room, path)
    for room in BASE_CLASS_BY_KIND
    for _, path, _ in list_classes(room)
    if path.startswith("zoo.")
]


@pytest.mark.parametrize(("room", "path"), NAMED)
def test_every_argument_of_a_class_that_can_be_named_has_a_text(room: str, path: str) -> None:
    module, _, name = path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    assert [argument for argument, _, text in class_arguments(cls) if not text] == []


@pytest.mark.parametrize(
    "path",
    [
        "zoo.backbones.Backbone",
        "zoo.backbones.Augmentation",
        "zoo.backbones.Compute",
        "zoo.backbones.LoRA",
        "zoo.backbones.TextInput",
        "zoo.backbones.Tuning",
        "zoo.module.ZooModule",
        "zoo.optim.Optimization",
        "zoo.evaluation.Evaluation",
        "zoo.units.UnitSampler",
        "zoo.units.RuleExtractor",
    ],
)
def test_every_argument_of_a_part_of_a_recipe_has_a_text(path: str) -> None:
    module, _, name = path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    assert [argument for argument, _, text in class_arguments(cls) if not text] == []


@pytest.mark.parametrize("command", ["fit", "validate"])
def test_help_is_one_page_with_the_flags_that_people_use_and_five_examples(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    page = capsys.readouterr().out
    assert page.count("\n") <= 60
    for flag in FLAGS:
        assert (f"--{flag.name} " in page) == (command in flag.commands)
    examples = [line for line in page.split("\n") if line.startswith("  zoo ") and " # " in line]
    assert len(examples) == 5
    assert f"zoo {command} --help all" in page


def test_the_help_of_a_class_names_default_and_text_of_its_arguments(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["fit", "--objective", "CSCLIP", "--help"]) == 0
    page = capsys.readouterr().out
    assert "--objective.lambda_u" in page
    assert "Weight of the unit loss" in page
    assert main(["fit", "--objective", "CSCLP", "--help"]) == 1
    assert "did you mean CSCLIP" in capsys.readouterr().err


def test_the_help_of_benchmarks_and_presets_is_that_of_their_classes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = ["--benchmarks", "pairs:a.csv,aro", "--presets", "strict"]
    assert main(["validate", *named, "--help"]) == 0
    page = capsys.readouterr().out
    assert "--benchmarks.separator" in page
    assert "--benchmarks aro: " in page
    assert "--presets strict: Counts every tie as wrong" in page


def test_the_help_of_published_weights_is_that_of_their_class_and_a_tag_has_none(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["fit", "--model.backbone.pretrained", "CLoVe", "--help"]) == 0
    page = capsys.readouterr().out
    assert "--model.backbone.pretrained.path" in page
    assert "--model.backbone.pretrained.base" in page
    assert main(["fit", "--model.backbone.pretrained", "openai", "--help"]) == 0
    assert "examples:" in capsys.readouterr().out


def test_short_flags_lie_over_the_recipes_and_below_whole_flags(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "model: {objective: {class_path: CLIP}, optimizer: {lr: 1.0, weight_decay: 0.3}}\n"
        "trainer: {max_epochs: 1, devices: 1}\n"
    )
    settings = parse_settings(
        [
            *("fit", "--lr", "0.1", "--objective.foils", "false", "--model.optimizer.eps", "1e-5"),
            *("--trainer.devices", "3", "--objective", "CSCLIP", "--data_root", "DATA_ROOT"),
            *("--config", "clip.yaml", "--config", str(tmp_path / "a.yaml")),
            *("--ckpt_path", "last", "--devices", "2", "--epochs=5"),
        ]
    )
    assert settings.model.objective.class_path == "zoo.objectives.CSCLIP"
    assert settings.model.objective.init_args.foils is False
    assert (settings.model.optimizer.lr, settings.model.optimizer.weight_decay) == (0.1, 0.3)
    assert settings.model.optimizer.eps == 1e-5
    assert (settings.trainer.devices, settings.trainer.max_epochs) == ("3", 5)
    assert settings.ckpt_path == "last"


def test_a_recipe_lies_over_one_before_it_and_each_over_that_of_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = {
        "hyper_parameters": {"optimizer": {"lr": 1.0, "weight_decay": 0.5, "betas": [0.5, 0.6]}}
    }
    read |= {"optimizer_states": []}
    monkeypatch.setattr("zoo.cli.parser.read_checkpoint", lambda path: read)
    for name, settings in (("a", "lr: 2.0, weight_decay: 0.4"), ("b", "lr: 3.0")):
        (tmp_path / f"{name}.yaml").write_text(f"model: {{optimizer: {{{settings}}}}}\n")
    monkeypatch.chdir(tmp_path)
    command = ["fit", "--config", "a.yaml", "--ckpt_path", "x.ckpt", "--config=b.yaml"]
    settings = parse_settings([*command, "--model.backbone.name", "zoo-tiny", *DATA])
    optimizer = settings.model.optimizer
    assert (optimizer.lr, optimizer.weight_decay, optimizer.betas) == (3.0, 0.4, (0.5, 0.6))


@pytest.mark.parametrize(
    ("command", "line"),
    [
        pytest.param(command, line, marks=() if i == 0 else pytest.mark.slow)
        for command in EXAMPLES
        for i, (_, line) in enumerate(EXAMPLES[command])
    ],
)
def test_every_example_of_the_help_is_understood(command: str, line: str) -> None:
    arguments = line.split()
    if command == "validate" and "--ckpt_path" in arguments:  # a run, which is not there
        at = arguments.index("--ckpt_path")
        arguments[at : at + 2] = ["--model.backbone.name", "zoo-tiny"]
    settings = parse_settings([command, *arguments])
    assert settings.data.init_args


@pytest.mark.parametrize(
    ("given", "kept"),
    [("2", 2), ("auto", "auto"), ("[", "["), ("2026-11-22", "2026-11-22"), ("0,1", "0,1")],
)
def test_devices_are_a_count_or_left_to_the_trainer_to_judge(given: str, kept: int | str) -> None:
    recipe = ["--config", "clip.yaml", "--data_root", "DATA_ROOT"]
    settings = parse_settings(["fit", *recipe, "--devices", given])
    assert settings.trainer.devices == kept


@pytest.mark.parametrize(
    "given", [["--devices", "["], ["--lr", "nan"], ["--lr", "-1"], ["--epochs", "0"]]
)
def test_a_short_flag_that_cannot_be_is_one_sentence(
    given: list[str], made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["fit", "--config", str(made_root / "recipe.yaml"), *given])
    except SystemExit as stop:
        status = stop.code
    lines = capsys.readouterr().err.splitlines()
    errors = [line for line in lines if not line.startswith("default tagger: ")]  # logged once
    assert status in (1, 2)
    assert len(errors) == 1
    assert errors[0].startswith("zoo: ")
    assert given[0].strip("-") in errors[0]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["fit", "clip.yaml"], "`zoo fit --config clip.yaml`"),
        (["fit", "cs_clip"], "`zoo fit --config cs_clip`"),
        (["validate", "sugarcrepe"], "`zoo validate --benchmarks sugarcrepe`"),
        (["fit", "--out", "x"], "--out requires --benchmarks.*or set --data.evaluation.out$"),
        (["validate", "--out", "x"], "--out requires --benchmarks.*or set --data.out$"),
    ],
)
def test_what_was_probably_meant_is_said(given: list[str], meant: str) -> None:
    with pytest.raises(ZooError, match=meant):
        parse_settings(given)


def test_a_misspelt_short_flag_gets_the_near_ones(
    made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "--config", str(made_root / "recipe.yaml"), "--batchsize", "2"])
    assert "did you mean batch_size" in capsys.readouterr().err


@pytest.mark.slow
def test_fit_measures_benchmarks_at_its_validations(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--benchmarks", f"pairs:{made_root / 'pairs.csv'}", "--epochs", "1"]
    assert main(["fit", "--config", str(made_root / "recipe.yaml"), *asked]) == 0
    assert losses(tmp_path, column="benchmark/pairs/colours/i2t")
