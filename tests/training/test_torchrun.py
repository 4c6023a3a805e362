"""Two nodes under torchrun, both on this machine: training, a restart, going on and measuring."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lightning import LightningModule, Trainer
from lightning.fabric.plugins.environments.lightning import find_free_network_port
from lightning.pytorch.callbacks import Callback

from tests.support.runs import command, last_checkpoint, losses

HERE = Path(__file__).parents[2]
CPU = ["--trainer.accelerator", "cpu"]
NODES = [*CPU, "--trainer.num_nodes", "2", "--trainer.strategy", "ddp", "--trainer.devices"]
CALM = ["--model.optimizer.eps", "0.01"]  # as in test_two_processes_cli.py

pytestmark = pytest.mark.slow


class KilledOnce(Callback):
    """Kills the process of rank 1 when that many steps are done, unless it was before.

    Args:
        steps: How many.
        mark: A file that is made when it is killed.
    """

    def __init__(self, steps: int, mark: str) -> None:
        self.steps, self.mark = steps, Path(mark)

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        if (trainer.global_step, trainer.global_rank) == (self.steps, 1) and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def on_two_nodes(
    folder: Path, *arguments: str, each: int, restarts: int = 0, ends: bool = True
) -> None:
    """Runs the command on two nodes of that many processes, to its end or until both are ended."""
    folder.mkdir(exist_ok=True)
    launched = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2"]
    launched += ["--nproc_per_node", str(each), "--max_restarts", str(restarts)]
    launched += ["--rdzv_backend", "c10d", "--rdzv_id", "a_job"]
    launched += ["--rdzv_endpoint", f"127.0.0.1:{find_free_network_port()}", "-m", "zoo.cli"]
    environment = {"PYTHONPATH": str(HERE), "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    nodes = [
        subprocess.Popen(
            [*launched, *arguments, *NODES, str(each)],
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        printed = [node.communicate(timeout=600)[0] for node in nodes]
    finally:
        for node in nodes:
            node.kill()
    for node, said in zip(nodes, printed, strict=True):
        assert (node.returncode == 0) == ends, said[-3000:]


def killed_once(mark: Path) -> list[str]:
    """Returns flags by which rank 1 is killed after three steps, each of which is kept."""
    kill = [f"--trainer.callbacks+={__name__}.KilledOnce", "--trainer.callbacks.steps=3"]
    return [*kill, f"--trainer.callbacks.mark={mark}", "--last_checkpoint.every_n_steps", "1"]


def same_losses(broken: Path, whole: Path) -> None:
    """Makes sure that a run that goes on after three steps has the losses of an unbroken one."""
    assert min(losses(broken, 1)) == 3
    for column in ("train/loss", "val/loss"):
        found = losses(broken, 0, column) | losses(broken, 1, column)
        assert found == pytest.approx(losses(whole, column=column), rel=1e-5)


def test_a_job_on_two_nodes_restarts_where_one_is_killed_and_has_the_losses_of_one_process(
    made_root: Path, tmp_path: Path
) -> None:
    common = ["fit", "--config", str(made_root / "recipe.yaml"), *CALM]
    one = command(tmp_path / "one", *common, *CPU)
    two, mark = tmp_path / "two", tmp_path / "killed"
    on_two_nodes(two, *common, *killed_once(mark), each=1, restarts=1)
    assert mark.exists()
    same_losses(two, one)


@pytest.mark.parametrize("each", [1, 2])
def test_a_job_on_two_nodes_that_was_killed_goes_on_and_is_measured_as_on_one_process(
    made_root: Path, tmp_path: Path, each: int
) -> None:
    common = ["fit", "--config", str(made_root / "recipe.yaml"), *CALM]
    one, two = command(tmp_path / "one", *common, *CPU), tmp_path / "two"
    on_two_nodes(two, *common, *killed_once(tmp_path / "killed"), each=each, ends=False)
    on_two_nodes(two, *common, "--ckpt_path", "last", each=each)
    same_losses(two, one)
    measure = ["validate", "--benchmarks", f"pairs:{made_root / 'pairs.csv'}", "--out", "measured"]
    measure += ["--data_root", str(made_root), "--ckpt_path", str(last_checkpoint(two, 1))]
    on_two_nodes(two, *measure, each=each)
    command(one, *measure, *CPU)
    found, expected = (
        json.loads((folder / "measured" / "results.json").read_text())["presets"][0]["metrics"]
        for folder in (two, one)
    )
    assert found == expected
    assert expected[0]["n"] == 12
