"""Correctness rows of `gpu.py`: the device against the CPU, and resumed runs against whole ones."""

import csv
import importlib
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from gpu_fits import run_zoo, synthetic_data, synthetic_recipe
from gpu_rows import Setting
from gpu_steps import Steps, fit_on_batches, prepare, trainer_settings
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from pyarrow.parquet import read_table
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, build_text_bank
from zoo.heads import Cosine
from zoo.module import ZooModule
from zoo.objectives import CSCLIP
from zoo.optim import Optimization
from zoo.regions_and_phrases import Grid
from zoo.results.comparison.alignment import align_runs, largest_score_difference
from zoo.support.class_names import list_classes
from zoo.support.distributed import leave_group
from zoo.training import ZooTrainer

# the device's fp32 sums have another order; a gradient is compared as one vector
FP32_LOSS, FP32_GRADIENT = 1e-4, 1e-3
BF16_LOSS, BF16_COSINE = 5e-3, 0.99
# tokens in bf16: where two patches are nearly alike, the maximum falls on the other one, and a
# transformer of three rows distinguishes them little at its start
BF16_COSINES = {"MaxSim": 0.9, "CrossModal": 0.9}
# AdamW divides gradients by their size, and so lifts last digits to whole steps unless eps is large
CALM = 1e-2
CAPTIONS = 32  # of a tiny run
RESUMED = 1e-4
SCORES = 1e-3
SMALL_HEADS: dict[str, list[dict[str, Any]]] = {
    "CrossModal": [
        {"granularity": granularity, "width": 8, "ffn": 16, "layers": 2, "attention_heads": 2}
        for granularity in ("local", "global")
    ],
    "StructureGuided": [{"views": Grid(sizes=[(112, 112)])}],
}
TEXTS = [
    f"a {color} {shape}"
    for color in ("red", "green", "blue")
    for shape in ("square above a circle", "dot")
]


def every_head(setting: Setting, objective: str) -> dict[str, Any]:
    """Compares loss and gradients of an objective with every head, fp32 and bf16, with the CPU."""
    device = torch.device(setting.device)
    prepare_fp32(setting)
    seen: dict[str, list[tuple[float, str]]] = {
        name: [] for name in ("fp32 loss", "fp32 gradient", "bf16 loss", "bf16 cosine")
    }
    errors, beyond = [], []
    batch = small_batch(Backbone("zoo-tiny"))
    for name, build in heads():
        torch.manual_seed(0)
        try:
            module = ZooModule(Backbone("zoo-tiny"), load_class(objective)(), build())
            found = compare(module.eval(), batch, device)  # without dropout
        except (RuntimeError, ValueError, TypeError) as error:
            errors.append(f"{name}: {str(error).splitlines()[0]}")
            continue
        for column, value in found.items():
            seen[column].append((value, name))
        if not is_within_bounds(found, name):
            beyond.append(name)
    values: dict[str, Any] = {"heads": len(heads())}
    for column, pairs in seen.items():
        worst = min if column == "bf16 cosine" else max
        values[column] = worst(pairs)[0] if pairs else None
    values["bounds"] = (
        f"{FP32_LOSS:g}, {FP32_GRADIENT:g}, {BF16_LOSS:g}, cosine {BF16_COSINE:g} "
        f"({', '.join(f'{bound:g} for {head}' for head, bound in BF16_COSINES.items())})"
    )
    values["beyond them"] = "; ".join([*beyond, *errors])
    return values | {"holds": not beyond and not errors}


def is_within_bounds(found: dict[str, float], head: str) -> bool:
    """Returns whether a pair of objective and head is as close to the CPU as it has to be."""
    return (
        found["fp32 loss"] <= FP32_LOSS
        and found["fp32 gradient"] <= FP32_GRADIENT
        and found["bf16 loss"] <= BF16_LOSS
        and found["bf16 cosine"] >= BF16_COSINES.get(head.split()[0], BF16_COSINE)
    )


def heads() -> list[tuple[str, Any]]:
    """Returns every shipped head by name, small, with a bias so that sigmoid losses take it."""
    found = []
    for name, path, _ in list_classes("heads"):
        for settings in SMALL_HEADS.get(name, [{}]):
            kind = load_class(path)
            label = f"{name} {settings['granularity']}" if "granularity" in settings else name
            found.append((label, lambda kind=kind, settings=settings: kind(bias=-1.0, **settings)))
    return found


def load_class(path: str) -> Any:
    """Returns a class by its dotted path."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def compare(module: ZooModule, batch: Batch, device: torch.device) -> dict[str, float]:
    """Returns how far loss and gradient of a module on the device are from those on the CPU."""
    start = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    found = []
    for where, bf16 in ((torch.device("cpu"), False), (device, False), (device, True)):
        module.load_state_dict(start)
        module.zero_grad()
        found.append(step(module.to(where), batch.to(where), bf16))
    (loss, gradient), on_device, half = found
    return {
        "fp32 loss": relative_difference(on_device[0], loss),
        "fp32 gradient": relative_difference(on_device[1], gradient),
        "bf16 loss": relative_difference(half[0], loss),
        "bf16 cosine": float(torch.cosine_similarity(half[1], gradient, dim=0)),
    }


def relative_difference(value: Tensor, expected: Tensor) -> float:
    """Returns the length of the difference over that of what is expected, or infinity."""
    off = float((value - expected).norm() / expected.norm())
    return off if math.isfinite(off) else math.inf


def step(module: ZooModule, batch: Batch, bf16: bool) -> tuple[Tensor, Tensor]:
    """Returns the loss and the gradient, as one vector, on the CPU."""
    with torch.autocast(batch.captions.device.type, torch.bfloat16, enabled=bf16):
        encoded, scores = module.score(batch)
        loss = module.objective(encoded, scores).total
    loss.backward()
    gradients = [p.grad.flatten().float() for p in module.parameters() if p.grad is not None]
    return loss.detach().double().cpu(), torch.cat(gradients).cpu()


def small_batch(backbone: Backbone) -> Batch:
    """Returns three rows, some of whose texts and images are missing or have two roles."""
    bank, _ = build_text_bank(*backbone.tokenizer(TEXTS))
    height, width = backbone.image_size
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (5, 3, height, width), dtype=torch.uint8, generator=generator)
    return Batch(
        images=images,
        texts=bank,
        captions=torch.tensor([0, 2, 4]),
        negatives=torch.tensor([[1, 3], [-1, 5], [0, -1]]),
        positives=torch.tensor([[1], [3], [-1]]),
        negative_images=torch.tensor([3, 4, -1]),
        units=torch.tensor([[1, 3], [3, -1], [5, 1]]),
        foils=torch.tensor([[3, 5], [1, -1], [-1, 3]]),
        image_ids=torch.arange(3),
        hashes=bank.hashes,
        samples=torch.arange(3),
        primary=3,
    )


def prepare_fp32(setting: Setting) -> None:
    """Has products and convolutions of fp32 computed in fp32."""
    prepare(setting)
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False


def one_rank(setting: Setting) -> dict[str, Any]:
    """Compares steps in a process group of one rank with those without a group."""
    prepare_fp32(setting)
    found = {}
    for strategy in ("auto", "ddp"):
        torch.manual_seed(0)
        module = ZooModule(
            Backbone("zoo-tiny"), CSCLIP(), Cosine(), Optimization(lr=1e-3, eps=CALM)
        )
        batches = [replace(small_batch(module.backbone), samples=torch.arange(3))] * 4
        steps = Steps(warm_up=0, steps=len(batches))
        settings = trainer_settings(setting, "32-true") | {"strategy": strategy}
        trainer = ZooTrainer(**settings, max_steps=len(batches), callbacks=[steps])
        fit_on_batches(trainer, module, batches)
        backend = torch.distributed.get_backend() if strategy == "ddp" else ""
        weights = torch.cat([p.detach().flatten().cpu() for p in module.parameters()])
        found[strategy] = (torch.tensor(steps.losses()), weights, backend)
        leave_group()
    (losses, weights, _), (of_rank, moved, backend) = found["auto"], found["ddp"]
    off = {
        "loss": relative_difference(of_rank, losses),
        "weights": relative_difference(moved, weights),
    }
    bounds = {"bounds": f"{FP32_LOSS:g} for both"}
    return {"backend": backend} | off | bounds | {"holds": max(off.values()) <= FP32_LOSS}


class InterruptedAt(Callback):
    """Interrupts a run as Ctrl-C does, before a step.

    Args:
        step: How many steps are done then.
    """

    def __init__(self, step: int) -> None:
        self.step = step

    def on_train_batch_start(
        self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int
    ) -> None:
        """Raises KeyboardInterrupt."""
        if trainer.global_step == self.step:
            raise KeyboardInterrupt


def tiny_run(setting: Setting, folder: Path, *flags: str, interrupted: bool = False) -> None:
    """Runs `zoo fit` of a tiny CS-CLIP in fp32 in a folder."""
    recipe, root = synthetic_recipe(
        setting, folder, "zoo-tiny", CAPTIONS, precision="32-true", units={}
    )
    arguments = ["fit", "--config", "cs_clip.yaml", "--config", str(recipe)]
    arguments += ["--data_root", str(root), "--data.batch_size", "4", "--data.workers", "1"]
    arguments += ["--trainer.max_epochs", "1", "--last_checkpoint.every_n_steps", "3"]
    arguments += ["--model.optimizer.lr", "5e-4", "--model.optimizer.eps", str(CALM), *flags]
    run_zoo(folder, arguments, expected=130 if interrupted else 0)


def logged_losses(folder: Path, version: int) -> dict[int, float]:
    """Returns the training losses of a run by step."""
    with (folder / "runs" / f"version_{version}" / "metrics.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row.get("train/loss")]
    return {int(row["step"]): float(row["train/loss"]) for row in rows}


def resume(setting: Setting) -> dict[str, Any]:
    """Compares the losses of an interrupted and resumed run with those of unbroken ones."""
    prepare_fp32(setting)
    folders = {name: setting.folder / f"resume_{name}" for name in ("whole", "again", "broken")}
    tiny_run(setting, folders["whole"])
    tiny_run(setting, folders["again"])
    callback = f"{InterruptedAt.__module__}.InterruptedAt"
    stop = ["--trainer.callbacks+=" + callback, "--trainer.callbacks.step", "5"]
    tiny_run(setting, folders["broken"], *stop, interrupted=True)
    tiny_run(setting, folders["broken"], "--ckpt_path", "last")
    whole, again = (logged_losses(folders[name], 0) for name in ("whole", "again"))
    resumed = logged_losses(folders["broken"], 1)
    expected = {step: loss for step, loss in whole.items() if step >= min(resumed)}
    values: dict[str, Any] = {
        "loss": largest_difference(resumed, expected),
        "loss of a second unbroken run": largest_difference(again, whole),
        "resumed steps": len(resumed),
        "bounds": f"{RESUMED:g}",
    }
    return values | {"holds": len(expected) > 1 and values["loss"] <= RESUMED}


def largest_difference(found: dict[int, float], expected: dict[int, float]) -> float:
    """Returns the largest relative difference by step, infinite where steps are missing."""
    if found.keys() != expected.keys():
        return math.inf
    return max(abs(found[step] / loss - 1) for step, loss in expected.items())


def checkpoint_on_cpu(setting: Setting) -> dict[str, Any]:
    """Compares the scores of a checkpoint of the device on the CPU with those on the device."""
    prepare_fp32(setting)
    folder = setting.folder / "checkpoint"
    tiny_run(setting, folder)
    pairs, root = caption_pairs(setting, folder), setting.folder / "data"
    checkpoint = folder / "runs" / "version_0" / "checkpoints" / "last.ckpt"
    found = {}
    for accelerator in dict.fromkeys(("gpu" if setting.device == "cuda" else "cpu", "cpu")):
        out = folder / f"on_{accelerator}"
        arguments = ["validate", "--benchmarks", f"pairs:{pairs}", "--data_root", str(root)]
        arguments += ["--ckpt_path", str(checkpoint), "--out", str(out), "--cache", "off"]
        arguments += ["--trainer.accelerator", accelerator, "--trainer.precision", "32-true"]
        run_zoo(folder, arguments)
        found[accelerator] = read_table(out / "cases.parquet")
    tables = [found.get("gpu", found["cpu"]), found["cpu"]]
    values: dict[str, Any] = {
        "cases": tables[0].num_rows,
        "scores": largest_score_difference(*align_runs(tables).tables),
        "bounds": f"{SCORES:g}",
    }
    return values | {"holds": values["cases"] > 0 and values["scores"] <= SCORES}


def caption_pairs(setting: Setting, folder: Path) -> Path:
    """Writes a benchmark of pairs: each caption against that of the next image."""
    table, _ = synthetic_data(setting, CAPTIONS)
    rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
    path = folder / "pairs.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", "caption", "foil", "subset"])
        for (image, caption), (_, foil) in pairwise(rows):
            writer.writerow([image, caption, foil, "synthetic"])
    return path
