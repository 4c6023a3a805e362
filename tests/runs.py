"""Runs of the command line: what they left, variants of the made recipe, and runs in processes of their own."""

import csv
import multiprocessing
import os
import signal
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import yaml
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback

from zoo.cli import main

Settings = dict[str, Any]


def last_checkpoint(folder: Path, version: int = 0) -> Path:
    return folder / "runs" / f"version_{version}" / "checkpoints" / "last.ckpt"


def losses(folder: Path, version: int = 0, column: str = "train/loss") -> dict[int, float]:
    """Returns a run's figures by step."""
    with (folder / "runs" / f"version_{version}" / "metrics.csv").open() as file:
        return {int(row["step"]): float(row[column]) for row in csv.DictReader(file) if row[column]}


def variant(
    folder: Path, made_root: Path, model: Settings | None = None, data: Settings | None = None
) -> Path:
    """Writes the made recipe with other parts of the model and other arguments of the data; returns its path."""
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


def in_process(
    folder: Path, arguments: Sequence[str], environment: dict[str, str] | None = None
) -> BaseProcess:
    """Starts `zoo` with these arguments, in that folder and a process of its own. Processes are forked from one that has torch
    imported already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["zoo.lightning_cli"])
    process = context.Process(target=_run, args=(folder, list(arguments), environment or {}))
    process.start()
    return process


def _run(folder: Path, arguments: list[str], environment: dict[str, str]) -> None:
    os.chdir(folder)
    os.environ.update(environment)
    multiprocessing.set_start_method(
        "fork", force=True
    )  # as from a shell: loaders forked by a server would outlive a killed run
    raise SystemExit(main(arguments))
