"""Steps of the trainer on batches in memory, for `gpu.py`: the callback that measures, switches."""

import json
import re
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import packed_texts
import torch
from gpu_rows import NotRunError, Setting
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.data import DataLoader

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Compute, TextInput
from zoo.batch import Batch, Encoded, TextBank
from zoo.heads import Cosine
from zoo.module import ZooModule
from zoo.objectives import CSCLIP
from zoo.optim import Optimization
from zoo.training import EMA, ZooTrainer

TEXTS = 6  # a caption, a negative, two units and two foils
MIB = 1 << 20
GOAL = 0.85  # of the images per second of bare towers
KEPT = 4  # batches that are used again
KERNELS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}


class Clock:
    """Seconds and peak memory between two moments at which the device has nothing to do.

    Args:
        device: The device.
    """

    def __init__(self, device: torch.device) -> None:
        self.device, self.began = device, 0.0

    def start(self) -> None:
        """Begins to measure."""
        if self.device.type == "cuda":
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
        self.began = time.perf_counter()

    def stop(self) -> float:
        """Returns the seconds since the start."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - self.began

    def peak(self) -> float | None:
        """Returns the peak of allocated MiB since the start, None on a CPU."""
        on_gpu = self.device.type == "cuda"
        return round(torch.cuda.max_memory_allocated() / MIB) if on_gpu else None


class Steps(Callback):
    """Measures the steps of a training after a few that warm up, and bare towers on its batches.

    Args:
        warm_up: Steps that are not measured.
        steps: Steps that are measured after them.
        file: Where the first process writes what was measured as JSON; None for no file.
        bare: Whether the towers alone are measured as well, after training.
    """

    def __init__(
        self, warm_up: int, steps: int, file: str | None = None, bare: bool = False
    ) -> None:
        self.warm_up, self.steps, self.file, self.bare = warm_up, steps, file, bare
        self.values: dict[str, Any] = {}
        self._losses: list[Tensor] = []
        self._batches: list[Batch] = []
        self._clock = Clock(torch.device("cpu"))
        self._texts = self._rows = 0

    def losses(self) -> list[float]:
        """Returns the losses of all steps."""
        return [float(loss) for loss in self._losses]

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Starts the clock if no step warms up."""
        self._clock = Clock(pl_module.device)
        self._clock.start()

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Keeps the first batches for the bare towers, and counts texts."""
        if self.bare and len(self._batches) < KEPT:
            self._batches.append(batch)
        if isinstance(batch.texts, TextBank):
            self._texts += len(batch.texts)
        self._rows += len(batch)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Starts or stops the clock."""
        self._losses.append(outputs["loss"].detach())
        if trainer.global_step == self.warm_up:
            self._clock.start()
        if trainer.global_step == self.warm_up + self.steps:
            seconds = self._clock.stop()
            ranks = trainer.world_size
            self.values = {
                "images per second": round(ranks * len(batch) * self.steps / seconds, 1),
                "step, ms": round(1000 * seconds / self.steps, 2),
                "peak memory, MiB": self._clock.peak(),
                "texts per image": round(self._texts / max(self._rows, 1), 2),
                "first loss": float(self._losses[0]),
                "last loss": float(self._losses[-1]),
            }

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Measures the bare towers, and writes the file."""
        if self.bare and any(p.requires_grad for p in pl_module.backbone.parameters()):  # type: ignore[union-attr]
            self.values |= self._compare_with_towers(trainer, pl_module)
        self._batches.clear()
        if self.file is not None and trainer.is_global_zero:
            Path(self.file).write_text(json.dumps(self.values))

    def _compare_with_towers(self, trainer: Trainer, module: Any) -> dict[str, Any]:
        """Returns images per second of forward, backward and update of the towers alone."""
        (optimizer,) = trainer.optimizers
        count = max(self.steps // 2, 1)
        with torch.enable_grad():
            for i in range(-len(self._batches), count):
                if i == 0:
                    self._clock.start()
                with trainer.precision_plugin.train_step_context():
                    encoded = module.encode(self._batches[i % len(self._batches)])
                    assert isinstance(encoded.images, Encoded)
                    assert isinstance(encoded.texts, Encoded)
                    total = (
                        encoded.images.pooled.float().mean() + encoded.texts.pooled.float().mean()
                    )
                total.backward()
                optimizer.step()
                optimizer.zero_grad()
            seconds = self._clock.stop()
        bare = count * len(self._batches[0]) / seconds
        share = self.values["images per second"] / bare
        return {
            "bare towers": round(bare, 1),
            "share of bare towers": round(share, 3),
            f"at least {GOAL:.0%}": share >= GOAL,
        }


def prepare(setting: Setting) -> None:
    """Computes with one thread in a dry run, so that its seconds are those of one core."""
    if setting.dry_run:
        torch.set_num_threads(1)


def trainer_settings(setting: Setting, precision: str) -> dict[str, Any]:
    """Returns arguments of a trainer of one device that writes no files."""
    return {
        "accelerator": "gpu" if setting.device == "cuda" else "cpu",
        "devices": 1,
        "precision": precision,
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "default_root_dir": setting.folder,
    }


def fit_on_batches(trainer: Trainer, module: ZooModule, batches: list[Batch]) -> None:
    """Trains on batches that are in memory already."""
    pinned = torch.cuda.is_available()
    loader: Any = DataLoader(batches, batch_size=None, pin_memory=pinned)  # type: ignore[arg-type]
    trainer.fit(module, train_dataloaders=loader)


def draw_batches(backbone: Backbone, rows: int, count: int) -> list[Batch]:
    """Returns batches of CS-CLIP: random images, texts of the lengths of captions and units."""
    batches = []
    for seed in range(count):
        bank = packed_texts.draw_texts(TEXTS * rows, backbone.context, seed)
        roles = torch.arange(TEXTS * rows).view(TEXTS, rows)
        generator = torch.Generator().manual_seed(seed)
        shape = (rows, 3, *backbone.image_size)
        missing = torch.full((rows,), -1)
        batches.append(
            Batch(
                images=torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator),
                texts=bank,
                captions=roles[0],
                negatives=roles[1][:, None],
                positives=missing[:, None][:, :0],
                negative_images=missing,
                units=roles[2:4].T,
                foils=roles[4:].T,
                image_ids=torch.arange(rows),
                hashes=bank.hashes,
                samples=torch.arange(rows),
                primary=rows,
            )
        )
    return batches


def step(
    setting: Setting,
    batch: int = 256,
    precision: str = "",
    groups: int | None = None,
    lengths: list[int] | None = None,
    packed: bool = False,
    channels_last: bool = False,
    chunk: int | None = None,
    compiled: str | None = None,
    fused: bool = False,
    ema: bool = False,
    tf32: str = "",
    kernel: str | None = None,
    cudnn: bool = False,
    new_shapes: bool = False,
) -> dict[str, Any]:
    """Measures steps of CS-CLIP on batches in memory: the trainer without loading.

    Args:
        setting: What all rows share.
        batch: Images of a batch, as rows name it.
        precision: Of the trainer; that of the setting if empty.
        groups: How many lengths a batch has at most; None for zoo's choice on the device.
        lengths: The lengths that texts are cut to; None for zoo's.
        packed: Whether texts are packed.
        channels_last: Whether convolutions have the channels last.
        chunk: Items that a tower takes at once where a row names 256 images.
        compiled: The mode of torch.compile, `` for the default one; None for no compilation.
        fused: Whether AdamW is fused.
        ema: Whether the weights are averaged.
        tf32: `trainer` or `backends`: how TF32 is switched on.
        kernel: The only kernel that attention may take; None for torch's choice.
        cudnn: Whether texts may take cuDNN's attention too.
        new_shapes: Whether no batch is seen twice, so that each has other shapes of texts.

    Raises:
        NotRunError: There is no such kernel, mode of compilation or way to TF32 here.
    """
    prepare(setting)
    if tf32 == "backends":
        if not hasattr(torch.backends, "fp32_precision"):
            raise NotRunError(f"torch {torch.__version__} has no torch.backends.fp32_precision")
        torch.backends.fp32_precision = "tf32"
    compute = Compute(
        chunk=None if chunk is None else setting.scale_batch(chunk),
        channels_last=channels_last,
        packed=packed,
        **({} if compiled is None else compile_settings(setting, compiled)),
    )
    cut: dict[str, Any] = {} if lengths is None else {"lengths": lengths}
    torch.manual_seed(0)
    text = TextInput(max_groups=groups, **cut)
    backbone = Backbone(setting.small, text=text, compute=compute)
    module = ZooModule(backbone, CSCLIP(), Cosine(), Optimization(lr=1e-4, fused=fused))
    # every batch is seen twice before the clock starts, so that compiled graphs are there
    warm_up = 1 if setting.dry_run else 2 * KEPT
    count = 2 if setting.dry_run else 16
    drawn = warm_up + count if new_shapes else KEPT
    batches = draw_batches(backbone, setting.scale_batch(batch), drawn)
    batches = [batches[i % drawn] for i in range(warm_up + count)]
    steps = Steps(warm_up, count)
    trainer = ZooTrainer(
        **trainer_settings(setting, precision or setting.precision),
        tf32=tf32 == "trainer",
        max_steps=warm_up + count,
        callbacks=[steps, *([EMA()] if ema else [])],
    )
    if cudnn:
        with patch("zoo.backbones.backbone.without_cudnn_attention", nullcontext):
            fit_on_batches(trainer, module, batches)
        return steps.values
    if kernel is None:
        fit_on_batches(trainer, module, batches)
        return steps.values
    try:
        with sdpa_kernel(KERNELS[kernel]):
            fit_on_batches(trainer, module, batches)
    except RuntimeError as error:
        if re.search(r"no (available|viable) (kernel|backend)", str(error), re.IGNORECASE):
            raise NotRunError("torch has no such kernel for these inputs") from error
        raise
    return steps.values


def compile_settings(setting: Setting, mode: str) -> dict[str, Any]:
    """Returns the arguments of `Compute` that compile the towers.

    Raises:
        NotRunError: The mode needs a GPU.
    """
    if not mode:
        return {"compile": "aot_eager" if setting.dry_run else "inductor"}
    if setting.dry_run:
        raise NotRunError("a mode of inductor needs a GPU")
    return {"compile": mode}


def memory(setting: Setting, batch: int) -> dict[str, Any]:
    """Measures a batch size: peak memory, or that it does not fit."""
    try:
        values = step(setting, batch)
    except torch.OutOfMemoryError:
        return {"fits": False}
    return {"fits": True, **values}
