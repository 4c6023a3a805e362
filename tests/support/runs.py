"""Runs of the command line.

These are what runs left, variants of the made recipe, and runs in processes of their own.
"""

import contextlib
import csv
import io
import multiprocessing
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import yaml
from lightning import LightningModule, Trainer
from lightning.fabric.plugins.environments.lightning import find_free_network_port
from lightning.pytorch.callbacks import Callback

from tests.support.parallel import on_ranks
from zoo.cli import main

Settings = dict[str, Any]


def last_checkpoint(folder: Path, version: int = 0) -> Path:
    return folder / "runs" / f"version_{version}" / "checkpoints" / "last.ckpt"


def losses(folder: Path, version: int = 0, column: str = "train/loss") -> dict[int, float]:
    """Returns a run's metrics by step."""
    with (folder / "runs" / f"version_{version}" / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row.get(column)]
        return {int(row["step"]): float(row[column]) for row in rows}


def variant(
    folder: Path, made_root: Path, model: Settings | None = None, data: Settings | None = None
) -> Path:
    """Writes the made recipe with other parts of the model and other arguments of the data.

    Returns its path.
    """
    recipe = yaml.safe_load((made_root / "recipe.yaml").read_text())
    recipe["model"] |= model or {}
    recipe["data"]["init_args"] |= data or {}
    path = folder / "variant.yaml"
    path.write_text(yaml.safe_dump(recipe))
    return path


class Killed(Callback):
    """Kills the process, with no chance to tidy up, when that many steps are done."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == self.steps:
            os.kill(os.getpid(), signal.SIGKILL)


class Signalled(Callback):
    """Sends signals to its own process, or to all processes of its group.

    Args:
        signal: the signal's number.
        step: how many steps are done then.
        where: the moment: `step` before the next one is made, `validation` when its first batch is
            done.
        rank: the rank that does it.
        group: whether all of the process group are meant.
    """

    def __init__(
        self, signal: int, step: int, where: str = "step", rank: int = 0, group: bool = False
    ) -> None:
        self.signal, self.step, self.where = signal, step, where
        self.rank, self.group = rank, group

    def send(self, trainer: Trainer, where: str) -> None:
        if (trainer.global_step, where, trainer.global_rank) == (self.step, self.where, self.rank):
            who = f"-{os.getpgrp()}" if self.group else str(os.getpid())
            subprocess.run(["kill", f"-{self.signal}", "--", who], check=not self.group)
            time.sleep(1 if self.group else 0)  # while others fall

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self.send(trainer, "step")

    def on_validation_batch_start(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        batch: Any,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        if not trainer.sanity_checking:
            self.send(trainer, "validation")


class Spoilt(Callback):
    """Makes the loss of one step NaN, or the weights NaN after it.

    Args:
        what: `loss` or `weights`.
        step: how many steps are done then.
    """

    def __init__(self, what: str, step: int) -> None:
        self.what, self.step = what, step

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if self.what == "loss" and trainer.global_step == self.step:
            pl_module.head.log_scale.data.fill_(float("inf"))  # type: ignore[union-attr, operator]

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if self.what == "weights" and trainer.global_step == self.step:
            next(pl_module.parameters()).data.fill_(float("nan"))


def logged(folder: Path) -> dict[tuple[int, str], set[str]]:
    """Returns every number that the runs of a folder logged, by step and column, as it is written.

    Times are left out.
    """
    found: dict[tuple[int, str], set[str]] = {}
    for file in (folder / "runs").glob("*/metrics.csv"):
        with file.open() as rows:
            for row in csv.DictReader(rows):
                for column, value in row.items():
                    if value and column not in ("train/texts_per_second", "train/device_hours"):
                        found.setdefault((int(row["step"]), column), set()).add(value)
    return found


def in_process(
    folder: Path, arguments: Sequence[str], environment: dict[str, str] | None = None
) -> BaseProcess:
    """Starts `zoo` with these arguments, in that folder and a process of its own.

    Processes are forked from one that has torch imported already.
    """
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=_run, args=(folder, list(arguments), environment or {}))
    process.start()
    return process


def command(folder: Path, *arguments: str, ranks: int = 1) -> Path:
    """Runs the command to its end on that many processes.

    They have their ranks as a launcher gives them.

    Args:
        folder: where it runs; made where it is absent.
        arguments: of `zoo`.
        ranks: how many processes.

    Returns:
        The folder.
    """
    folder.mkdir(exist_ok=True)
    group = {"MASTER_PORT": str(find_free_network_port()), "WORLD_SIZE": str(ranks)}
    on_ranks(ranks, _rank, folder, list(arguments), group if ranks > 1 else {})
    return folder


def _run(folder: Path, arguments: list[str], environment: dict[str, str]) -> None:
    os.setsid()  # a group of its own, as a shell gives it
    raise SystemExit(from_a_shell(folder, arguments, environment))


def _rank(rank: int, folder: Path, arguments: list[str], group: dict[str, str]) -> None:
    with contextlib.redirect_stderr(io.StringIO()) as error:
        environment = group | {"LOCAL_RANK": str(rank)} if group else {}
        status = from_a_shell(folder, arguments, environment)
    assert status == 0, error.getvalue()[-2000:]
    assert "Traceback" not in error.getvalue(), error.getvalue()[-2000:]


def from_a_shell(folder: Path, arguments: Sequence[str], environment: dict[str, str]) -> int:
    """Runs `zoo` in a folder, in a process forked for it alone, as a shell would.

    Returns the status.
    """
    os.chdir(folder)
    os.environ.update(environment)
    # a server of its own would load the libraries again, and loaders forked by it would outlive a
    # killed run
    multiprocessing.set_start_method("fork", force=True)
    return main(list(arguments))


def assert_resuming_changes_no_loss(recipe: list[str], folder: Path) -> None:
    """Trains for 1 step, for 4 steps, and from the first checkpoint on to 4 steps.

    Args:
        recipe: `fit` and its arguments, without the number of steps.
        folder: The working directory, which then has the runs 0, 1 and 2.
    """
    for steps in ("1", "4"):
        assert main([*recipe, "--trainer.max_steps", steps]) == 0
    checkpoint = str(last_checkpoint(folder))
    assert main([*recipe, "--trainer.max_steps", "4", "--ckpt_path", checkpoint]) == 0
    whole, resumed = losses(folder, 1), losses(folder, 2)
    assert len(resumed) >= 3
    assert resumed == {step: whole[step] for step in resumed}
