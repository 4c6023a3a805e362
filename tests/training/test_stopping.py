"""A run that a signal, a kill or a loss that is no number ends.

Tests hold what is kept, what is said, and that nothing is missing afterwards.
"""

import contextlib
import itertools
import math
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import yaml
from lightning import Trainer

from tests.support.runs import in_process, last_checkpoint, logged, losses, variant
from zoo.checkpoints.files import best_of
from zoo.cli import main
from zoo.datamodules.captions import CaptionDataModule
from zoo.training.callbacks import LastCheckpoint
from zoo.training.stopping import StepLoop

EPOCHS, STEPS = 2, 8  # four steps an epoch


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def hears_ctrl_c() -> Iterator[None]:
    """A job in a shell's background ignores Ctrl-C, and so would the runs of these tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def recipe(made_root: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two epochs of four steps, each with two batches of validation, every step logged."""
    data = {"batch_size": 2, "val_batch_size": 2}
    return str(variant(tmp_path_factory.mktemp("recipe"), made_root, data=data))


@pytest.fixture(scope="module")
def unbroken(
    recipe: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[int, str], set[str]]:
    """What a run logs that nothing stops."""
    folder = tmp_path_factory.mktemp("unbroken")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["fit", "--config", recipe]) == 0
    return logged(folder)


def sent(signum: int, step: int, where: str = "step") -> list[str]:
    return [
        "--trainer.callbacks+=tests.support.runs.Signalled",
        f"--trainer.callbacks.signal={int(signum)}",
        f"--trainer.callbacks.step={step}",
        f"--trainer.callbacks.where={where}",
    ]


@pytest.mark.parametrize(
    ("signum", "step", "where", "kept"),
    [
        pytest.param(signal.SIGTERM, 1, "step", 2, marks=pytest.mark.slow),
        (signal.SIGINT, 3, "step", 4),
        pytest.param(signal.SIGUSR1, 4, "validation", 4, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 8, "validation", 8, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 7, "step", 8, marks=pytest.mark.slow),
    ],
)
def test_a_signal_is_answered_at_the_end_of_the_step_and_the_command_it_names_goes_on(
    signum: signal.Signals,
    step: int,
    where: str,
    kept: int,
    folder: Path,
    recipe: str,
    unbroken: dict[tuple[int, str], set[str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Step 3 is the last of an epoch, whose validation is owed then."""
    assert main(["fit", "--config", recipe, *sent(signum, step, where)]) == 128 + signum
    assert torch.load(last_checkpoint(folder), weights_only=True)["global_step"] == kept
    told = next(line for line in capsys.readouterr().err.splitlines() if "to resume: " in line)
    assert f"step {kept} is saved in runs/version_0/checkpoints/last.ckpt" in told
    config = folder / "runs" / "version_0" / "config.yaml"
    settings = yaml.safe_load(config.read_text())
    settings["trainer"]["callbacks"] = None  # or it would be sent again
    config.write_text(yaml.safe_dump(settings))
    command = shlex.split(told.split("`")[1])
    assert command[0] == "zoo"
    assert main(command[1:]) == 0
    assert logged(folder) == unbroken
    assert min(losses(folder, 1) or {kept: 0.0}) == kept
    first, resumed = (losses(folder, version, "val/loss").values() for version in range(2))
    best = int(min(resumed) < min(first, default=math.inf))  # which epoch's depends on the split
    kept_in = last_checkpoint(folder, best).parent
    assert best_of(last_checkpoint(folder, 1)).resolve() == (kept_in / "best.ckpt").resolve()


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        (1, 3),
        pytest.param(3, 4, marks=pytest.mark.slow),
        pytest.param(7, 8, marks=pytest.mark.slow),
    ],
)
def test_ranks_that_agree_a_step_later_lose_nothing_either(
    step: int,
    kept: int,
    folder: Path,
    recipe: str,
    unbroken: dict[tuple[int, str], set[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a GPU; but before a validation, after steps 3 and 7, they agree at once."""
    monkeypatch.setattr(StepLoop, "agrees_later", True)
    assert main(["fit", "--config", recipe, *sent(signal.SIGTERM, step)]) == 128 + signal.SIGTERM
    checkpoint = last_checkpoint(folder)
    assert torch.load(checkpoint, weights_only=True)["global_step"] == kept
    assert main(["fit", "--config", recipe, "--ckpt_path", str(checkpoint)]) == 0
    assert logged(folder) == unbroken


@pytest.mark.slow
@pytest.mark.parametrize(("step", "ended"), [(4, 5), (5, 6), (7, 7)])
def test_a_loss_that_is_not_finite_stops_the_run_a_step_later_where_ranks_agree_later(
    step: int,
    ended: int,
    folder: Path,
    recipe: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The step in the message is the one of the loss; step 7 is the last."""
    monkeypatch.setattr(StepLoop, "agrees_later", True)
    assert main(["fit", "--config", recipe, *spoilt("loss", step)]) == 1
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"zoo: the loss of step {step} is not finite (loss nan, ")
    assert max(losses(folder)) == ended


@pytest.mark.parametrize(
    ("command", "signum"), [("fit", signal.SIGTERM), ("validate", signal.SIGINT)]
)
def test_a_signal_while_modules_are_imported_ends_the_command_with_a_sentence(
    command: str, signum: signal.Signals
) -> None:
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Sender:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        f"            os.kill(os.getpid(), {int(signum)})\n"
        "sys.meta_path.insert(0, Sender())\n"
        "from zoo.cli import main\n"
        f"sys.exit(main(['{command}']))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 128 + signum
    by = "interrupted" if signum == signal.SIGINT else "stopped by SIGTERM"
    assert ran.stderr.startswith(f"zoo: {by}: nothing ")
    assert ran.stderr.endswith(", run the same command to start again\n")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("place", "signum"), [("check_files", signal.SIGTERM), ("setup", signal.SIGINT)]
)
def test_a_signal_before_the_first_step_is_answered_at_once_and_leaves_no_run(
    place: str,
    signum: signal.Signals,
    folder: Path,
    recipe: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """That is while files are read, and within Lightning's own start."""
    monkeypatch.setattr(CaptionDataModule, place, lambda *_, **__: os.kill(os.getpid(), signum))
    assert main(["fit", "--config", recipe]) == 128 + signum
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("zoo: ")]
    by = "interrupted" if signum == signal.SIGINT else "stopped by SIGTERM"
    begins_again = "nothing was trained or saved yet, run the same command to start again"
    assert told == [f"zoo: {by}: {begins_again}"]
    assert not list(folder.glob("runs/*"))


@pytest.mark.slow
def test_a_validation_that_is_killed_on_a_step_with_a_checkpoint_is_made_up(
    folder: Path, recipe: str, unbroken: dict[tuple[int, str], set[str]]
) -> None:
    arguments = ["fit", "--config", recipe]
    killed = in_process(
        folder,
        [*arguments, *sent(signal.SIGKILL, 8, "validation"), "--last_checkpoint.every_n_steps=4"],
    )
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    assert max(losses(folder, column="val/loss")) == 3
    assert main([*arguments, "--ckpt_path", "last"]) == 0
    assert logged(folder) == unbroken
    assert list(losses(folder, 1, "val/loss")) == [7]
    assert not losses(folder, 1)


@pytest.mark.slow
def test_a_signal_to_all_processes_leaves_those_that_load_the_batch_of_the_step(
    folder: Path, recipe: str
) -> None:
    stopped = in_process(
        folder,
        [
            *["fit", "--config", recipe, "--data.workers", "2", *sent(signal.SIGTERM, 5)],
            "--trainer.callbacks.group=true",
        ],
    )
    stopped.join()
    assert stopped.exitcode == 128 + signal.SIGTERM
    assert torch.load(last_checkpoint(folder), weights_only=True)["global_step"] == 6


@pytest.mark.slow
def test_a_checkpoint_is_written_after_some_minutes_whatever_the_steps(
    folder: Path, recipe: str
) -> None:
    killed = in_process(
        folder,
        [
            *["fit", "--config", recipe, *sent(signal.SIGKILL, 3)],
            "--last_checkpoint.every_n_minutes=1e-9",
        ],
    )
    killed.join()
    assert torch.load(last_checkpoint(folder), weights_only=True)["global_step"] == 3


def test_a_checkpoint_is_due_after_ten_minutes_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [50.0]
    monkeypatch.setattr("zoo.training.callbacks.time.monotonic", lambda: seconds[-1])
    callback, trainer = LastCheckpoint(), Trainer(accelerator="cpu", logger=False)
    for at, due in ((50 + 599.0, False), (50 + 600.0, True)):
        seconds.append(at)
        assert callback.requests_action(trainer) == due


@pytest.mark.slow
def test_slurm_puts_the_job_in_the_queue_again_and_it_goes_on(
    folder: Path,
    recipe: str,
    unbroken: dict[tuple[int, str], set[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two runs of one recipe, of which only one is this job's."""
    assert main(["fit", "--config", recipe, *sent(signal.SIGTERM, 1)]) == 143
    scontrol = folder / "bin" / "scontrol"
    scontrol.parent.mkdir()
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {folder}/asked\n')
    scontrol.chmod(0o755)
    monkeypatch.setenv("PATH", f"{scontrol.parent}:{os.environ['PATH']}")
    for name, value in {
        "SLURM_NTASKS": "1",
        "SLURM_JOB_NAME": "train",
        "SLURM_JOB_ID": "77",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": "0",
    }.items():
        monkeypatch.setenv(name, value)
    command = ["fit", "--config", recipe, "--trainer.logger.version", "job"]
    assert main([*command, *sent(signal.SIGUSR1, 4)]) == 128 + signal.SIGUSR1
    assert (folder / "asked").read_text() == "requeue 77\n"
    assert main(command) == 1  # another job of that name
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert main(command) == 0
    assert logged(folder) == unbroken
    with (folder / "runs" / "job" / "metrics.csv").open() as rows:
        steps = [int(row.split(",")[1]) for row in list(rows)[1:]]
    assert steps == [0, 1, 2, 3, 3, 4, 5, 6, 7, 7]


def spoilt(what: str, step: int) -> list[str]:
    return [
        "--trainer.callbacks+=tests.support.runs.Spoilt",
        f"--trainer.callbacks.what={what}",
        f"--trainer.callbacks.step={step}",
    ]


def test_a_loss_that_is_no_number_stops_the_run_and_the_last_good_checkpoint_stays(
    folder: Path, recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    often = ["--last_checkpoint.every_n_steps", "1"]
    assert main(["fit", "--config", recipe, *often, *spoilt("loss", 1)]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith("zoo: the loss of step 1 is not finite (loss nan, ")
    assert "model.optimizer.lr" in told
    assert "the last good checkpoint is runs/version_0/checkpoints/last.ckpt" in told
    content = torch.load(last_checkpoint(folder), weights_only=True)
    assert content["global_step"] == 1
    assert all(v.isfinite().all() for v in content["state_dict"].values() if v.is_floating_point())
    assert math.isnan(losses(folder)[1])


def test_weights_that_are_no_numbers_are_neither_kept_nor_gone_on_from(
    folder: Path, recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    often = ["--last_checkpoint.every_n_steps", "1"]
    assert main(["fit", "--config", recipe, *often, *spoilt("weights", 2)]) == 1
    assert "the weights after step 1 are not finite (" in capsys.readouterr().err
    content = torch.load(last_checkpoint(folder), weights_only=True)
    assert content["global_step"] == 1
    next(v for v in content["state_dict"].values() if v.ndim == 2)[0, 0] = float("nan")
    torch.save(content, folder / "bad.ckpt")
    assert main(["fit", "--config", recipe, "--ckpt_path", "bad.ckpt"]) == 1
    assert "bad.ckpt has weights that are not finite (tensors: 1, " in capsys.readouterr().err
    assert not (folder / "runs" / "version_1").exists()


@pytest.mark.slow
@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_ten_ends_at_random_moments_lose_no_number_and_leave_nothing(
    signum: signal.Signals, folder: Path, recipe: str
) -> None:
    """Start-up, validation and writing are among the moments.

    A run that was ended is gone on with until it is finished.
    """
    every = 3
    arguments = ["fit", "--config", recipe, "--trainer.max_epochs", "10", "--data.workers", "2"]
    arguments += ["--last_checkpoint.every_n_steps", str(every)]
    whole = folder / "whole"
    whole.mkdir()
    began = time.monotonic()
    unbroken = in_process(whole, arguments)
    unbroken.join()
    longest = time.monotonic() - began
    expected, best = logged(whole), _best(whole)
    moments, ended, chain = random.Random(int(signum)), 0, 0
    while ended < 10:
        broken = folder / f"chain_{chain}"
        broken.mkdir()
        status: int | None = None
        while status != 0:
            kept = any(broken.glob("runs/*/checkpoints/last.ckpt"))
            began = time.monotonic()
            run = in_process(broken, [*arguments, *(["--ckpt_path", "last"] if kept else [])])
            run.join(None if ended == 10 else moments.uniform(0, longest))
            if run.is_alive():
                assert run.pid is not None
                own_group = os.getpgid(run.pid) == run.pid
                (os.killpg if own_group else os.kill)(run.pid, signum)
                run.join()
                ended += run.exitcode != 0
                assert run.exitcode in (0, -signum, 128 + signum)
            elif not kept:  # the first run may have been slow, and most moments past this one's end
                longest = min(longest, time.monotonic() - began)
            status = run.exitcode
        assert logged(broken) == expected
        last = max(broken.glob("runs/*/checkpoints/last.ckpt"), key=lambda p: p.stat().st_mtime)
        with contextlib.chdir(broken):
            found = torch.load(best_of(last), weights_only=True)["state_dict"]
        torch.testing.assert_close(found, best, rtol=0, atol=0)
        assert not list(broken.rglob("*.part"))
        runs = sorted(broken.glob("runs/*"), key=lambda path: int(path.name.split("_")[1]))
        assert all((path / "config.yaml").is_file() for path in runs)
        steps = [
            sorted(losses(broken, version))
            for version in range(len(runs))
            if (runs[version] / "metrics.csv").exists()
        ]
        steps = [found for found in steps if found]
        twice = [max(before) + 1 - min(after) for before, after in itertools.pairwise(steps)]
        assert max(twice, default=0) <= (every if signum == signal.SIGKILL else 0)
        chain += 1


def _best(folder: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = torch.load(
        folder / "runs/version_0/checkpoints/best.ckpt", weights_only=True
    )["state_dict"]
    return found
