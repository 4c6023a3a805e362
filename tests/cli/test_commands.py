"""The command line, run as a user runs it."""

import csv
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from lightning import LightningDataModule
from PIL import Image

import zoo
from tests.support.mistakes import said
from zoo.backbones.published.base import PublishedWeights
from zoo.benchmarks.base import Benchmark
from zoo.benchmarks.protocols.base import Protocol
from zoo.caption_data import BenchmarkedData
from zoo.cli import main
from zoo.cli.commands import OTHER_NAMES
from zoo.cli.early_checks import OTHER_FLAGS
from zoo.cli.flags import FLAGS
from zoo.cli.ls import BY_NAME
from zoo.cli.recipes import shipped_recipes
from zoo.cli.registry import COMMANDS
from zoo.heads.base import Head
from zoo.language.tagger import Tagger
from zoo.negatives.base import NegativeGenerator
from zoo.objectives.base import Objective
from zoo.positives import PositiveGenerator
from zoo.regions_and_phrases.base import Segments, Views
from zoo.results.presets.preset import Preset
from zoo.sources.readers.base import Reader
from zoo.support.class_names import BASE_CLASS_BY_KIND, list_classes
from zoo.support.configurable import class_path
from zoo.units.extractor import UnitExtractor


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def trained(made_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the made recipe was trained."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["fit", "--config", str(made_root / "recipe.yaml")]) == 0
    return folder


@pytest.fixture(scope="module")
def customized(made_root: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a run of a custom objective without validation, and what was logged."""
    folder = tmp_path_factory.mktemp("customized")
    (folder / "my_lab_margin.py").write_text(MARGIN)
    recipe = yaml.safe_load((made_root / "recipe.yaml").read_text())
    recipe["data"]["init_args"] |= {"val": None, "val_share": None, "val_images": None}
    (folder / "alone.yaml").write_text(yaml.safe_dump(recipe))
    flags = ["--model.objective", "my_lab_margin.Margin", "--model.objective.margin", "0.5"]
    flags += ["--data.seed", "3", "--trainer.max_epochs", "1"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run = said(["fit", "--config", "alone.yaml", *flags])
    assert run.status == 0, run.err
    return folder, run.err


MARGIN = """
from zoo.objectives.base import Loss, Objective


class Margin(Objective):
    def __init__(self, margin: float = 0.2) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, batch, scores):
        block = scores.images_against(batch.captions)
        total = scores.mean(block.cross_entropy(scores.rows), scores.rows) + self.margin
        return Loss(total, {"margin": total})
"""


def checkpoint(folder: Path) -> Path:
    return folder / "runs" / "version_0" / "checkpoints" / "last.ckpt"


def losses(folder: Path, version: int = 0, column: str = "train/loss") -> dict[int, float]:
    with (folder / "runs" / f"version_{version}" / "metrics.csv").open() as file:
        return {int(row["step"]): float(row[column]) for row in csv.DictReader(file) if row[column]}


def test_help_and_ls_answer_at_once_since_they_load_nothing_heavy() -> None:
    """Of other packages those alone are loaded that are quick to load, in milliseconds."""
    commands = [["--help"], ["ls"], ["ls", "objectives"], ["ls", "benchmarks"], ["ls", "configs"]]
    code = (
        "import sys; before = set(sys.modules); from zoo.cli import main; "
        f"assert not any(main(words) for words in {commands!r}); "
        "print(*{name.split('.')[0] for name in set(sys.modules) - before}, file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = {
        name
        for name in set(ended.stderr.split()) - set(sys.stdlib_module_names)
        if not name.startswith("_")
    }
    assert "zoo" in loaded
    assert loaded <= {
        "zoo",
        "lazy_loader",
        "rich",
        "jsonargparse",
        "typing_extensions",
        "typeshed_client",
        "yaml",
        "cython_runtime",
        "pygments",
    }


def test_ls_shows_what_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    for what, name in (
        ("objectives", "CSCLIP"),
        ("heads", "Cosine"),
        ("benchmarks", "sugarcrepe"),
        ("configs", "cs_clip.yaml"),
        ("readers", "KarpathyJson"),
    ):
        assert main(["ls", what]) == 0
        assert name in capsys.readouterr().out


@pytest.mark.parametrize("what", BASE_CLASS_BY_KIND)
def test_ls_shows_every_class_of_a_room_over_however_many_bases(what: str) -> None:
    for module in pkgutil.walk_packages(zoo.__path__, "zoo."):
        if module.name.startswith(
            (
                "zoo.objectives",
                "zoo.heads",
                "zoo.negatives",
                "zoo.positives",
                "zoo.datamodules",
                "zoo.benchmarks",
                "zoo.evaluation",
                "zoo.sources",
                "zoo.language",
                "zoo.units",
                "zoo.backbones",
                "zoo.results",
                "zoo.regions_and_phrases",
            )
        ):
            importlib.import_module(module.name)
    base = {
        "objectives": Objective,
        "heads": Head,
        "negatives": NegativeGenerator,
        "positives": PositiveGenerator,
        "readers": Reader,
        "datamodules": LightningDataModule,
        "benchmarks": Benchmark,
        "extractors": UnitExtractor,
        "taggers": Tagger,
        "published_weights": PublishedWeights,
        "protocols": Protocol,
        "presets": Preset,
        "views": Views,
        "segments": Segments,
    }[what]
    walked = {
        class_path(cls)
        for cls in descendants(base) - {BenchmarkedData}  # a base, which brings nothing itself
        if cls.__module__.startswith("zoo.")
        and not cls.__name__.startswith("_")
        and not inspect.isabstract(cls)
    }
    assert {path for _, path, _ in list_classes(what) if path.startswith("zoo.")} == walked
    rooms = {path.rpartition(".")[0] for path in walked}
    assert all(room.count(".") <= 2 for room in rooms), "a class is not shown by its room"


def descendants(base: type) -> set[type]:
    return {found for cls in base.__subclasses__() for found in (cls, *descendants(cls))}


def test_what_is_piped_breaks_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    for what in BASE_CLASS_BY_KIND:
        assert main(["ls", what]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 1 + len(list_classes(what))
        for line, (name, path, text) in zip(lines[1:], list_classes(what), strict=True):
            cls = path.removeprefix(
                path.rpartition(".")[0] + "." if path.startswith("zoo.") else ""
            )
            names = [name, cls] if what in BY_NAME else [cls]
            assert line.rstrip().split(maxsplit=len(names)) == [*names, text]


def test_an_unknown_command_gets_the_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validat"]) == 2
    assert "validate" in capsys.readouterr().err


def test_a_run_leaves_the_last_and_the_best_checkpoint_and_its_losses(trained: Path) -> None:
    assert sorted(p.name for p in checkpoint(trained).parent.iterdir()) == [
        "best.ckpt",
        "last.ckpt",
    ]
    assert len(losses(trained)) == 4  # two epochs of eight pictures, four a step
    assert all(value > 0 for value in losses(trained).values())


def test_a_checkpoint_loads_safely_and_names_its_recipe_and_its_data(
    trained: Path, made_root: Path
) -> None:
    content = torch.load(checkpoint(trained), weights_only=True)
    recipe = content["hyper_parameters"]
    assert recipe["objective"]["class_path"] == "zoo.objectives.CSCLIP"
    assert recipe["backbone"]["init_args"]["activation"] in ("gelu", "quickgelu")
    assert len(content["zoo"]["trained_images"]) == 8
    assert content["zoo"]["data"]["units"]["file"].endswith("units.jsonl")


def test_the_saved_recipe_of_a_run_is_as_it_was_given(trained: Path, made_root: Path) -> None:
    saved = (trained / "runs" / "version_0" / "config.yaml").read_text()
    assert "class_path: zoo.datamodules.captions.CaptionDataModule" in saved
    assert f"file: {made_root}/captions.tsv" in saved


def test_flags_win_over_what_a_checkpoint_recorded(
    trained: Path, folder: Path, made_root: Path
) -> None:
    """The recipe of the checkpoint lies below configs and flags."""
    flags = [
        "--model.objective.lambda_u",
        "0.9",
        "--model.optimizer.lr",
        "0.25",
        "--trainer.max_epochs",
        "3",
    ]
    assert (
        main(
            [
                "fit",
                "--config",
                str(made_root / "recipe.yaml"),
                "--ckpt_path",
                str(checkpoint(trained)),
                *flags,
            ]
        )
        == 0
    )
    content = torch.load(checkpoint(folder), weights_only=True)
    assert content["hyper_parameters"]["objective"]["init_args"]["lambda_u"] == 0.9
    assert content["hyper_parameters"]["optimizer"]["lr"] == 0.25
    assert {group["initial_lr"] for group in content["optimizer_states"][0]["param_groups"]} == {
        0.25
    }
    assert content["lr_schedulers"][0]["base_lrs"] == [0.25] * len(
        content["optimizer_states"][0]["param_groups"]
    )


def test_the_rates_in_force_are_logged(trained: Path) -> None:
    for part in ("image", "text", "head"):
        assert losses(trained, column=f"train/lr_{part}")[1] > 0


@pytest.mark.slow
def test_one_seed_on_the_command_line_seeds_weights_data_and_steps(
    folder: Path, made_root: Path
) -> None:
    for version, seed in enumerate(["7", "7", "8"]):
        assert (
            main(
                [
                    "fit",
                    "--config",
                    str(made_root / "recipe.yaml"),
                    "--trainer.max_epochs",
                    "1",
                    "--seed_everything",
                    seed,
                ]
            )
            == 0
        )
        settings = yaml.safe_load(
            (folder / "runs" / f"version_{version}" / "config.yaml").read_text()
        )
        assert settings["model"]["seed"] == settings["data"]["init_args"]["seed"] == int(seed)
    missing = [
        losses(folder, version, "train/accuracy") | losses(folder, version, "train/loss")
        for version in range(3)
    ]
    assert missing[0] == missing[1] != missing[2]


def test_a_seed_of_the_data_alone_is_kept(customized: tuple[Path, str]) -> None:
    folder, _ = customized
    settings = yaml.safe_load((folder / "runs" / "version_0" / "config.yaml").read_text())
    assert (settings["model"]["seed"], settings["data"]["init_args"]["seed"]) == (0, 3)


@pytest.mark.parametrize(
    ("flags", "named"),
    [(["--data.batch_size", "2"], "batch_size 4"), (["--data.seed", "5"], "seed 0")],
)
def test_a_run_is_not_resumed_in_another_order(
    flags: list[str],
    named: str,
    trained: Path,
    folder: Path,
    made_root: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = [
        "fit",
        "--config",
        str(made_root / "recipe.yaml"),
        "--ckpt_path",
        str(checkpoint(trained)),
        "--trainer.max_epochs",
        "3",
    ]
    assert main([*arguments, *flags]) == 1
    assert f"had {named}, and now it is" in capsys.readouterr().err


def test_resuming_with_another_objective_is_said(
    trained: Path, folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [
        "fit",
        "--config",
        str(made_root / "recipe.yaml"),
        "--ckpt_path",
        str(checkpoint(trained)),
        "--trainer.max_epochs",
        "3",
    ]
    assert main([*arguments, "--model.objective", "zoo.objectives.clip.CLIP"]) == 0
    log = capsys.readouterr().err
    assert "zoo.objectives.CSCLIP is resumed with zoo.objectives.CLIP" in log
    assert "CLIP does not use the units" in log


def test_an_optimiser_is_checked_before_anything_is_read(
    folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["fit", "--config", str(made_root / "recipe.yaml")]
    arguments += ["--model.backbone.pretrained", "missing.pt", "--model.optimizer.algorithm"]
    assert main([*arguments, "SGDD"]) == 1
    assert "class torch.optim.SGDD does not exist (did you mean SGD" in capsys.readouterr().err
    assert main([*arguments, "SGD", "--model.optimizer.arguments", "{momentum: 2, m: 1}"]) == 1
    assert "SGD takes no 'm'" in capsys.readouterr().err


def test_without_validation_captions_the_last_checkpoint_is_kept_alone(
    customized: tuple[Path, str],
) -> None:
    folder, log = customized
    assert [path.name for path in checkpoint(folder).parent.iterdir()] == ["last.ckpt"]
    assert "no validation captions" in log
    assert "version_0/checkpoints/last.ckpt" in log
    assert "version_0/metrics.csv" in log
    assert "frozen" in log


def test_print_config_round_trips(
    folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def printed(config: str) -> str:
        with pytest.raises(SystemExit, match="0"):
            main(["fit", "--config", config, "--print_config"])
        return capsys.readouterr().out

    first = printed(str(made_root / "recipe.yaml"))
    assert "zoo.objectives" in first
    (folder / "again.yaml").write_text(first)
    assert yaml.safe_load(printed("again.yaml")) == yaml.safe_load(first)


def test_a_third_party_objective_works_by_its_dotted_path(customized: tuple[Path, str]) -> None:
    content = torch.load(checkpoint(customized[0]), weights_only=True)
    recorded = content["hyper_parameters"]["objective"]
    assert recorded == {"class_path": "my_lab_margin.Margin", "init_args": {"margin": 0.5}}


def test_validate_says_which_checkpoint_it_measured_and_leaves_nothing_beside_its_results(
    trained: Path, folder: Path, made_root: Path, recwarn: pytest.WarningsRecorder
) -> None:
    asked = [
        "--benchmarks",
        f"pairs:{made_root / 'pairs.csv'}",
        "--ckpt_path",
        str(checkpoint(trained)),
        "--out",
        "measured",
    ]
    assert main(["validate", *asked, "--preset", "strict"]) == 0
    assert [path.name for path in folder.iterdir()] == ["measured"]
    assert not [str(w.message) for w in recwarn if "dirpath" in str(w.message)]
    content = json.loads((folder / "measured" / "results.json").read_text("utf-8"))
    assert content["model"]["checkpoint"] == str(checkpoint(trained))
    assert content["model"]["precision"] == "32-true"
    assert [p["preset"] for p in content["presets"]] == ["strict"]
    assert content["presets"][0]["metrics"][0]["trained_on"] > 0


def test_validate_reads_from_several_data_roots_and_fit_from_one(
    trained: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for root, name in (("a", "one"), ("b", "two")):
        (folder / root).mkdir()
        (folder / root / f"{name}.csv").write_text(
            f"image,caption,foil\n{name}.png,red,blue\n", encoding="utf-8"
        )
        Image.new("RGB", (32, 32), "red").save(folder / root / f"{name}.png")
    asked = [
        "--benchmarks",
        "pairs:one.csv,pairs:two.csv",
        "--ckpt_path",
        str(checkpoint(trained)),
        "--out",
        "measured",
    ]
    assert main(["validate", "--data_root", "a", "b", *asked]) == 0
    content = json.loads((folder / "measured" / "results.json").read_text("utf-8"))
    assert [(f["benchmark"], f["run"], f["n"]) for f in content["presets"][0]["metrics"]] == [
        ("pairs", "one.csv", 1),
        ("pairs", "two.csv", 1),
    ]
    (folder / "mine.yaml").write_text(
        "data: {class_path: EvaluationDataModule, init_args: {data_root: '${data_root}'}}",
        encoding="utf-8",
    )
    capsys.readouterr()
    for roots in (["a", "b"], ["a", "--data_root", "b"]):
        assert main(["validate", "--config", "mine.yaml", "--data_root", *roots]) == 1
        assert "mine.yaml takes one data root, but --data_root names 2" in capsys.readouterr().err


MISTAKES = {
    "two data roots for fit": (
        ["fit", "--data_root", "a", "--data_root", "b"],
        "--data_root is given as a and as b, but fit takes only one",
    ),
    "an unknown recipe": (["fit", "--config", "cs_clap.yaml"], "cs_clip.yaml"),
    "a recipe without a data root": (["fit", "--config", "cs_clip.yaml"], "--data_root"),
    "an unknown objective": (["fit", "--config", "RECIPE", "--model.objective", "CSCLP"], "CSCLIP"),
    "an unknown argument": (
        ["fit", "--config", "RECIPE", "--model.objective.lamda_u", "1"],
        "lamda_u",
    ),
    "a missing checkpoint": (
        ["fit", "--config", "RECIPE", "--ckpt_path", "nowhere.ckpt"],
        "nowhere.ckpt",
    ),
    "no checkpoint to resume": (
        ["fit", "--config", "RECIPE", "--ckpt_path", "last"],
        "no run of `zoo fit`",
    ),
    "a wrong checkpoint": (["fit", "--config", "RECIPE", "--ckpt_path", "RECIPE"], "recipe.yaml"),
    "an unknown benchmark": (
        ["validate", "--benchmarks", "sugarcrape", "--model.backbone.name", "zoo-tiny"],
        "sugarcrepe",
    ),
    "an unknown backbone": (
        ["fit", "--config", "RECIPE", "--model.backbone.name", "zoo-tinny"],
        "zoo-tiny",
    ),
    "another number of images": (
        ["fit", "--config", "RECIPE", "--data.expected_images", "13"],
        "13",
    ),
    "quickgelu weights in a gelu tower": (
        [
            "fit",
            "--config",
            "RECIPE",
            "--model.backbone.name",
            "ViT-B-32",
            "--model.backbone.pretrained",
            "openai",
        ],
        "quickgelu",
    ),
    "a batch size that devices do not divide": (
        [
            "fit",
            "--config",
            "RECIPE",
            "--data.batch_size",
            "5",
            "--trainer.devices",
            "2",
            "--trainer.strategy",
            "ddp",
        ],
        "batch_size 5",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_answered_with_one_sentence_that_names_it(
    mistake: str, folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Any other exception than the parser's exit would be a traceback, and fails the test."""
    arguments, named = MISTAKES[mistake]
    try:
        status = main([a.replace("RECIPE", str(made_root / "recipe.yaml")) for a in arguments])
    except SystemExit as stop:
        status = int(stop.code or 0)
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("zoo: ")]
    assert status in (1, 2)
    assert len(told) == 1
    assert named in told[0]


@pytest.mark.slow  # test_every_recipe.py trains each one
@pytest.mark.parametrize("name", shipped_recipes())
def test_every_shipped_recipe_is_parsed(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(
            [
                "fit",
                "--config",
                "clip.yaml",
                "--config",
                name,
                "--data_root",
                "DATA_ROOT",
                "--print_config",
            ]
        )
    assert stop.value.code in (None, 0)
    assert "- DATA_ROOT\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["train"], "unknown command 'train': use `zoo fit`"),
        (["finetune"], "unknown command 'finetune': use `zoo fit`"),
        (["eval", "aro"], "unknown command 'eval': use `zoo validate`"),
        (["evaluate", "--model", "x"], "unknown command 'evaluate': use `zoo validate`"),
        (["test"], "unknown command 'test': use `zoo validate`"),
        (["list", "heads"], "unknown command 'list': use `zoo ls`"),
        (["download", "aro"], "unknown command 'download': use `zoo data get`"),
        (["validate", "--tasks", "aro"], "unknown flag --tasks: use --benchmarks"),
        (["validate", "--task=aro"], "unknown flag --task: use --benchmarks"),
        (["validate", "--dataset", "aro"], "unknown flag --dataset: use --benchmarks"),
        (["validate", "--datasets", "aro"], "unknown flag --datasets: use --benchmarks"),
        (["fit", "--batch-size", "8"], "unknown flag --batch-size: use --batch_size"),
        (["fit", "--learning_rate=1"], "unknown flag --learning_rate: use --lr"),
    ],
)
def test_names_of_other_programs_get_the_name_here(
    words: list[str], advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err == f"zoo: {advice}\n"


def test_every_name_of_other_programs_leads_to_a_command_or_flag_that_exists() -> None:
    assert {command.split()[0] for command in OTHER_NAMES.values()} <= COMMANDS.keys()
    assert not OTHER_NAMES.keys() & COMMANDS.keys()
    assert set(OTHER_FLAGS.values()) <= {flag.name for flag in FLAGS}


def test_a_quiet_evaluation_prints_nothing_and_writes_its_results(
    tmp_path: Path, made_root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["validate", "--benchmarks", f"pairs:{made_root / 'pairs.csv'}", "--quiet"]
    words += ["--data_root", str(made_root), "--model.backbone.name", "zoo-tiny"]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    assert capfd.readouterr().out == ""
    assert (tmp_path / "out" / "results.json").is_file()
