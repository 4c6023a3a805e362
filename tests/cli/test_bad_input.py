"""What a user can get wrong, through the command line.

Each mistake is one sentence that names the culprit, and no traceback.

Names that are mistyped and values that do not fit are in `test_cli.MISTAKES`; here are broken
files, and processes of their own.
"""

import json
import logging
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch

from tests.support.made import make_root
from tests.support.mistakes import (
    Said,
    caption_of,
    edit,
    edit_units,
    full_after,
    long_table,
    said,
    truncated_jpeg,
)
from tests.support.runs import from_a_shell
from zoo.cli import main
from zoo.cli.fit import parse_settings

MODEL = ["--model.backbone.name", "zoo-tiny"]
ONE_EPOCH = ["--trainer.max_epochs", "1"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A made data root to break, in the working directory."""
    monkeypatch.chdir(tmp_path)
    return make_root(tmp_path / "root")


def fit(root: Path, *flags: str) -> list[str]:
    return ["fit", "--config", str(root / "recipe.yaml"), *flags]


def validate(root: Path, *flags: str) -> list[str]:
    return [
        "validate",
        "--benchmarks",
        f"pairs:{root / 'pairs.csv'}",
        "--data_root",
        str(root),
        *MODEL,
        *flags,
    ]


def other_caption(root: Path) -> None:
    edit_units(root, 3, lambda row: {**row, "caption_id": "999"})


def cut_units(root: Path) -> None:
    edit(root / "units.jsonl", lambda text: text[: text.index("\n", 2_000) + 30])


def cut_checkpoint(path: Path) -> None:
    torch.save({"state_dict": {"a": torch.zeros(1000)}, "hyper_parameters": {}}, path)
    path.write_bytes(path.read_bytes()[:2_000])


BROKEN_FILES: dict[str, tuple[Callable[[Path], object], list[str], tuple[str, ...]]] = {
    "a caption file with a broken line": (
        lambda root: long_table(root, 1_734, b"no tab"),
        ["--data.train.file", "ROOT/long.tsv"],
        ("long.tsv:1734", "1 fields", "correct the line"),
    ),
    "a caption file with a line that is no text": (
        lambda root: long_table(root, 1_734, b"a.png\t\xff\xfe"),
        ["--data.train.file", "ROOT/long.tsv"],
        ("long.tsv:1734", "UTF-8"),
    ),
    "units of unknown captions": (other_caption, [], ("units.jsonl", "'999'", "extract units")),
    "a units file that was cut": (cut_units, [], ("units.jsonl:", "is not JSON")),
    "an empty caption": (
        lambda root: caption_of(root, 5, lambda _: "  "),
        [],
        ("captions.tsv:6", "empty caption"),
    ),
    "a caption over the context length": (
        lambda root: caption_of(root, 5, lambda text: " and ".join([text] * 20)),
        ["--data.truncation", "false", "--data.units", "null", "--model.objective", "NegCLIP"],
        ("captions.tsv:6", "context length", "truncation: true"),
    ),
    "a missing image": (
        lambda root: (root / "pictures" / "003.png").unlink(),
        [],
        ("003.png", "1 of 12", "data.tolerate_missing"),
    ),
    "a folder in place of an image": (
        lambda root: (
            (root / "pictures" / "003.png").unlink() or (root / "pictures" / "003.png").mkdir()
        ),
        [],
        ("003.png", "1 of 12"),
    ),
    "a folder in place of a caption file": (
        lambda root: None,
        ["--data.train.file", "ROOT"],
        ("Is a directory", "caption or annotation file"),
    ),
    "a folder in place of a units file": (
        lambda root: None,
        ["--data.units.file", "ROOT/pictures"],
        ("pictures", "no *.json or *.jsonl"),
    ),
    "no units file": (
        lambda root: None,
        ["--data.units.file", "nowhere.jsonl"],
        ("nowhere.jsonl", "zoo units extract"),
    ),
    "a table without the column": (
        lambda root: None,
        ["--data.train.image_column", "path"],
        ("captions.tsv:1", "'path'", "did you mean filepath"),
    ),
    "a file in place of a data root": (
        lambda root: None,
        ["--data.image_roots", "[ROOT/recipe.yaml]"],
        ("recipe.yaml", "not a folder"),
    ),
    "a file in place of the runs": (
        lambda root: Path("runs").write_text(""),
        [],
        ("runs", "File exists"),
    ),
    "weights of no model": (
        lambda root: Path("w.pt").write_bytes(b"no weights"),
        ["--model.backbone.pretrained", "w.pt"],
        ("w.pt", "cannot be read as weights"),
    ),
    "weights of another model": (
        lambda root: torch.save({"state_dict": {"visual.proj": torch.zeros(2)}}, "w.pt"),
        ["--model.backbone.pretrained", "w.pt"],
        ("w.pt", "missing", "backbone.name"),
    ),
    "a checkpoint of another project": (
        lambda root: torch.save(
            {"state_dict": {"a": torch.zeros(1)}, "hyper_parameters": {"lr": 1}}, "x.ckpt"
        ),
        ["--ckpt_path", "x.ckpt"],
        ("x.ckpt", "is not a checkpoint of `zoo fit`", "pretrained"),
    ),
    "a checkpoint with objects in it": (
        lambda root: torch.save({"model": torch.nn.Linear(1, 1)}, "x.ckpt"),
        ["--ckpt_path", "x.ckpt"],
        ("x.ckpt", "UnpicklingError"),
    ),
    "a checkpoint that was cut": (
        lambda root: cut_checkpoint(Path("x.ckpt")),
        ["--ckpt_path", "x.ckpt"],
        ("x.ckpt", "cannot be read as a checkpoint"),
    ),
    "a recipe that is a list": (
        lambda root: Path("a.yaml").write_text("- 1\n"),
        ["--config", "a.yaml"],
        ("a.yaml", "a list", "model:"),
    ),
    "a recipe that is empty": (
        lambda root: Path("a.yaml").write_text(""),
        ["--config", "a.yaml"],
        ("a.yaml", "nothing"),
    ),
    "a recipe that is no text": (
        lambda root: Path("a.yaml").write_bytes(b"\xff\xfe"),
        ["--config", "a.yaml"],
        ("a.yaml", "is not valid YAML"),
    ),
    "a recipe with a date for a name": (
        lambda root: Path("a.yaml").write_text("2026-01-01: 3\n"),
        ["--config", "a.yaml"],
        ("a.yaml", "not a string"),
    ),
    "no batch size": (
        lambda root: Path("a.yaml").write_text("data: {init_args: {batch_size: null}}\n"),
        ["--config", "a.yaml"],
        ("CaptionDataModule(batch_size=None)", "a whole number from 1 up"),
    ),
    "an unknown section over nothing": (
        lambda root: Path("a.yaml").write_text("modle: {}\n"),
        ["--config", "a.yaml"],
        ("'modle'", "did you mean model"),
    ),
    "an unknown key over nothing": (
        lambda root: Path("a.yaml").write_text("model: {optimizer: {lrr: {}}}\n"),
        ["--config", "a.yaml"],
        ("'model.optimizer.lrr'", "did you mean model.optimizer.lr"),
    ),
    "an unknown argument over nothing": (
        lambda root: Path("a.yaml").write_text("data: {init_args: {unitss: {}}}\n"),
        ["--config", "a.yaml"],
        ("CaptionDataModule takes no 'unitss'", "did you mean units"),
    ),
    "an evaluation of another class": (
        lambda root: Path("a.yaml").write_text(
            "data: {init_args: {evaluation: {class_path: zoo.heads.cosine.Cosine}}}\n"
        ),
        ["--config", "a.yaml"],
        ("data.evaluation: ", "zoo.heads.cosine.Cosine", "subclass of Evaluation"),
    ),
    "a mistyped key of a recipe": (
        lambda root: Path("a.yaml").write_text("model: {optimizer: {lrr: 1}}\n"),
        ["--config", "a.yaml"],
        ("model.optimizer.lrr", "did you mean model.optimizer.lr"),
    ),
    "a mistyped section of a recipe": (
        lambda root: Path("a.yaml").write_text("modle: {seed: 1}\n"),
        ["--config", "a.yaml"],
        ("modle.seed", "did you mean model.seed"),
    ),
    "a mistyped argument of a part": (
        lambda root: Path("a.yaml").write_text("data: {init_args: {batchsize: 1}}\n"),
        ["--config", "a.yaml"],
        ("batchsize", "CaptionDataModule", "did you mean batch_size"),
    ),
}


@pytest.mark.parametrize("mistake", BROKEN_FILES)
def test_a_broken_file_is_named_with_the_place_and_the_mend(mistake: str, root: Path) -> None:
    break_it, flags, named = BROKEN_FILES[mistake]
    break_it(root)
    sentence = said(fit(root, *(flag.replace("ROOT", str(root)) for flag in flags))).sentence
    for part in named:
        assert part in sentence


WRONG_FLAGS = {
    "an evaluation by flags, of no benchmark there is": (
        ["fit", "--config", "RECIPE", "--data.evaluation.benchmarks", "[sugarcrape]"],
        "did you mean sugarcrepe",
    ),
    "an evaluation by flags, of an unknown argument": (
        ["fit", "--config", "RECIPE", "--data.evaluation.benchmrks", "[aro]"],
        "did you mean benchmarks",
    ),
    "steps that are never ended": (
        ["fit", "--config", "RECIPE", "--trainer.accumulate_grad_batches", "0"],
        "trainer.accumulate_grad_batches: 0 is not a whole number from 1 up",
    ),
    "a negative bound of gradients": (
        ["fit", "--config", "RECIPE", "--trainer.gradient_clip_val", "-1"],
        "trainer.gradient_clip_val: -1 is not a number from 0 up",
    ),
    "validation after every zero steps": (
        ["fit", "--config", "RECIPE", "--trainer.val_check_interval", "0"],
        "trainer.val_check_interval is 0",
    ),
    "an order that is Lightning's": (
        ["fit", "--config", "RECIPE", "--trainer.overfit_batches", "2"],
        "set trainer.limit_train_batches to 2",
    ),
    "no recipe": (["fit"], "begin with a recipe, such as --config clip.yaml"),
    "a flag without its value": (
        ["fit", "--config", "RECIPE", "--ckpt_path"],
        "--ckpt_path: expected one argument",
    ),
    "a data root without its value": (
        ["fit", "--config", "clip.yaml", "--data_root"],
        "--data_root: expected",
    ),
    "a negative batch size": (
        ["fit", "--config", "RECIPE", "--data.batch_size", "-4"],
        "data.batch_size: -4 is not a whole number from 1 up",
    ),
    "negative workers": (
        ["fit", "--config", "RECIPE", "--data.workers", "-1"],
        "data.workers: -1 is not a whole number from 0 up",
    ),
    "half precision on a CPU": (
        ["fit", "--config", "RECIPE", "--trainer.precision", "16-mixed"],
        "trainer.precision 16-mixed",
    ),
    "batches of another type": (
        ["fit", "--config", "RECIPE", "--trainer.precision", "64-true"],
        "trainer.precision 64-true is not supported",
    ),
    "an unknown class path": (
        ["fit", "--config", "RECIPE", "--model.objective", "nowhere.Thing"],
        "No module named 'nowhere'",
    ),
    "a class of the wrong kind": (
        ["fit", "--config", "RECIPE", "--model.objective", "zoo.heads.cosine.Cosine"],
        "subclass of Objective (`zoo ls objectives`",
    ),
    "one of several generators without its table": (
        [
            "fit",
            "--config",
            "RECIPE",
            "--data.negatives",
            json.dumps(
                [
                    {
                        "class_path": "zoo.negatives.replace.Replace",
                        "init_args": {"table": "no.arrow"},
                    }
                ]
            ),
        ],
        "no.arrow does not exist: run `zoo negatives build",
    ),
    "a misspelt argument of a generator": (
        [
            "negatives",
            "preview",
            "ROOT/captions.tsv",
            "--generator",
            "Replace",
            "--generator.tabel",
            "t.arrow",
        ],
        "zoo.negatives.Replace takes no 'tabel' (did you mean table",
    ),
    "a folder for a table": (
        ["negatives", "build", "ROOT/captions.tsv", "--out", "ROOT"],
        "Is a directory): choose another path",
    ),
    "a folder for units": (
        ["units", "extract", "ROOT/nowhere.tsv", "--out", "ROOT"],
        "Is a directory): choose another path",
    ),
    "a file for a folder": (
        [
            "negatives",
            "export",
            "ROOT/nowhere.tsv",
            "--out",
            "ROOT/captions.tsv/out.jsonl",
        ],
        "Not a directory): choose another path",
    ),
    "a shortened flag": (
        ["fit", "--config", "RECIPE", "--trainer.max_epoch", "3"],
        "did you mean trainer.max_epochs",
    ),
    "a benchmark named twice": (
        ["validate", "--benchmarks", "aro,aro", *MODEL, "--data_root", "ROOT"],
        "aro is repeated",
    ),
    "an empty benchmark": (
        ["validate", "--benchmarks", "aro,,winoground", *MODEL],
        "'aro,,winoground' has an empty name",
    ),
    "no annotation file": (
        ["validate", "--benchmarks", "winoground", *MODEL, "--data_root", "ROOT"],
        "zoo data get winoground",
    ),
    "pairs that are not there": (
        ["validate", "--benchmarks", "pairs:nowhere.csv", *MODEL, "--data_root", "ROOT"],
        "nowhere.csv",
    ),
    "a file for a data root": (
        ["validate", "--benchmarks", "aro", *MODEL, "--data_root", "RECIPE"],
        "is not a folder",
    ),
    "a place for no results": (
        ["validate", "--config", "RECIPE", "--out", "o"],
        "--out requires --benchmarks",
    ),
    "a place under a file": (
        ["units", "extract", "ROOT/captions.tsv", "--out", "RECIPE/units.jsonl"],
        "recipe.yaml/units.jsonl",
    ),
    "a file for a folder of scenes": (
        ["scenes", "render", "--out", "RECIPE", "--n", "1", "--workers", "0"],
        "manifest.json",
    ),
    "results that are none": (["rescore", "ROOT"], "has no cases.parquet"),
    "fewer than no examples": (
        ["negatives", "preview", "ROOT/captions.tsv", "--n", "-1"],
        "--n: -1 is not a whole number from 0 up",
    ),
}


@pytest.mark.parametrize("mistake", WRONG_FLAGS)
def test_a_wrong_flag_is_named(mistake: str, root: Path) -> None:
    arguments, named = WRONG_FLAGS[mistake]
    filled = [
        a.replace("RECIPE", str(root / "recipe.yaml")).replace("ROOT", str(root)) for a in arguments
    ]
    assert named in said(filled).sentence


def test_a_yaml_names_classes_only_where_an_argument_says_of_which_kind(
    root: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.setenv("JSONARGPARSE_DEPRECATION_WARNINGS", "all")
    engine = {"benchmarks": [f"pairs:{root / 'pairs.csv'}"], "data_root": str(root), "workers": 0}
    recipe = {
        "data": {
            "init_args": {
                "evaluation": {
                    "class_path": "zoo.evaluation.engine.Evaluation",
                    "init_args": engine,
                }
            }
        }
    }
    Path("measured.json").write_text(json.dumps(recipe))
    flags = ["--config", "measured.json", "--trainer.limit_train_batches", "1", *ONE_EPOCH]
    assert main(fit(root, *flags)) == 0
    told = [w for w in recwarn if issubclass(w.category, FutureWarning | DeprecationWarning)]
    by_zoo = [w for w in told if "lightning" not in Path(w.filename).parts]
    assert not [str(w.message) for w in by_zoo if "TorchCodec" not in str(w.message)]


@pytest.mark.slow  # a process of its own
def test_a_short_name_means_its_class_and_the_class_says_what_is_wrong(root: Path) -> None:
    # In a process of its own: the parser knows a class by its bare name once anything has imported
    # it.
    command = [sys.executable, "-m", "zoo.cli", *fit(root, "--data.train", "KarpathyJson")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert "captions.tsv:1 is not JSON" in Said(done.returncode, done.stdout, done.stderr).sentence


@pytest.mark.parametrize("place", ["taken", "taken/under"])
def test_results_that_cannot_be_written_say_where(place: str, root: Path) -> None:
    Path("taken").write_text("")
    assert (
        f"results cannot be written to {place}"
        in said(validate(root, "--out", place, "--data.workers", "0")).sentence
    )


def test_missing_images_and_cut_captions_are_counted_where_they_are_tolerated(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (root / "pictures" / "003.png").unlink()
    caption_of(root, 5, lambda text: " and ".join([text] * 20))
    edit(
        root / "units.jsonl",
        lambda text: "".join(
            line for line in text.splitlines(keepends=True) if '"caption_id": "4"' not in line
        ),
    )
    with caplog.at_level(logging.WARNING):
        assert main(fit(root, "--data.tolerate_missing", "true", "--trainer.max_steps", "1")) == 0
    assert "1 images of the training captions are missing and left out" in caplog.text
    assert (
        "1 of 11 checked captions are over the context length and truncated, the first is "
        f"{root / 'captions.tsv'}:6" in caplog.text
    )
    data = torch.load("runs/version_0/checkpoints/last.ckpt", weights_only=True)["zoo"]["data"]
    assert data["train"]["missing_images"] == 1
    assert data["truncation"] == {"checked": 11, "truncated": 1}


def in_own_process(folder: Path, arguments: Sequence[str]) -> BaseProcess:
    """Starts `zoo` in that folder, at the head of a process group of its own.

    Its output goes to the files `out` and `err`.
    """
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_run, args=(folder, list(arguments)))
    process.start()
    return process


def _run(folder: Path, arguments: list[str]) -> None:
    os.setsid()
    for descriptor, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT), descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    raise SystemExit(from_a_shell(folder, arguments, {}))


def ended(process: BaseProcess, folder: Path) -> Said:
    process.join(300)
    assert process.exitcode is not None, "the command did not end"
    return Said(process.exitcode, (folder / "out").read_text(), (folder / "err").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("command", ["fit", "validate"])
def test_a_truncated_image_in_a_worker_is_one_sentence(
    command: str, root: Path, tmp_path: Path
) -> None:
    broken = truncated_jpeg(root)
    arguments = (
        fit(root, "--data.workers", "2")
        if command == "fit"
        else validate(root, "--data.workers", "2")
    )
    sentence = ended(in_own_process(tmp_path, arguments), tmp_path).sentence
    assert str(broken) in sentence
    assert "truncated" in sentence
    assert ("data.tolerate_broken: true" in sentence) == (command == "fit")


@pytest.mark.slow
def test_a_truncated_image_is_counted_where_it_is_tolerated(root: Path, tmp_path: Path) -> None:
    broken = truncated_jpeg(root)
    flags = [
        "--data.workers",
        "2",
        "--data.tolerate_broken",
        "true",
        "--data.val_images",
        "null",
        *ONE_EPOCH,
    ]
    left = ended(in_own_process(tmp_path, fit(root, *flags)), tmp_path)
    assert left.status == 0
    assert f"{broken} is broken: its rows are empty (1 so far)" in left.err
    data = torch.load(tmp_path / "runs/version_0/checkpoints/last.ckpt", weights_only=True)["zoo"][
        "data"
    ]
    assert data["broken_images"] == [f"file:{broken}"]


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_an_interrupted_run_says_how_to_go_on(workers: str, root: Path, tmp_path: Path) -> None:
    flags = [
        "--data.workers",
        workers,
        "--trainer.max_epochs",
        "10000",
        "--last_checkpoint.every_n_steps",
        "1",
    ]
    process = in_own_process(tmp_path, fit(root, *flags))
    last = tmp_path / "runs/version_0/checkpoints/last.ckpt"
    deadline = time.monotonic() + 240
    while not last.exists() and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.pid is not None
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the workers as well
    left = ended(process, tmp_path)
    assert left.status == 130
    told = [line for line in left.err.splitlines() if line.startswith("zoo: ")]
    assert [line.split(":")[1] for line in told] == [" SIGINT", " interrupted"]
    assert f"--ckpt_path {last.relative_to(tmp_path)}" in told[-1]
    assert "Traceback" not in left.out + left.err
    torch.load(last, weights_only=True)


def test_a_full_disk_leaves_no_part_of_a_checkpoint(root: Path) -> None:
    with full_after(100_000):
        sentence = said(fit(root, *ONE_EPOCH)).sentence
    assert "best.ckpt could not be written (File too large)" in sentence
    assert list(Path("runs/version_0/checkpoints").iterdir()) == []


REFUSED = {
    "no negatives": (["--data.negatives", "null"], "needs sentence negatives"),
    "no units": (["--data.units", "null"], "needs units"),
    "no bias": (["--model.objective", "zoo.objectives.siglip.SigLIP"], "needs a head with a bias"),
}


@pytest.mark.slow
@pytest.mark.parametrize("lacking", REFUSED)
def test_what_a_refused_recipe_is_told_to_set_works(lacking: str, root: Path) -> None:
    flags, named = REFUSED[lacking]
    short = ["--trainer.limit_train_batches", "1", "--trainer.limit_val_batches", "1", *ONE_EPOCH]
    sentence = said(fit(root, *short, *flags)).sentence
    assert named in sentence
    told = re.search(r"set `(--[^`]*)`", sentence)
    assert told is not None
    mend = told[1].replace("F.jsonl", str(root / "units.jsonl")).split()
    assert main(fit(root, *short, *flags, *mend)) == 0


def test_a_class_without_arguments_may_be_given_none_of_them() -> None:
    objective = {"class_path": "NegCLIP", "init_args": {}}  # as a checkpoint records it
    recipe = json.dumps({"model": {"objective": objective}})
    settings = parse_settings(["validate", "--config", recipe, *MODEL, "--benchmarks", "aro"])
    assert settings.model.objective.class_path == "zoo.objectives.NegCLIP"
