"""Each run has a folder of its own, and knows it."""

import fcntl
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
import torch
from lightning import Trainer

from tests.support.runs import in_process, last_checkpoint, losses
from zoo.checkpoints.files import find_checkpoint
from zoo.cli import main
from zoo.errors import ZooError
from zoo.training.metrics_log import MetricsLog
from zoo.training.run_folder import (
    RunFolder,
    claim_version_folder,
    differences,
    find_checkpoint_of_restarted_run,
    find_job_id,
    next_version_folder,
)
from zoo.training.trainer import ZooTrainer


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fit(folder: Path, made_root: Path) -> list[str]:
    """A run of two epochs of two steps."""
    return ["fit", "--config", str(made_root / "recipe.yaml")]


@pytest.mark.slow
def test_a_run_that_lies_in_the_named_folder_is_lost_only_where_that_is_meant(
    folder: Path, fit: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    named = [*fit, "--trainer.logger.version", "s1", "--trainer.max_epochs"]
    assert main([*named, "1"]) == 0
    run = folder / "runs" / "s1"
    before = (run / "metrics.csv").read_bytes()
    assert main([*named, "1"]) == 1
    assert "runs/s1 already has a run" in capsys.readouterr().err
    assert (run / "metrics.csv").read_bytes() == before
    assert main([*named, "2", "--ckpt_path", "runs/s1"]) == 0  # in its own folder it goes on
    assert (run / "metrics.csv").read_text().count("\n") == 1 + 4 + 2
    assert main([*named, "1", "--overwrite"]) == 0
    assert (run / "metrics.csv").read_bytes() != before  # texts a second
    assert (run / "metrics.csv").read_text().count("\n") == 1 + 2 + 1
    assert torch.load(run / "checkpoints" / "last.ckpt", weights_only=True)["global_step"] == 2


def test_a_run_that_ended_before_its_first_checkpoint_is_not_to_be_gone_on_with(
    folder: Path, fit: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "runs" / "s1").mkdir(parents=True)
    (folder / "runs" / "s1" / "config.yaml").write_text("seed_everything: 1")
    assert main([*fit, "--trainer.logger.version", "s1"]) == 1
    told = capsys.readouterr().err
    assert "delete that run, which has no checkpoint" in told
    assert "--overwrite" in told
    assert "--ckpt_path" not in told


def test_a_trial_leaves_nothing_and_a_run_without_a_logger_has_a_folder_too(
    folder: Path, fit: list[str]
) -> None:
    assert main([*fit, "--trainer.fast_dev_run", "true"]) == 0
    assert list(folder.iterdir()) == []
    (folder / "runs" / "version_0").mkdir(parents=True)
    assert main([*fit, "--trainer.logger", "false", "--trainer.max_steps", "1"]) == 0
    assert last_checkpoint(folder, 1).is_file()
    assert [path.name for path in folder.iterdir()] == ["runs"]


@pytest.mark.slow
def test_last_is_of_the_newest_run_with_this_recipe_and_data(
    folder: Path, fit: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The finished run at another learning rate is the newest, and is not taken."""
    slow = [*fit, "--model.optimizer.lr", "1e-4"]
    assert main([*fit, "--trainer.max_epochs", "1"]) == 0
    assert main(slow) == 0
    assert main([*fit, "--ckpt_path", "last"]) == 0
    assert min(losses(folder, 2)) == 2
    assert main([*slow, "--ckpt_path", "last"]) == 1
    assert "version_1/checkpoints/last.ckpt is finished: it has 4 steps" in capsys.readouterr().err
    assert main([*fit, "--model.optimizer.lr", "3e-4", "--ckpt_path", "last"]) == 1
    told = capsys.readouterr().err
    assert "no run under runs has this recipe and data" in told
    assert "version_1/checkpoints/last.ckpt (model.optimizer.lr 0.0003, was 0.0001)" in told
    best = [*fit, "--trainer.max_epochs", "3", "--data.workers", "1", "--ckpt_path", "best"]
    assert main(best) == 0
    assert not (folder / "runs" / "version_4").exists()


@pytest.mark.slow
def test_what_is_other_than_in_the_run_that_goes_on_is_said(
    folder: Path, fit: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*fit, "--trainer.max_epochs", "1"]) == 0
    assert main([*fit, "--ckpt_path", "runs/version_0", "--model.optimizer.decay", "none"]) == 0
    told = capsys.readouterr().err
    assert "resumes with other settings: model.optimizer.decay none, was cosine" in told
    assert "resumes with another schedule: trainer.steps 4, was 2" in told
    assert " since step 2, in runs/version_" in told
    assert " CPU hours since step 2, excluding data loaders" in told


def test_a_run_sweeps_what_dead_ones_left_and_says_at_its_end_what_comes_next(
    folder: Path, fit: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoints = last_checkpoint(folder).parent
    checkpoints.mkdir(parents=True)
    staged = folder / "runs" / ".version_3.7.part"
    staged.mkdir()
    left = [checkpoints / ".last.ckpt.7.part", checkpoints.parent / ".metrics.csv.7.part"]
    alive = checkpoints.parent / ".metrics.csv.8.part"
    for file in (*left, alive, staged / "config.yaml"):
        file.write_text("half")
    with alive.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert main([*fit, "--trainer.max_epochs", "1", "--trainer.log_every_n_steps", "50"]) == 0
    assert not any(path.exists() for path in (*left, staged))
    assert alive.exists()
    told = capsys.readouterr().err
    assert "trained to 2 steps in 0:" in told
    assert "best checkpoint: runs/version_1/checkpoints/best.ckpt (val/loss 2." in told
    assert "metrics by step: runs/version_1/metrics.csv" in told
    assert "--ckpt_path runs/version_1/checkpoints/last.ckpt" in told
    assert sorted(losses(folder, 1)) == [0, 1]


@pytest.mark.slow
def test_device_hours_go_on_from_those_of_the_checkpoint(folder: Path, fit: list[str]) -> None:
    assert main([*fit, "--trainer.max_epochs", "1"]) == 0
    before = losses(folder, column="train/device_hours")
    last = folder / "runs" / "version_0" / "checkpoints" / "last.ckpt"
    checkpoint = torch.load(last, weights_only=True)
    kept = checkpoint["run"]["device_hours"]
    assert 0 < before[0] < before[1]
    checkpoint["run"]["device_hours"] = 5.0
    torch.save(checkpoint, last)
    assert main([*fit, "--trainer.max_epochs", "2", "--ckpt_path", str(last)]) == 0
    after = losses(folder, version=1, column="train/device_hours")
    assert 5.0 < after[2] < after[3] < 5.0 + 1 / 6
    assert 0 < kept < 1 / 6


def test_a_checkpoint_is_named_by_last_by_best_by_its_run_and_by_its_path(folder: Path) -> None:
    for age, run in ((100, "version_0"), (200, "version_1")):
        for name in ("last.ckpt", "best.ckpt"):
            path = folder / "runs" / run / "checkpoints" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"hyper_parameters": {}, "state_dict": {}}, path)
            os.utime(path, (age, age))
    newest = Path("runs/version_1/checkpoints")
    assert find_checkpoint("last") == newest / "last.ckpt"
    for named in ("runs/version_1", newest, newest / "last.ckpt"):
        assert find_checkpoint(named) == newest / "last.ckpt"
    assert find_checkpoint(newest / "best.ckpt") == newest / "best.ckpt"
    assert find_checkpoint("elsewhere") == Path("elsewhere")
    with pytest.raises(ZooError, match=r"empty has no last\.ckpt"):
        find_checkpoint("last", Path("empty"))


def test_versions_are_numbered_on(tmp_path: Path) -> None:
    assert next_version_folder(tmp_path).name == "version_0"
    for name in ("version_2", "version_10", "version_x"):
        (tmp_path / name).mkdir()
    assert next_version_folder(tmp_path).name == "version_11"


def test_differences_name_the_setting_and_both_values() -> None:
    there = {"a": {"init_args": {"b": 1, "c": [1, 2]}}, "d": 0.5}
    assert differences(there, {"a": {"init_args": {"b": 1, "c": (1, 2)}}, "d": 0.5}) == []
    assert differences(there, {"a": {"init_args": {"b": 2, "c": [1, 2]}}, "e": 1}) == [
        "a.b 2, was 1",
        "d None, was 0.5",
        "e 1, was None",
    ]


def test_metrics_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path, name=None, version="run", flush_logs_every_n_steps=1)
    assert not (tmp_path / "run").exists()
    log.log_metrics({"loss": 1.5}, 0)
    log.log_metrics({"loss": 0.5}, 1)
    log.log_metrics({"val": 2.0}, 1)
    file = tmp_path / "run" / "metrics.csv"
    assert file.read_text() == "loss,step,val\n1.5,0,\n0.5,1,\n,1,2.0\n"
    with file.open("a") as half:
        half.write("0.25,")
    again = MetricsLog(tmp_path, name=None, version="run", flush_logs_every_n_steps=1)
    again.log_metrics({"loss": 0.25, "val": 1.0}, 2)
    assert file.read_text() == "loss,step,val\n1.5,0,\n0.5,1,\n,1,2.0\n0.25,2,1.0\n"


def test_steps_are_logged_more_often_at_the_start() -> None:
    trainer = ZooTrainer(accelerator="cpu", logger=False, log_every_n_steps=50)
    steps = trainer.fit_loop.epoch_loop
    logged = []
    for step in range(1, 201):
        steps._batches_that_stepped = step - 1
        if step % trainer.log_every_n_steps == 0:
            logged.append(step)
    assert logged == [*range(1, 10), *range(10, 100, 10), 100, 150, 200]


def test_the_last_checkpoint_is_refused_to_a_trainer_that_does_not_tell_a_steps_end(
    tmp_path: Path,
) -> None:
    from tests.checkpoints.test_files import Scripted
    from zoo.training.callbacks import LastCheckpoint

    trainer = Trainer(accelerator="cpu", logger=False, callbacks=[LastCheckpoint(dirpath="x")])
    with pytest.raises(ZooError, match=r"zoo\.training\.ZooTrainer"):
        trainer.fit(Scripted([1.0]), torch.ones(1, 1))


def test_a_job_of_torchrun_goes_on_with_its_own_run_whatever_it_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node whose process did not fail counts no restart, and goes on with the others."""
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "0")
    recipe = {"model": {"seed": 0}, "data": {}}
    for name, other in {"own": "torchrun mine", "other": "torchrun yours", "plain": None}.items():
        (tmp_path / name / "checkpoints").mkdir(parents=True)
        (tmp_path / name / "run.json").write_text(json.dumps({**recipe, "job": other}))
        (tmp_path / name / "checkpoints" / "last.ckpt").write_bytes(b"")
    assert find_checkpoint_of_restarted_run(tmp_path, {**recipe, "job": find_job_id()}) is None
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "mine")
    assert find_job_id() == "torchrun mine"
    own = tmp_path / "own" / "checkpoints" / "last.ckpt"
    assert find_checkpoint_of_restarted_run(tmp_path, {**recipe, "job": find_job_id()}) == own
    assert (
        find_checkpoint_of_restarted_run(
            tmp_path, {"model": {"seed": 1}, "data": {}, "job": find_job_id()}
        )
        is None
    )


def test_restarts_of_a_job_without_a_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "0")
    assert find_job_id() is None
    monkeypatch.setenv("TORCHELASTIC_MAX_RESTARTS", "3")
    with pytest.raises(ZooError, match="give torchrun a --rdzv_id that is unique to this job"):
        find_job_id()


def test_threads_that_claim_a_version_at_once_get_one_each(tmp_path: Path) -> None:
    threads, rounds = 8, 20
    barrier = Barrier(threads)

    def claim(_: int) -> list[str]:
        claimed = []
        for _ in range(rounds):
            barrier.wait()
            claimed.append(claim_version_folder(tmp_path / "runs").name)
        return claimed

    with ThreadPoolExecutor(threads) as pool:
        claimed = [name for names in pool.map(claim, range(threads)) for name in names]
    assert sorted(claimed) == sorted(f"version_{n}" for n in range(threads * rounds))


@pytest.mark.slow
def test_two_runs_started_at_once_have_a_folder_each(folder: Path, fit: list[str]) -> None:
    runs = [in_process(folder, [*fit, "--trainer.max_steps", "2"]) for _ in range(2)]
    for run in runs:
        run.join(300)
    assert [run.exitcode for run in runs] == [0, 0]
    for version in range(2):
        assert sorted(losses(folder, version)) == [0, 1]
        rows = (folder / "runs" / f"version_{version}" / "metrics.csv").read_text().splitlines()
        assert len(rows) == 1 + 2 + 1, "two steps and one validation"
        assert last_checkpoint(folder, version).is_file()


def test_of_two_runs_that_take_the_same_named_folder_the_second_is_refused(tmp_path: Path) -> None:
    log = MetricsLog(tmp_path / "runs", name=None, version="s1")
    trainer = Trainer(accelerator="cpu", logger=log, enable_checkpointing=False)
    first, second = (RunFolder.__new__(RunFolder) for _ in range(2))
    first.record, second.record = {"job": "first"}, {"job": "second"}
    first.claim(trainer, None)
    with pytest.raises(ZooError, match=r"another run has just started in .*s1: choose another"):
        second.claim(trainer, None)
    second.remove_if_not_trained()
    assert json.loads((tmp_path / "runs" / "s1" / "run.json").read_text()) == {"job": "first"}
    first.remove_if_not_trained()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_is_refused_during_set_up_leaves_no_folder(
    folder: Path, fit: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*fit, "--data.expected_images", "3"]) == 1
    assert "expected_images" in capsys.readouterr().err
    assert list(folder.iterdir()) == []
