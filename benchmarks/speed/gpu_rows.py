"""The rows of `gpu.py`: their list, and how one is run in a separate process."""

import importlib
import multiprocessing
import os
import resource
import sys
import time
import traceback
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from zoo.support.class_names import list_classes
from zoo.support.worker_init import initialize_worker

RANKS = (1, 2, 4, 8)
BATCHES = (64, 128, 256, 512, 1024)
WORKERS = (2, 4, 8, 16)
KERNELS = ("memory-efficient", "math", "flash")
SECTIONS = {
    "correctness": "Correctness",
    "throughput": "Throughput and memory",
    "switches": "Switches",
    "devices": "Several GPUs",
}


class NotRunError(Exception):
    """A row cannot be run here, for instance because it needs more GPUs."""


@dataclass(frozen=True)
class Setting:
    """What all rows share: the device and the sizes.

    Attributes:
        device: `cuda` or `cpu`.
        folder: The folder of data and runs.
        devices: The number of GPUs, or of processes in place of them in a dry run.
        small: The architecture in place of ViT-B/32, and that itself.
        large: The same for ViT-L/14.
        batch: Images of a batch where a row names 256.
        local_batch: Images of a batch of TF-Local where a row names 50.
        workers: Workers of a loader where rows need the same number.
        images: How many JPEGs there are.
        size: Height and width of a JPEG.
        warm_up: Steps that are not measured.
        steps: Steps that are measured after them.
    """

    device: str
    folder: Path
    devices: int = 1
    small: str = "ViT-B-32-quickgelu"
    large: str = "ViT-L-14-quickgelu"
    batch: int = 256
    local_batch: int = 50
    workers: int = 8
    images: int = 512
    size: tuple[int, int] = (480, 640)
    warm_up: int = 10
    steps: int = 30

    @classmethod
    def for_dry_run(cls, folder: Path) -> "Setting":
        """Returns the setting of a dry run on a CPU."""
        tiny = "zoo-tiny"
        return cls("cpu", folder, 2, tiny, tiny, 8, 2, 1, 8, (96, 128), warm_up=1, steps=2)

    @property
    def dry_run(self) -> bool:
        """Whether the rows run on a CPU."""
        return self.device == "cpu"

    @property
    def precision(self) -> str:
        """The precision of the trainer where a row names none."""
        return "32-true" if self.dry_run else "bf16-mixed"

    def scale_batch(self, batch: int) -> int:
        """Returns the images of a batch where a row names this many."""
        return max(1, batch * self.batch // 256)


@dataclass(frozen=True)
class Row:
    """A row of the results.

    Attributes:
        name: Its unique name in gpu.json.
        section: A key of `SECTIONS`.
        title: What tables show.
        function: `module:function`, which takes the setting and the arguments and returns values.
        arguments: Arguments of the function.
        limit_s: Seconds after which the row is ended.
        base: The row whose images per second this row is compared with.
    """

    name: str
    section: str
    title: str
    function: str
    arguments: dict[str, Any] = field(default_factory=dict)
    limit_s: float = 60
    base: str | None = None


def machine_row() -> Row:
    """Returns the row that describes the machine and proves that the device can be used."""
    return Row("machine", "machine", "the machine", "gpu_machine:describe")


def plan() -> list[Row]:
    """Returns all rows, important ones first, and last those that may take minutes."""
    return [*_correctness(), *_throughput(), *_switches(), *_devices(), *_memory(), *_modes()]


def _correctness() -> list[Row]:
    rows = [
        Row(
            f"pairs {name}",
            "correctness",
            f"{name} with every head",
            "gpu_correctness:every_head",
            {"objective": path},
        )
        for name, path, _ in list_classes("objectives")
        if path.startswith("zoo.")
    ]
    return [
        *rows,
        Row("one rank", "correctness", "a process group of one rank", "gpu_correctness:one_rank"),
        Row(
            "resume", "correctness", "`zoo fit`, interrupted and resumed", "gpu_correctness:resume"
        ),
        Row(
            "checkpoint",
            "correctness",
            "a checkpoint of the device, evaluated on the CPU",
            "gpu_correctness:checkpoint_on_cpu",
        ),
    ]


def _throughput() -> list[Row]:
    def fit(name: str, title: str, base: str | None = None, **arguments: Any) -> Row:
        return Row(name, "throughput", title, "gpu_fits:fit", arguments, 90, base)

    return [
        fit("CS-CLIP", "CS-CLIP, ViT-B/32, batch 256", recipe="cs_clip.yaml"),
        fit(
            "CS-CLIP, 12 texts",
            "the same, 12 texts per image",
            recipe="cs_clip.yaml",
            units={"n_units": 5, "p_rel": 0.5, "with_replacement": False},
        ),
        fit("CLIP", "CLIP, ViT-B/32, batch 256, 8 workers", recipe="clip.yaml", fixed_workers=True),
        Row(
            "open_clip",
            "throughput",
            "the same by open_clip's trainer",
            "gpu_fits:fit_by_open_clip",
            base="CLIP",
        ),
        fit(
            "CS-CLIP, L/14",
            "CS-CLIP, ViT-L/14, batch 256, chunks of 64",
            recipe="cs_clip.yaml",
            large=True,
            chunk=64,
        ),
        fit("TF-Local", "TF-Local, ViT-B/32, batch 50", recipe="tf_local.yaml"),
    ]


def _memory() -> list[Row]:
    return [
        Row(
            f"memory {n}",
            "throughput",
            f"CS-CLIP, ViT-B/32, batch {n}, without loading",
            "gpu_steps:memory",
            {"batch": n},
        )
        for n in BATCHES
    ]


def _switch(title: str, base: str | None = "base", limit_s: float = 60, **arguments: Any) -> Row:
    return Row(title, "switches", title, "gpu_steps:step", arguments, limit_s, base)


def _modes() -> list[Row]:
    modes = ("reduce-overhead", "max-autotune")
    return [
        _switch("torch.compile", limit_s=120, compiled=""),
        _switch("torch.compile, fused AdamW", limit_s=120, compiled="", fused=True),
        *(_switch(f"torch.compile, {mode}", limit_s=120, compiled=mode) for mode in modes),
    ]


def _switches() -> list[Row]:
    base = "CS-CLIP, ViT-B/32, batch 256, without loading"
    return [
        Row("base", "switches", base, "gpu_steps:step"),
        _switch("bf16", precision="bf16-mixed"),
        _switch("other texts in each batch", new_shapes=True),
        _switch(
            "other texts in each batch, attention: cuDNN",
            base="other texts in each batch",
            new_shapes=True,
            cudnn=True,
        ),
        _switch("chunks of 64", chunk=64),
        _switch("packed texts", packed=True),
        _switch("fp32", precision="32-true"),
        _switch("fp32, TF32 by trainer.tf32", base="fp32", precision="32-true", tf32="trainer"),
        _switch(
            "fp32, TF32 by torch.backends.fp32_precision",
            base="fp32",
            precision="32-true",
            tf32="backends",
        ),
        *(
            Row(
                f"workers {n}",
                "switches",
                f"`zoo fit` of CS-CLIP, {n} workers",
                "gpu_fits:fit",
                {"recipe": "cs_clip.yaml", "workers": n, "bare": False},
                base="base",
            )
            for n in WORKERS
        ),
        _switch("fused AdamW", fused=True),
        *(_switch(f"attention: {kernel}", kernel=kernel) for kernel in KERNELS),
        *(_switch(f"text groups: {n}", groups=n) for n in (1, 2, 6)),
        _switch("text groups: 1, uncut", lengths=[]),
        _switch("EMA", ema=True),
        _switch("channels_last", channels_last=True),
    ]


def _devices() -> list[Row]:
    def ranks(title: str, function: str, n: int, base: str | None = None, **more: Any) -> Row:
        return Row(
            f"{title}, {n}",
            "devices",
            f"{title}, {n} {'GPU' if n == 1 else 'GPUs'}",
            f"gpu_ranks:{function}",
            {"ranks": n, **more},
            90,
            base,
        )

    return [
        *(ranks("torchrun", "torchrun", n, None if n == 1 else "torchrun, 1") for n in RANKS),
        ranks("torchrun, sharded", "torchrun", 2, "torchrun, 2", strategy="sharded"),
        ranks("one rank killed", "kill_one", 2),
        *(ranks("memory of the loss", "loss_memory_of_a_rank", n) for n in RANKS),
    ]


def run_row(
    row: Row, setting: Setting, log: Path, start_method: str, connection: Connection
) -> None:
    """Runs a row in this process, which was started for it, and sends what came of it.

    Args:
        row: The row.
        setting: What all rows share.
        log: The file that everything printed is appended to.
        start_method: How loaders start their workers, as in a process that nothing else started.
        connection: Where status, message, error and values are sent.
    """
    initialize_worker()  # a row that hangs ends with the process that would end it
    os.setsid()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # dumping gigabytes would take the time
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    sys.stdout, sys.stderr = (os.fdopen(s, "w", buffering=1, closefd=False) for s in (1, 2))
    multiprocessing.set_start_method(start_method, force=True)
    # nothing stays in the caches of this user
    os.environ |= {"ZOO_TABLES": str(setting.folder / "tables"), "ZOO_EMBEDDINGS": "off"}
    result: dict[str, Any] = {"status": "measured", "message": "", "error": "", "values": {}}
    began = time.monotonic()
    try:
        module, _, function = row.function.partition(":")
        values = getattr(importlib.import_module(module), function)(setting, **row.arguments)
        result["values"] = values
    except NotRunError as reason:
        result |= {"status": "not run", "message": str(reason)}
    except BaseException as error:
        traceback.print_exc()
        line = traceback.format_exception_only(error)[-1].strip().splitlines()[0]
        result |= {
            "status": "failed",
            "message": f"an error of type {type(error).__name__} ended the row",
            "error": line,
        }
    result["seconds"] = round(time.monotonic() - began, 1)
    connection.send(result)
    connection.close()
