r"""What frozen features save.

Measured are epochs of LabCLIP, steps of TF-Global and TF-Local, and the memory of scoring all pairs
of a batch.

    python benchmarks/speed/frozen_features.py --data_root DATA_ROOT [--images 204] \
        [--batch 1024] [--global_batch 50] [--local_batch 50]

Images and captions are Flickr8k's; the towers are ViT-B/32 with random weights, which take the time
of trained ones. Metrics are seconds of processor time, so that other work on the machine does not
count; wall time stands beside. A head alone is its forward and backward pass and the optimiser's
step on batches that are in memory; the step that it is compared with is Lightning's, reading from
the store included.
"""

import argparse
import json
import multiprocessing
import platform
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from peak_memory import peak_now, reset_peak, return_memory

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Tuning
from zoo.batch import Batch, Encoded, TowerShapes
from zoo.datamodules.captions import CaptionDataModule
from zoo.datamodules.features import Features
from zoo.heads.base import Head
from zoo.heads.cross_modal import CrossModal
from zoo.heads.linear import Linear
from zoo.module import ZooModule
from zoo.negatives.aro import AROShuffle
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.negclip import NegCLIP
from zoo.optim import Optimization
from zoo.scores import Scores
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.support.log import filter_notices

RESULTS = Path(__file__).parents[1] / "results"
VIT_B_32 = TowerShapes(
    width=512, image_width=768, text_width=512, patches=49, prefix=1, context=77, scale=100.0
)
PATCHES, WORDS = 50, 16  # with the CLS patch; of a caption as cut


class Watched(Callback):
    """Processor and wall time of every epoch, losses and, of the first epoch, batches."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self.losses: list[float] = []
        self.batches: list[Batch] = []

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.cpu.append(-time.process_time())
        self.wall.append(-time.perf_counter())

    def on_train_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Any,
        batch: Batch,
        batch_idx: int,
    ) -> None:
        self.losses.append(float(outputs["loss"]))
        if trainer.current_epoch == 0:
            self.batches.append(batch)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.cpu[-1] += time.process_time()
        self.wall[-1] += time.perf_counter()


def main() -> None:
    """Measures, prints and writes frozen_features.json."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data_root", required=True)
    parser.add_argument("--name", default="ViT-B-32-quickgelu")
    parser.add_argument("--images", type=int, default=204, help="of Flickr8k, five captions each")
    parser.add_argument("--batch", type=int, default=1024, help="LabCLIP's")
    parser.add_argument("--global_batch", type=int, default=50)
    parser.add_argument("--local_batch", type=int, default=50)
    parser.add_argument("--epochs", type=int, default=3, help="of LabCLIP from the store")
    parser.add_argument("--steps", type=int, default=1, help="of TF-Global and TF-Local")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the file")
    arguments = parser.parse_args()
    filter_notices()
    report: dict[str, Any] = {
        "backbone": arguments.name,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "torch": version("torch"),
    }
    report["memory"] = show(
        "memory", memory()
    )  # first, while there is no freed memory to use again
    with tempfile.TemporaryDirectory() as folder:
        measure = partial(Measured, arguments, Path(folder))
        report["labclip"] = show("LabCLIP", labclip(measure, arguments))
        for granularity, batch in (
            ("global", arguments.global_batch),
            ("local", arguments.local_batch),
        ):
            report[f"tf_{granularity}"] = show(
                f"TF, {granularity}", transformer(measure, arguments, granularity, batch)
            )
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "frozen_features.json").write_text(
        json.dumps(report, indent=2) + "\n", encoding="utf-8"
    )


def show(name: str, found: dict[str, Any]) -> dict[str, Any]:
    print(name, json.dumps(found, indent=2), flush=True)
    return found


class Measured:
    """Fits a head on the first images of Flickr8k, from a store or encoding anew."""

    def __init__(
        self,
        arguments: argparse.Namespace,
        folder: Path,
        head: Head,
        objective: Objective,
        batch: int,
    ) -> None:
        root = Path(arguments.data_root)
        names = (
            (root / "flickr8k" / "Flickr_8k.trainImages.txt")
            .read_text()
            .split()[: arguments.images]
        )
        (folder / "split.txt").write_text("\n".join(names) + "\n")
        self.reader = FlickrToken(root / "flickr8k" / "Flickr8k.token.txt", folder / "split.txt")
        torch.manual_seed(0)
        backbone = Backbone(arguments.name, tuning=Tuning("none"), augmentation=None)
        self.root, self.folder, self.batch = root, folder, batch
        self.module = ZooModule(
            backbone, objective, head, Optimization(lr=1e-3, weight_decay=0.0, decay="none")
        )
        self.start = {name: value.clone() for name, value in head.state_dict().items()}

    def fit(self, stored: bool, epochs: int = 1, steps: int | None = None) -> Watched:
        """Returns what was seen, from the same start."""
        self.module.head.load_state_dict(self.start)
        negatives = (
            AROShuffle(kinds=["shuffle_nouns_and_adj"])
            if isinstance(self.module.objective, NegCLIP)
            else None
        )
        data = CaptionDataModule(
            self.reader,
            [str(self.root)],
            batch_size=self.batch,
            negatives=negatives,
            resample=False,
            features=Features(str(self.folder / f"of_{len(self.module.image_keys)}_keys"))
            if stored
            else None,
            workers=0,
        )
        watched = Watched()
        off = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary")
        quiet: dict[str, Any] = dict.fromkeys(off, False)
        trainer = Trainer(
            accelerator="cpu",
            max_epochs=epochs,
            limit_train_batches=steps,
            callbacks=[watched],
            **quiet,
        )
        trainer.fit(self.module, datamodule=data)
        return watched

    def head_alone(self, batches: Sequence[Batch]) -> float:
        """Returns seconds a step of the head on batches in memory."""
        self.module.head.load_state_dict(self.start)
        optimizer = torch.optim.AdamW(self.module.head.parameters(), lr=1e-3, weight_decay=0.0)
        began = time.process_time()
        for batch in batches:
            loss = self.module.objective(batch, Scores(self.module.head, batch)).total
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return (time.process_time() - began) / len(batches)


def labclip(measure: Callable[..., Measured], arguments: argparse.Namespace) -> dict[str, Any]:
    run = measure(Linear(), NegCLIP(), arguments.batch)
    began = time.process_time()
    filling = run.fit(stored=True)
    filled = time.process_time() - began - filling.cpu[0]
    stored, anew = run.fit(stored=True, epochs=arguments.epochs), run.fit(stored=False)
    pairs = list(zip(stored.losses, anew.losses, strict=False))
    return {
        "batch": arguments.batch,
        "rows": 5 * arguments.images,
        "encoding once, s": round(filled, 2),
        "epoch from the store, s": [round(s, 4) for s in stored.cpu],
        "epoch from the store, s of wall time": [round(s, 4) for s in stored.wall],
        "epoch encoding anew, s": round(anew.cpu[0], 2),
        "epoch encoding anew, s of wall time": round(anew.wall[0], 2),
        "times faster": round(anew.cpu[0] / max(stored.cpu), 1),
        "losses, from the store and anew": pairs,
        "largest relative difference": max(abs(a - b) / b for a, b in pairs),
    }


def transformer(
    measure: Callable[..., Measured], arguments: argparse.Namespace, granularity: str, batch: int
) -> dict[str, Any]:
    run = measure(CrossModal(granularity=granularity), CLIP(), batch)  # type: ignore[arg-type]
    loader_of(run, batch, stored=True)  # fills the store
    stored = run.fit(stored=True, steps=arguments.steps)
    alone = run.head_alone(stored.batches)
    encoding = encoding_alone(run, batch)
    step = stored.cpu[0] / arguments.steps
    return {
        "batch": batch,
        "pairs": batch * batch,
        "step from the store, s": round(step, 3),
        "step from the store, s of wall time": round(stored.wall[0] / arguments.steps, 3),
        "head alone, s": round(alone, 3),
        "over the head alone, %": round(100 * (step / alone - 1), 2),
        "reading a batch, s": round(reading(run, batch), 4),
        "reading a batch of 50, s": round(reading(run, 50), 4),
        "encoding a batch anew, s": round(encoding, 3),
        "the head's share of a step that encodes, %": round(100 * alone / (alone + encoding), 1),
    }


def loader_of(run: Measured, batch: int, stored: bool) -> Any:
    """Returns a loader of whole batches, outside any fit."""
    trainer = Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    settings = (
        Features(str(run.folder / f"of_{len(run.module.image_keys)}_keys")) if stored else None
    )
    data = CaptionDataModule(
        run.reader, [str(run.root)], batch_size=batch, resample=False, features=settings, workers=0
    )
    trainer.strategy.connect(run.module)
    data.trainer = run.module.trainer = trainer
    trainer.state.fn = "fit"  # type: ignore[assignment]
    return data.train_dataloader()


def reading(run: Measured, batch: int) -> float:
    """Returns the seconds that a batch takes to be read from the store."""
    batches = loader_of(run, batch, stored=True)
    began = time.process_time()
    n = sum(1 for _ in batches)
    return (time.process_time() - began) / n


@torch.no_grad()
def encoding_alone(run: Measured, batch: int) -> float:
    """Returns the seconds that a batch takes to be decoded and encoded."""
    batches = iter(loader_of(run, batch, stored=False))
    began = time.process_time()
    run.module.encode(next(batches))
    return time.process_time() - began


def memory() -> dict[str, Any]:
    """Measures the peak memory of scores and gradients of all pairs.

    It does so for TF-Local at its real size and for a small one at 256 x 256, each in a process of
    its own. `whole` keeps the activations of all pairs, as is done without chunks. Large blocks are
    given back to the system when they are freed (`returned`). As glibc does it by default, small
    ones that outlive a chunk take bites of them and the heap grows.
    """
    real: dict[str, int] = {}
    small = {"width": 16, "ffn": 32, "layers": 1, "attention_heads": 2}
    plan: dict[str, Any] = {
        "real size": (real, [(3, "whole"), (6, "whole"), (3, 9), (6, 9)]),
        "width 16, 1 layer": (small, [(32, "whole"), (64, "whole"), (64, 128), (256, 128)]),
        "width 16, 1 layer, memory not returned": (small, [(32, 128), (64, 128)]),
    }
    found: dict[str, Any] = {}
    for name, (settings, cases) in plan.items():
        found[name] = []
        for batch, chunk in cases:
            with multiprocessing.get_context("fork").Pool(1) as pool:
                peak = pool.apply(
                    peak_of_block, (settings, batch, chunk, "not returned" not in name)
                )
            found[name].append(
                {
                    "batch": batch,
                    "pairs": batch * batch,
                    "chunk": chunk,
                    "MiB": round(peak / 1024, 1),
                }
            )
    return found


def peak_of_block(settings: dict[str, Any], batch: int, chunk: int | str, returned: bool) -> int:
    """Returns by how many KiB forward and backward raise the process's peak."""
    if returned:
        return_memory()
    torch.manual_seed(0)
    head = CrossModal(**settings, chunk=batch * batch if isinstance(chunk, str) else chunk)
    head.attach(VIT_B_32)
    mask = {n: torch.ones(batch, n, dtype=torch.bool) for n in (PATCHES, WORDS)}
    images = Encoded(
        torch.zeros(batch, 512),
        {head.image_key: torch.randn(batch, PATCHES, 768)},
        {head.image_key: mask[PATCHES]},
    )
    texts = Encoded(
        torch.zeros(batch, 512),
        {head.text_key: torch.randn(batch, WORDS, 512)},
        {head.text_key: mask[WORDS]},
    )
    if chunk == "whole":
        import zoo.heads.cross_modal as room

        vars(room)["checkpoint"] = lambda function, *given, use_reentrant: function(*given)
    for p in head.parameters():
        p.grad = torch.zeros_like(p)
    before = reset_peak()
    head.block(head.prepare_images(images), head.prepare_texts(texts)).sum().backward()
    return peak_now() - before


if __name__ == "__main__":
    main()
