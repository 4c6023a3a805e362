"""Rows of `gpu.py` on several GPUs: torchrun, sharding, a killed rank, the memory of the loss."""

import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

import loss_memory
from gpu_fits import fit_arguments
from gpu_rows import NotRunError, Setting
from gpu_steps import prepare
from lightning import LightningModule, Trainer
from lightning.fabric.plugins.environments.lightning import find_free_network_port
from lightning.pytorch.callbacks import Callback

from zoo.cli import main

PATIENCE_S = 45.0  # how long ranks may outlive a killed one
ROWS = 1024  # of the batch whose loss is measured
LINES = 40


def require_gpus(setting: Setting, ranks: int) -> None:
    """Checks that there are enough GPUs.

    Raises:
        NotRunError: There are fewer than two, or fewer than the row needs.
    """
    if setting.devices < max(2, ranks):
        raise NotRunError(f"needs {'two' if ranks <= 2 else ranks} GPUs")


def strategy_flags(ranks: int, strategy: str) -> list[str]:
    """Returns the flags of a run on several devices of one machine."""
    return ["--trainer.devices", str(ranks), "--trainer.strategy", strategy]


def torchrun(setting: Setting, ranks: int, strategy: str = "ddp") -> dict[str, Any]:
    """Measures `zoo fit` under torchrun; each rank has as many images as one GPU has alone."""
    require_gpus(setting, ranks)
    folder = setting.folder / f"torchrun_{strategy}_{ranks}"
    arguments, file = fit_arguments(setting, folder, "cs_clip.yaml", ranks=ranks, bare=False)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc_per_node", str(ranks), "-m", "zoo.cli"]
    command += [*arguments, *strategy_flags(ranks, strategy)]
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    if setting.dry_run:
        environment["OMP_NUM_THREADS"] = "1"
    last: deque[str] = deque(maxlen=LINES)
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="")
            last.append(line)
    if process.returncode:
        messages = [line.strip() for line in last if line.startswith("zoo:") or "Error" in line]
        raise RuntimeError(f"torchrun ended with {process.returncode}: {(messages or [''])[-1]}")
    values: dict[str, Any] = json.loads(file.read_text())
    shutil.rmtree(folder)  # with its checkpoint
    return {"ranks": ranks, **values}


class KilledAt(Callback):
    """Kills the process of a rank, as a crash would, before a step.

    Args:
        step: How many steps are done then.
        rank: The rank.
        mark: A file that is made just before.
    """

    def __init__(self, step: int, rank: int, mark: str) -> None:
        self.step, self.rank, self.mark = step, rank, Path(mark)

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Sends SIGKILL to this process."""
        if (trainer.global_step, trainer.global_rank) == (self.step, self.rank):
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def kill_one(setting: Setting, ranks: int) -> dict[str, Any]:
    """Kills one of several ranks, and reports what the others print and how soon they end.

    torchrun would end the others itself, so that the ranks are started without it.
    """
    require_gpus(setting, ranks)
    folder = setting.folder / "killed"
    arguments, _ = fit_arguments(setting, folder, "cs_clip.yaml", ranks=ranks, bare=False)
    mark = folder / "killed"
    callback = {"step": 2, "rank": ranks - 1, "mark": mark}
    arguments += [f"--trainer.callbacks+={KilledAt.__module__}.{KilledAt.__name__}"]
    arguments += [f"--trainer.callbacks.{key}={value}" for key, value in callback.items()]
    arguments += strategy_flags(ranks, "ddp")
    environment = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(find_free_network_port())}
    environment |= {"WORLD_SIZE": str(ranks)}
    context = multiprocessing.get_context("fork")  # CUDA is not initialized in this process
    processes = [
        context.Process(target=run_rank, args=(folder, rank, arguments, environment, setting))
        for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    while not mark.exists() and processes[-1].is_alive():
        time.sleep(0.05)
    processes[-1].join()
    if not mark.exists():
        raise RuntimeError(f"rank {ranks - 1} ended by itself: {last_message(folder, ranks - 1)}")
    began = time.monotonic()
    for process in processes[:-1]:
        process.join(max(0.0, began + PATIENCE_S - time.monotonic()))
    seconds = time.monotonic() - began
    alive = sum(process.is_alive() for process in processes)
    for process in processes:
        process.kill()
    return {
        "backend": "gloo" if setting.dry_run else "nccl",
        "seconds until the others ended": None if alive else round(seconds, 1),
        f"alive after {PATIENCE_S:.0f} s": alive,
        "exit status of the others": ", ".join(str(p.exitcode) for p in processes[:-1]),
        "last line of the others": last_message(folder, 0),
    }


def run_rank(
    folder: Path, rank: int, arguments: list[str], environment: dict[str, str], setting: Setting
) -> None:
    """Runs `zoo` as one rank of several; what it prints is written to a separate file."""
    os.environ.update(environment | {"LOCAL_RANK": str(rank)})
    os.chdir(folder)
    prepare(setting)
    descriptor = os.open(rank_log(folder, rank), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    raise SystemExit(main(arguments))


def rank_log(folder: Path, rank: int) -> Path:
    """Returns the file of what a rank prints."""
    return folder / f"rank_{rank}.log"


def last_message(folder: Path, rank: int) -> str:
    """Returns zoo's message on a rank, or else the last line that it printed."""
    path = rank_log(folder, rank)
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    messages = [line for line in lines if line.startswith("zoo:")]
    return ([*lines, *messages] or [""])[-1][:300]


def loss_memory_of_a_rank(setting: Setting, ranks: int) -> dict[str, Any]:
    """Measures the memory of head and objective on one of several ranks."""
    require_gpus(setting, ranks)
    prepare(setting)
    rows = setting.scale_batch(ROWS)
    found = loss_memory.measure("Cosine", rows, ranks, setting.device, start_method="fork")
    return {"ranks": ranks, "rows": rows, "peak memory, MiB": found["peak"], "loss": found["loss"]}
