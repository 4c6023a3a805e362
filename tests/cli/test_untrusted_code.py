"""What is downloaded never runs: every file that can name a class, by every command that reads it.

`A` is what was downloaded, and its module leaves a mark when it is imported. The folder above it is
on the import path, so that nothing but a refusal keeps the module from being imported.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import zoo
from zoo.backbones.backbone import Backbone
from zoo.cli import main
from zoo.cli.user_code import allow_user_code
from zoo.errors import ZooError
from zoo.module import ZooModule
from zoo.publishing.export import export
from zoo.support.class_names import list_classes

EVIL = "A.evil.W"
SOURCE = """
from pathlib import Path

from zoo.benchmarks.protocols.image_to_text import ImageToText
from zoo.heads import Cosine

Path(__file__).with_name("ran").touch()


class W(Cosine):
    pass


class P(ImageToText):
    pass
"""
Settings = dict[str, Any]
NAMED: Settings = {"class_path": EVIL}
# what a recipe holds in the place of a part
ATTACKS: dict[str, Settings] = {
    "head": {"head": NAMED},
    "objective": {"objective": NAMED},
    "backbone": {"backbone": {**NAMED, "init_args": {"name": "zoo-tiny"}}},
    "optimizer": {"optimizer": NAMED},
    "optimizer as a text": {"optimizer": EVIL},
    "algorithm": {"optimizer": {"algorithm": EVIL}},
    "views": {"head": {"class_path": "zoo.heads.StructureGuided", "init_args": {"views": NAMED}}},
    "views as a text": {
        "head": {"class_path": "zoo.heads.StructureGuided", "init_args": {"views": EVIL}}
    },
}


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory, made_root: Path) -> Path:
    """A checkpoint, the export and the results of a small model, as their author left them."""
    folder = tmp_path_factory.mktemp("downloads")
    held: dict[str, Any] = {"pytorch-lightning_version": "2.6.0", "optimizer_states": []}
    module = ZooModule(Backbone("zoo-tiny"))
    held["state_dict"] = module.state_dict()
    module.on_save_checkpoint(held)
    torch.save(held, folder / "last.ckpt")
    export(folder / "last.ckpt", folder / "export")
    zoo.evaluate(
        zoo.load(folder / "last.ckpt"), f"pairs:{made_root / 'pairs.csv'}", out=folder / "run"
    )
    return folder


@pytest.fixture
def folder(downloads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `A` in it."""
    shutil.copytree(downloads, tmp_path / "A")
    (tmp_path / "A" / "evil.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("A", "A.evil"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def tampered(folder: Path, parts: Settings) -> None:
    """Puts parts into the recipes of checkpoint and export."""
    checkpoint = torch.load(folder / "A" / "last.ckpt", weights_only=True)
    checkpoint["hyper_parameters"] |= parts
    torch.save(checkpoint, folder / "A" / "last.ckpt")
    file = folder / "A" / "export" / "zoo.json"
    described = json.loads(file.read_text())
    described["recipe"] |= parts
    file.write_text(json.dumps(described))


READ_BY: dict[str, Callable[[Path, str], object]] = {
    "zoo.load": lambda root, file: zoo.load(file),
    "zoo.evaluate": lambda root, file: zoo.evaluate(file, f"pairs:{root}/pairs.csv"),
    "validate": lambda root, file: main(
        ["validate", "--benchmarks", f"pairs:{root}/pairs.csv", "--ckpt_path", file]
    ),
    "fit": lambda root, file: main(["fit", "--config", f"{root}/recipe.yaml", "--ckpt_path", file]),
    "export": lambda root, file: main(["export", file, "again"]),
    "merge": lambda root, file: main(["merge", "--ckpt_path", file, "--alphas", "1", "--out", "m"]),
}


def refused(run: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> str:
    """Returns the message by which a function or a command refuses."""
    try:
        status = run()
    except ZooError as error:
        return str(error)
    assert status == 1, "was not refused"
    return capsys.readouterr().err


def assert_refused(message: str, name: str = EVIL) -> None:
    assert name in message
    assert "--trust_code" in message
    assert "trust_code=True" in message
    assert not Path("A/ran").exists(), "the downloaded module was imported"


# each attack on one reader, and each reader of each kind of file by one attack
CASES = [("zoo.load", "A/last.ckpt", attack) for attack in ATTACKS if attack != "head"]
CASES += [(command, file, "head") for command in READ_BY for file in ("A/last.ckpt", "A/export")]
CASES.remove(("fit", "A/export", "head"))  # an export cannot be resumed


@pytest.mark.parametrize(("command", "file", "attack"), CASES)
def test_a_class_that_a_model_names_is_refused_before_it_is_imported(
    command: str,
    file: str,
    attack: str,
    folder: Path,
    made_root: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tampered(folder, ATTACKS[attack])
    assert_refused(refused(lambda: READ_BY[command](made_root, file), capsys))


def test_a_head_in_a_file_of_weights_is_refused(
    folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tampered(folder, ATTACKS["head"])
    with pytest.raises(ZooError) as error:
        zoo.load("zoo-tiny", pretrained="A/last.ckpt")
    assert_refused(str(error.value))
    arguments = ["fit", "--config", f"{made_root}/recipe.yaml"]
    arguments += ["--model.backbone.pretrained", "A/last.ckpt"]
    assert_refused(refused(lambda: main(arguments), capsys))


def test_weights_that_a_merge_would_start_from_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for pretrained in (EVIL, {**NAMED, "init_args": {"path": "A/last.ckpt"}}):
        checkpoint = torch.load("A/last.ckpt", weights_only=True)
        checkpoint["hyper_parameters"]["backbone"]["init_args"]["pretrained"] = pretrained
        torch.save(checkpoint, "A/last.ckpt")
        assert_refused(
            refused(lambda: main(["merge", "--ckpt_path", "A/last.ckpt", "--out", "m"]), capsys)
        )


def test_tokenizers_with_code_of_their_own_are_refused(
    folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described = json.loads(Path("A/export/zoo.json").read_text())
    described["recipe"]["backbone"]["init_args"]["name"] = "towers.json"
    Path("A/export/zoo.json").write_text(json.dumps(described))
    config = json.loads(Path("A/export/open_clip_config.json").read_text())["model_cfg"]
    config["text_cfg"] |= {
        "hf_tokenizer_name": "A/tokenizer",
        "tokenizer_kwargs": {"trust_remote_code": True},
    }
    Path("A/export/towers.json").write_text(json.dumps(config))
    for command in ("zoo.load", "validate", "export", "merge"):
        message = refused(lambda name=command: READ_BY[name](made_root, "A/export"), capsys)
        assert_refused(message, "trust_remote_code")


def change_header(change: Callable[[Settings], None]) -> None:
    """Changes what the results say of their model."""
    table = pq.read_table("A/run/cases.parquet")
    metadata = dict(table.schema.metadata)
    (key,) = (key for key in metadata if b"schema" in metadata[key] and b"ARROW" not in key)
    header = json.loads(metadata[key])
    change(header["model"])
    metadata[key] = json.dumps(header).encode()
    pq.write_table(table.replace_schema_metadata(metadata), "A/run/cases.parquet")


RESULTS = [
    ["rescore", "A/run"],
    ["report", "A/run", "--out", "site"],
    ["compare", "a=A/run", "b=A/run"],
    ["halftruth", "show", "A/run"],
]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        *((arguments, "A.evil.P") for arguments in RESULTS),
        (RESULTS[0], "A.evil:P"),
        (RESULTS[0], '{"class_path": "A.evil.P", "init_args": {}}'),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_a_protocol_that_results_name_is_refused(
    arguments: list[str], named: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pq.read_table("A/run/cases.parquet")
    at = table.column_names.index("protocol")
    protocols = pa.array([named] * len(table), table.schema.field("protocol").type)
    pq.write_table(table.set_column(at, table.schema.field(at), protocols), "A/run/cases.parquet")
    assert_refused(refused(lambda: main(arguments), capsys), "A.evil")
    if arguments[0] == "rescore":
        assert main([*arguments, "--trust_code"]) == 0
        assert Path("A/ran").exists()


def test_a_recipe_that_results_record_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["report", "A/run", "--out", "site", "--patch_words", "1"]
    for checkpoint in ("A/last.ckpt", None):

        def change(model: Settings, checkpoint: str | None = checkpoint) -> None:
            model["checkpoint"] = checkpoint
            model["recipe"]["head"] = NAMED

        change_header(change)
        assert_refused(refused(lambda: main(arguments), capsys))


def test_a_reader_that_results_record_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def change(model: Settings) -> None:
        model["origin"] = {"data": {"train": {"reader": NAMED, "files": {}}}}

    change_header(change)
    for flag in (["--familiar_with", "training"], ["--exclude_images", "trained"]):
        assert_refused(refused(lambda given=flag: main(["rescore", "A/run", *given]), capsys))


ENTRIES = {
    "rule": {"rule": EVIL},
    "head": {"head": EVIL, "tag": "openai"},
    "architecture": {"architecture": "A/towers.json"},
}


@pytest.mark.parametrize("attack", ENTRIES)
def test_a_class_or_code_that_a_model_file_names_is_refused(
    attack: str, folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = {"description": "x", "paper": "y", "architecture": "zoo-tiny", "activation": "gelu"}
    entry["unknown"] = ["file", "sha256", "licence", "trained_on"]  # type: ignore[assignment]
    Path("A/e.yaml").write_text(json.dumps(entry | ENTRIES[attack]))
    config = json.loads(Path("A/export/open_clip_config.json").read_text())["model_cfg"]
    config["text_cfg"]["tokenizer_kwargs"] = {"trust_remote_code": True}
    Path("A/towers.json").write_text(json.dumps(config))
    model, name = "A/e.yaml:A/last.ckpt", "trust_remote_code" if attack == "architecture" else EVIL
    with pytest.raises(ZooError) as error:
        zoo.load(model)
    assert_refused(str(error.value), name)
    benchmarks = ["--benchmarks", f"pairs:{made_root}/pairs.csv"]
    for arguments in (["validate", "--model", model, *benchmarks], ["export", model, "again"]):
        assert_refused(refused(lambda given=arguments: main(given), capsys), name)


def test_code_runs_if_it_is_trusted(folder: Path, made_root: Path) -> None:
    tampered(folder, ATTACKS["head"])
    assert type(zoo.load("A/last.ckpt", trust_code=True).module.head).__name__ == "W"
    assert Path("A/ran").exists()


def test_a_command_trusts_code_by_its_flag(folder: Path, made_root: Path) -> None:
    tampered(folder, ATTACKS["head"])
    assert main(["export", "A/last.ckpt", "again", "--trust_code"]) == 0
    assert Path("A/ran").exists()


def test_the_flag_finds_modules_of_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("unnamed_lab.py").write_text("VALUE = 7\n")
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    with allow_user_code(["export"]), pytest.raises(ModuleNotFoundError):
        importlib.import_module("unnamed_lab")
    with allow_user_code(["export", "--trust_code"]):
        assert importlib.import_module("unnamed_lab").VALUE == 7
    monkeypatch.delitem(sys.modules, "unnamed_lab")


def test_the_flag_that_a_refusal_prints_is_enough(
    folder: Path, made_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tampered(folder, {"head": {**NAMED, "init_args": {"scale": 7.0}}})
    arguments = ["validate", "--benchmarks", f"pairs:{made_root}/pairs.csv"]
    arguments += ["--ckpt_path", "A/last.ckpt", "--out", "results"]
    message = refused(lambda: main(arguments), capsys)
    assert f"set --model.head {EVIL}, or add --trust_code" in message
    assert main([*arguments, "--model.head", EVIL]) == 0
    recorded = json.loads(Path("results/results.json").read_text())["model"]["recipe"]["head"]
    assert recorded["class_path"] == EVIL
    assert recorded["init_args"]["scale"] == 7.0


def test_a_class_in_a_recipe_of_the_user_is_trusted(folder: Path, made_root: Path) -> None:
    tampered(folder, ATTACKS["head"])
    Path("mine.yaml").write_text(json.dumps({"model": {"head": NAMED}}))
    arguments = [
        "validate",
        "--benchmarks",
        f"pairs:{made_root}/pairs.csv",
        "--config",
        "mine.yaml",
    ]
    assert main([*arguments, "--ckpt_path", "A/last.ckpt"]) == 0


@pytest.mark.parametrize("place", ["", "sub"])
def test_a_module_is_found_beside_the_recipe_and_in_the_working_folder(
    place: str,
    made_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    module = f"mine_{place or 'here'}"
    Path(place, f"{module}.py").write_text(
        "from zoo.heads import Cosine\nclass Mine(Cosine): ...\n"
    )
    Path("sub/r.yaml").write_text(json.dumps({"model": {"head": {"class_path": f"{module}.Mine"}}}))
    before = list(sys.path)
    with pytest.raises(SystemExit) as ended:
        main(
            [
                "fit",
                "--config",
                f"{made_root}/recipe.yaml",
                "--config",
                "sub/r.yaml",
                "--print_config",
            ]
        )
    assert not ended.value.code
    assert f"{module}.Mine" in capsys.readouterr().out
    assert sys.path == before


def test_a_file_of_weights_is_not_taken_for_a_module_of_the_working_folder(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("weights.py").write_text("pt = open('ran', 'w')\n")
    Path("weights.pt").write_bytes(b"")
    arguments = ["fit", "--config", f"{made_root}/recipe.yaml", "--print_config"]
    with pytest.raises(SystemExit):
        main([*arguments, "--model.backbone.pretrained", "weights.pt"])
    assert not Path("ran").exists()


def offer(folder: Path, name: str) -> None:
    installed = folder / f"{name}-1.0.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[zoo.heads]\n{name} = {name}_lab:Mine\n")
    (folder / f"{name}_lab.py").write_text(
        "from zoo.heads import Cosine\nclass Mine(Cosine): ...\n"
    )


def test_packages_of_the_working_folder_offer_nothing_and_installed_ones_are_trusted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(folder, "unpacked")
    offer(folder / "site-packages", "installed")
    monkeypatch.syspath_prepend(str(folder / "site-packages"))
    assert [path for _, path, _ in list_classes("heads") if "zoo." not in path] == [
        "installed_lab.Mine"
    ]
    tampered(folder, {"head": {"class_path": "installed_lab.Mine"}})
    assert type(zoo.load("A/last.ckpt").module.head).__name__ == "Mine"


@pytest.mark.parametrize(
    "command", [[str(Path(sys.executable).with_name("zoo"))], [sys.executable, "-m", "zoo.cli"]]
)
def test_nothing_in_the_working_folder_is_imported_by_a_command(
    command: list[str], tmp_path: Path
) -> None:
    for name in ("yaml", "torch", "rich", "unpacked_lab"):
        (tmp_path / f"{name}.py").write_text("open('ran', 'w')\n")
    installed = tmp_path / "unpacked-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: unpacked\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[zoo.heads]\nM = unpacked_lab:M\n")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    ended = subprocess.run(
        [*command, "ls", "heads"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert "unpacked" not in ended.stdout
    assert not (tmp_path / "ran").exists()
