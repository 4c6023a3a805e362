"""What `zoo fit` and `zoo validate` give on two processes is what they give on one."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from tests.support.runs import command, last_checkpoint, losses, variant
from zoo.cli import main

CPU = ["--trainer.accelerator", "cpu"]
TWO = [*CPU, "--trainer.devices", "2", "--trainer.strategy", "ddp"]
CASE = ("benchmark", "subset", "case", "protocol", "query", "metric", "right", "images")
HERE = Path(__file__).parents[2]
# Adam divides gradients by their size, and so lifts the last digits of small ones, in which two
# runs differ, to a share of a whole step; a large epsilon leaves small gradients small
CALM = ["--model.optimizer.eps", "0.01"]
NOISE = 2e-6


def ended(folder: Path, status: int, *arguments: str) -> str:
    """Runs the command in a folder, as a user does, to the status that is expected.

    Returns its standard error.
    """
    done = subprocess.run(
        [sys.executable, "-m", "zoo.cli", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(HERE)},
        capture_output=True,
        text=True,
        timeout=900,  # ranks that do not agree wait for each other
    )
    assert done.returncode == status, done.stderr[-2000:]
    # of a rank whose end the launcher does not look at
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    return done.stderr


def both(folder: Path, common: list[str]) -> tuple[Path, Path]:
    """Runs the command on one process and on two; returns the folders where it ran."""
    one = command(folder / "one", *common, *CPU)
    return one, command(folder / "two", *common, *TWO, ranks=2)


@pytest.mark.slow
@pytest.mark.parametrize("tune", ["image", pytest.param("text", marks=pytest.mark.slow)])
def test_a_run_with_a_frozen_tower_is_the_same_on_two_processes(
    made_root: Path, tmp_path: Path, tune: str
) -> None:
    """The same global batch, two epochs.

    The validation losses are the same, one tower is trained, and the other is as it was.
    """
    common = [
        "fit",
        "--config",
        str(made_root / "recipe.yaml"),
        "--model.backbone.tuning.towers",
        tune,
        *CALM,
    ]
    one, two = both(tmp_path, common)
    expected, found = (losses(folder, column="val/loss") for folder in (one, two))
    assert found == pytest.approx(expected, rel=1e-5)
    assert len(expected) == 2
    whole, halves = (
        torch.load(last_checkpoint(folder), weights_only=True)["state_dict"]
        for folder in (one, two)
    )
    torch.testing.assert_close(halves["head.log_scale"], whole["head.log_scale"], rtol=1e-6, atol=0)
    trained, frozen = ("model.visual.proj", "model.text_projection")[
        :: 1 if tune == "image" else -1
    ]
    assert halves.keys() == whole.keys()
    assert torch.equal(halves[f"backbone.{frozen}"], whole[f"backbone.{frozen}"])
    torch.testing.assert_close(
        halves[f"backbone.{trained}"], whole[f"backbone.{trained}"], rtol=1e-4, atol=NOISE
    )


@pytest.mark.slow
def test_adapters_are_trained_as_on_one_process(made_root: Path, tmp_path: Path) -> None:
    """LoRA: most of a tower has no gradient to exchange.

    Adapters move alike, and nothing else moves.
    """
    common = [
        "fit",
        "--config",
        str(made_root / "recipe.yaml"),
        "--model.backbone.tuning.lora.rank",
        "2",
        "--model.backbone.tuning.lora.alpha",
        "2",
        *CALM,
    ]
    one, two = both(tmp_path, common)
    assert losses(two, column="val/loss") == pytest.approx(losses(one, column="val/loss"), rel=1e-5)
    whole, halves = (
        torch.load(last_checkpoint(folder), weights_only=True)["state_dict"]
        for folder in (one, two)
    )
    adapters = [name for name in whole if "lora_B" in name]
    assert all(whole[name].any() for name in adapters)
    assert adapters
    torch.testing.assert_close(halves, whole, rtol=1e-4, atol=NOISE)


@pytest.mark.slow
def test_a_run_on_stored_features_is_the_same_on_two_processes(
    made_root: Path, tmp_path: Path
) -> None:
    """Each process encodes a share of one store.

    What the head learns from it is what it learns on one process.
    """
    frozen = [
        "--model.backbone.tuning.towers",
        "none",
        "--model.backbone.augmentation",
        "null",
        "--model.head",
        "zoo.heads.linear.Linear",
    ]
    common = [
        "fit",
        "--config",
        str(made_root / "recipe.yaml"),
        *frozen,
        *CALM,
        "--data.resample",
        "false",
        "--data.features.folder",
        "features",
    ]
    one, two = both(tmp_path, common)
    assert losses(two, column="val/loss") == pytest.approx(losses(one, column="val/loss"), rel=1e-5)
    whole, halves = (
        torch.load(last_checkpoint(folder), weights_only=True)["state_dict"]
        for folder in (one, two)
    )
    torch.testing.assert_close(halves, whole, rtol=1e-4, atol=NOISE)
    assert not torch.equal(
        whole["head.text_map.weight"], torch.eye(len(whole["head.text_map.weight"]))
    )


@pytest.mark.slow
def test_a_measurement_is_the_same_on_two_processes(made_root: Path, tmp_path: Path) -> None:
    """The same cases, numbers and coverage, and scores to 1e-5."""
    asked = f"pairs:{made_root / 'pairs.csv'},half_truth:{made_root / 'units.jsonl'}"
    common = [
        "validate",
        "--benchmarks",
        asked,
        "--data_root",
        str(made_root),
        "--out",
        "measured",
        "--model.backbone.name",
        "zoo-tiny",
    ]
    folders = both(tmp_path, common)
    one, two = (
        json.loads((folder / "measured" / "results.json").read_text())["presets"][0]["metrics"]
        for folder in folders
    )
    assert [(f["metric"], f["n"], f["n_total"], f["images"], f["value"]) for f in two] == [
        (f["metric"], f["n"], f["n_total"], f["images"], f["value"]) for f in one
    ]
    assert one[0]["n"] == one[0]["n_total"] == 12
    rows, others = (
        pq.read_table(folder / "measured" / "cases.parquet").to_pylist() for folder in folders
    )
    assert [[row[name] for name in CASE] for row in others] == [
        [row[name] for name in CASE] for row in rows
    ]
    for row, other in zip(rows, others, strict=True):
        assert other["scores"] == pytest.approx(row["scores"], abs=1e-5)


@pytest.mark.slow
def test_a_signal_to_one_rank_stops_all_at_the_same_step_and_the_command_it_names_goes_on(
    made_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch of four steps, in whose second rank 1 alone hears SIGTERM.

    Here the command launches the second process itself.
    """
    data = {"batch_size": 2, "val_batch_size": 2}
    common = ["fit", "--config", str(variant(tmp_path, made_root, data=data))]
    common += ["--trainer.max_epochs", "1"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    whole.mkdir()
    broken.mkdir()
    monkeypatch.chdir(whole)
    assert main([*common, *CPU]) == 0
    sends = {"signal": int(signal.SIGTERM), "step": 1, "rank": 1}
    callback = ["--trainer.callbacks+=tests.support.runs.Signalled"]
    callback += [f"--trainer.callbacks.{name}={value}" for name, value in sends.items()]
    error = ended(broken, 128 + signal.SIGTERM, *common, *TWO, *callback)
    kept = last_checkpoint(broken).relative_to(broken)
    assert torch.load(broken / kept, weights_only=True)["global_step"] == 2
    (told,) = [line for line in error.splitlines() if line.startswith("zoo: stopped")]
    assert told.startswith(
        f"zoo: stopped by SIGTERM: step 2 is saved in {kept}; to resume: `zoo fit "
    )
    assert list(losses(broken)) == [0, 1]
    command(broken, *shlex.split(told.split("`")[1])[1:], ranks=2)
    assert list(losses(broken, 1)) == [2, 3]
    for column in ("train/loss", "val/loss"):
        found = losses(broken, 0, column) | losses(broken, 1, column)
        assert found == pytest.approx(losses(whole, 0, column), rel=1e-5)


@pytest.mark.slow
def test_where_one_of_four_is_killed_the_others_say_so_and_the_run_goes_on(
    made_root: Path, tmp_path: Path
) -> None:
    """Two epochs of two steps, in whose third step rank 2 is killed; the command launches all."""
    common = ["fit", "--config", str(made_root / "recipe.yaml"), *CALM]
    one = command(tmp_path / "one", *common, *CPU)
    broken = tmp_path / "broken"
    broken.mkdir()
    four = [*CPU, "--trainer.devices", "4", "--trainer.strategy", "ddp"]
    sends = {"signal": int(signal.SIGKILL), "step": 3, "rank": 2}
    callback = ["--trainer.callbacks+=tests.support.runs.Signalled"]
    callback += [f"--trainer.callbacks.{name}={value}" for name, value in sends.items()]
    often = ["--last_checkpoint.every_n_steps", "1"]
    error = ended(broken, 1, *common, *four, *often, *callback)
    # written at the end of the step before
    assert time.time() - last_checkpoint(broken).stat().st_mtime < 30
    told = [line for line in error.splitlines() if line.startswith("zoo: process ")]
    assert told
    lost = "of 4 ends, since another process ended or cannot be reached"
    assert all(lost in line for line in told)
    command(broken, *common, *four, "--ckpt_path", "last", ranks=4)
    for column in ("train/loss", "val/loss"):
        found = losses(broken, 0, column) | losses(broken, 1, column)
        assert found == pytest.approx(losses(one, column=column), rel=1e-5)
