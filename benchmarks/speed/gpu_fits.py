"""`zoo fit` and open_clip's trainer on synthetic captions, measured for `gpu.py`."""

import contextlib
import io
import json
import shutil
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import open_clip
import synthetic_captions
import torch
from gpu_rows import NotRunError, Setting
from gpu_steps import Clock, Steps, prepare
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from zoo.backbones.backbone import Backbone
from zoo.cli import main

CS_CLIP, TF_LOCAL = "cs_clip.yaml", "tf_local.yaml"


class Copied(io.StringIO):
    """Text that is written to another stream as well.

    Args:
        stream: The other stream.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream

    def write(self, text: str) -> int:
        """Writes to both."""
        self.stream.write(text)
        return super().write(text)


def run_zoo(folder: Path, arguments: Sequence[str], expected: int = 0) -> None:
    """Runs a command of zoo in a folder.

    Args:
        folder: The folder.
        arguments: The command and its arguments.
        expected: The exit status.

    Raises:
        RuntimeError: It ends with another exit status.
    """
    error = Copied(sys.stderr)
    with contextlib.chdir(folder), contextlib.redirect_stderr(error):
        status = main(list(arguments))
    if status != expected:
        last = (error.getvalue().strip().splitlines() or [""])[-1]
        raise RuntimeError(f"`zoo {arguments[0]}` ended with status {status}: {last}")


def synthetic_data(setting: Setting, captions: int) -> tuple[Path, Path]:
    """Returns a table of captions and their units, which are made with their images if needed."""
    root = setting.folder / "data"
    if not root.exists():
        part = setting.folder / "data_part"
        synthetic_captions.make_images(part / "images", setting.images, setting.size)
        part.rename(root)
    return synthetic_captions.write_captions(root, setting.images, captions)


def synthetic_recipe(
    setting: Setting,
    folder: Path,
    name: str,
    captions: int,
    precision: str | None = None,
    units: dict[str, Any] | None = None,
    chunk: int | None = None,
) -> tuple[Path, Path]:
    """Writes an overlay by which a recipe trains on synthetic captions.

    Args:
        setting: What all rows share.
        folder: The folder of the overlay; made.
        name: The architecture, whose weights are random.
        captions: How many captions there are.
        precision: Of the trainer; None for that of the setting.
        units: Arguments of the sampler of units; None for a recipe without units.
        chunk: `backbone.compute.chunk`.

    Returns:
        The overlay and the data root.
    """
    folder.mkdir(parents=True, exist_ok=True)
    table, units_file = synthetic_data(setting, captions)
    reader = {"class_path": "CsvTable", "init_args": {"file": str(table)}}
    data: dict[str, Any] = {"train": reader, "val": None, "expected_images": None}
    if units is not None:
        sampler = {"file": str(units_file), **units}
        data["units"] = {"class_path": "UnitSampler", "init_args": sampler}
    backbone = {"name": name, "pretrained": None, "compute": {"chunk": chunk}}
    trainer = {
        "accelerator": "gpu" if setting.device == "cuda" else "cpu",
        "devices": 1,
        "precision": precision or setting.precision,
        "enable_progress_bar": False,
    }
    overlay = {
        "model": {"backbone": {"class_path": "Backbone", "init_args": backbone}},
        "data": {"init_args": data},
        "trainer": trainer,
    }
    path = folder / "overlay.json"
    path.write_text(json.dumps(overlay))  # JSON is YAML
    return path, table.parent


def fit_arguments(
    setting: Setting,
    folder: Path,
    recipe: str,
    ranks: int = 1,
    workers: int | None = None,
    fixed_workers: bool = False,
    large: bool = False,
    bare: bool = True,
    units: dict[str, Any] | None = None,
    chunk: int | None = None,
) -> tuple[list[str], Path]:
    """Returns the arguments of a measured `zoo fit`, and the file of what is measured.

    Args:
        setting: What all rows share.
        folder: The folder of the run; made.
        recipe: The recipe.
        ranks: Processes, each with a batch of the size that one process has alone.
        workers: Workers of the loader; None for zoo's choice.
        fixed_workers: Whether there are as many workers as for open_clip's trainer.
        large: Whether the backbone is ViT-L/14.
        bare: Whether bare towers are measured as well.
        units: Arguments of the sampler of units; None for the recipe's.
        chunk: Items that a tower takes at once where a row names 256 images.
    """
    warm_up, counted = setting.warm_up, setting.steps
    if large:  # a step takes about ten times as long
        warm_up, counted = max(warm_up // 4, 1), max(counted // 4, 1)
    steps = warm_up + counted
    batch = ranks * (setting.local_batch if recipe == TF_LOCAL else setting.batch)
    overlay, root = synthetic_recipe(
        setting,
        folder,
        setting.large if large else setting.small,
        batch * steps,
        units=(units or {}) if recipe == CS_CLIP else None,
        chunk=None if chunk is None else setting.scale_batch(chunk),
    )
    file = folder / "measured.json"
    callback = {"warm_up": warm_up, "steps": counted, "file": file, "bare": bare}
    arguments = ["fit", "--config", recipe, "--config", str(overlay), "--data_root", str(root)]
    arguments += ["--data.batch_size", str(batch), "--trainer.max_steps", str(steps)]
    arguments += [f"--trainer.callbacks+={Steps.__module__}.{Steps.__name__}"]
    arguments += [f"--trainer.callbacks.{key}={value}" for key, value in callback.items()]
    if recipe == TF_LOCAL:  # its checkpoint is chosen on captions that are not trained on
        arguments += ["--data.val_share", "null", "--best_checkpoint.monitor", "val/loss"]
    workers = setting.workers if fixed_workers else workers
    if workers is not None:
        arguments += ["--data.workers", str(workers)]
    return arguments, file


def fit(setting: Setting, **arguments: Any) -> dict[str, Any]:
    """Measures `zoo fit` itself, with loading, transfer and logging.

    Args:
        setting: What all rows share.
        arguments: As for `fit_arguments`.

    Returns:
        What was measured.
    """
    prepare(setting)
    folder = setting.folder / f"fit_{time.monotonic_ns()}"
    command, file = fit_arguments(setting, folder, **arguments)
    try:
        run_zoo(folder, command)
        values: dict[str, Any] = json.loads(file.read_text())
    finally:
        shutil.rmtree(folder)  # a checkpoint of ViT-L/14 has 5 GB
    return values


class CaptionFiles(Dataset[tuple[Tensor, Tensor]]):
    """Images and captions as open_clip's trainer reads them from a table.

    Args:
        table: The table.
        transform: Applied to each image.
        tokenizer: Applied to each caption.
    """

    def __init__(self, table: Path, transform: Any, tokenizer: Any) -> None:
        self.rows = [line.split("\t") for line in table.read_text().splitlines()[1:]]
        self.transform, self.tokenizer = transform, tokenizer

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        path, caption = self.rows[i]
        return self.transform(Image.open(path)), self.tokenizer([caption])[0]


class TimedLoader:
    """A loader as open_clip's trainer takes it, whose batches are timed after some that warm up.

    Args:
        loader: The batches.
        clock: The clock.
        warm_up: Batches that are not timed.
    """

    def __init__(self, loader: Any, clock: Clock, warm_up: int) -> None:
        self.loader, self.clock, self.warm_up = loader, clock, warm_up
        self.num_batches, self.num_samples = len(loader), len(loader.dataset)
        self.seconds = 0.0

    def __iter__(self) -> Iterator[Any]:
        for i, batch in enumerate(self.loader):
            if i == self.warm_up:
                self.clock.start()
            yield batch
        self.seconds = self.clock.stop()


def fit_by_open_clip(setting: Setting) -> dict[str, Any]:
    """Measures an epoch of open_clip's trainer on the images and captions of plain CLIP.

    Raises:
        NotRunError: open_clip's trainer cannot be imported.
    """
    try:
        from open_clip_train.train import train_one_epoch
    except ImportError as error:
        raise NotRunError(f"open_clip's trainer cannot be imported: {error}") from error
    prepare(setting)
    device = torch.device(setting.device)
    steps = setting.warm_up + setting.steps
    table, _ = synthetic_data(setting, setting.batch * steps)
    Backbone("zoo-tiny")  # registers zoo's architectures
    model, transform, _ = open_clip.create_model_and_transforms(setting.small, device=device)
    model.output_dict = True
    files = CaptionFiles(table, transform, open_clip.get_tokenizer(setting.small))
    loader = DataLoader(
        files,
        setting.batch,
        shuffle=True,
        num_workers=setting.workers,
        pin_memory=device.type == "cuda",
        drop_last=True,
    )
    timed = TimedLoader(loader, Clock(device), setting.warm_up)
    arguments = Namespace(
        device=setting.device,
        precision="fp32" if setting.dry_run else "amp_bf16",
        distill=False,
        skip_scheduler=True,
        accum_freq=1,
        grad_clip_norm=None,
        horovod=False,
        log_every_n_steps=100,
        batch_size=setting.batch,
        world_size=1,
        rank=0,
        local_rank=0,
        log_local=False,
        wandb=False,
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-6, weight_decay=0.01)
    data = {"train": SimpleNamespace(dataloader=timed, set_epoch=lambda epoch: None)}
    train_one_epoch(model, data, open_clip.ClipLoss(), 0, optimizer, None, None, None, arguments)
    return {
        "images per second": round(setting.batch * setting.steps / timed.seconds, 1),
        "step, ms": round(1000 * timed.seconds / setting.steps, 2),
        "peak memory, MiB": timed.clock.peak(),
        "texts per image": 1.0,
    }
