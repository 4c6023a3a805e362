r"""What a training step of CS-CLIP spends its time on: towers, head, gathering, loading, the rest.

    python benchmarks/speed/step_shares.py --data_root DATA_ROOT --units F.jsonl
        [--name zoo-tiny ViT-B-32-quickgelu] [--batch 32] [--steps 4] [--device cuda]

The step is that of `zoo fit`: Lightning's loop, logging and metrics included, on captions of
Flickr8k. Each moment counts for the innermost part that is under way. The backward pass counts for
head and objective until the gradient reaches the texts, then for their tower, and from the images
on for theirs. Seconds are of the processor on a CPU, in one thread and with loading in the same
process, so that other work on the machine does not count; on a GPU they are of the clock, after
all that was asked of it is done. `--trace` writes torch.profiler's table of operations besides.
Written as step_shares_DEVICE.json and .md.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning import LightningModule, Trainer
from lightning.pytorch.callbacks import Callback
from torch import Tensor
from torch.profiler import profile
from torch.utils.data.dataloader import _BaseDataLoaderIter

from zoo.backbones.backbone import Backbone
from zoo.batch import Encoded
from zoo.datamodules.captions import CaptionDataModule
from zoo.module import ZooModule, zoo_module
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.cs_clip import CSCLIP
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.support import distributed
from zoo.training.trainer import ZooTrainer
from zoo.units.sampler import UnitSampler

RESULTS = Path(__file__).parents[1] / "results"
REST = "Lightning and the rest"
PARTS = (
    "image tower",
    "text tower",
    "head and objective",
    "gather",
    "update",
    "logging and metrics",
    "loading",
    REST,
)


class Shares:
    """Seconds by part; each moment is the innermost part's.

    Args:
        device: Where the step runs.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.under_way = [REST]
        self.since = self.now()

    def now(self) -> float:
        """Returns seconds of the processor, or of the clock where a GPU does the work."""
        if self.device.type == "cpu":
            return time.process_time()
        torch.cuda.synchronize()
        return time.perf_counter()

    def begin(self) -> None:
        """Forgets what was counted."""
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.since = self.now()

    def switch(self, part: str) -> None:
        """Ends the innermost part and begins another in its place."""
        now = self.now()
        self.seconds[self.under_way[-1]] += now - self.since
        self.under_way[-1], self.since = part, now

    def counted(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function, whose time is the part's."""

        def counting(*args: Any, **kwargs: Any) -> Any:
            outer = self.under_way[-1]
            self.switch(outer)
            self.under_way.append(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.switch(part)
                self.under_way.pop()

        return counting


class Counted(Callback):
    """Counts the parts of the steps after the first.

    Args:
        shares: Where they are counted.
    """

    def __init__(self, shares: Shares) -> None:
        self.shares, self.steps = shares, 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Has the parts of module and optimiser counted."""
        assert isinstance(pl_module, ZooModule)
        shares, module = self.shares, pl_module
        module.encode = self._followed(module.encode)  # type: ignore[method-assign]
        for owner, name, part in (
            (module.backbone, "encode_images", "image tower"),
            (module.backbone, "encode_texts", "text tower"),
            (module.objective, "forward", "head and objective"),
            (module, "score", "head and objective"),
            (module, "backward", "head and objective"),
            (zoo_module, "compute_step_metrics", "logging and metrics"),
            (module, "on_after_backward", "logging and metrics"),
            (module, "on_train_batch_end", "logging and metrics"),
            (distributed, "gather", "gather"),
            (distributed, "transpose", "gather"),
            (zoo_module, "mean_over_ranks", "gather"),
            (_BaseDataLoaderIter, "__next__", "loading"),
        ):
            setattr(owner, name, shares.counted(part, getattr(owner, name)))
        for logger in trainer.loggers:
            logger.log_metrics = shares.counted(  # type: ignore[method-assign]
                "logging and metrics", logger.log_metrics
            )
        (optimizer,) = trainer.optimizers
        plain = optimizer.step

        def update(closure: Callable[[], Any]) -> Any:
            return shares.counted("update", plain)(closure=shares.counted(REST, closure))

        optimizer.step = update  # type: ignore[method-assign, assignment]

    def _followed(self, encode: Callable[..., Any]) -> Callable[..., Any]:
        """Returns what encodes, and says in the backward pass which tower is under way."""

        def following(batch: Any) -> Any:
            encoded = encode(batch)
            for items, part in ((encoded.texts, "text tower"), (encoded.images, "image tower")):
                assert isinstance(items, Encoded)
                items.pooled.register_hook(self._begins(part))
            return encoded

        return following

    def _begins(self, part: str) -> Callable[[Tensor], None]:
        def begins(gradient: Tensor) -> None:
            self.shares.switch(part)

        return begins

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        """Forgets the first step, which makes moments and warms up."""
        self.steps += 1
        if self.steps == 1:
            self.shares.begin()


def main() -> None:
    """Measures, prints and writes both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data_root", type=Path, required=True)
    parser.add_argument("--units", required=True)
    parser.add_argument("--name", nargs="+", default=["zoo-tiny", "ViT-B-32-quickgelu"])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=4, help="after one that is not counted")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--trace", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    found = {name: measure(chosen, name) for name in chosen.name}
    about = {"batch": chosen.batch, "device": chosen.device, "torch": torch.__version__}
    write(about | {"seconds a step": found}, chosen.out / f"step_shares_{chosen.device}")


def measure(chosen: argparse.Namespace, name: str) -> dict[str, float]:
    """Returns seconds a step by part."""
    torch.manual_seed(0)
    folder = chosen.data_root / "flickr8k"
    data = CaptionDataModule(
        FlickrToken(folder / "Flickr8k.token.txt", folder / "Flickr_8k.trainImages.txt"),
        [str(chosen.data_root)],
        batch_size=chosen.batch,
        negatives=NegCLIPSwap(),
        units=UnitSampler(chosen.units, with_replacement=False),
        workers=0 if chosen.device == "cpu" else 8,
    )
    shares = Shares(torch.device(chosen.device))
    trainer = ZooTrainer(
        accelerator="gpu" if chosen.device == "cuda" else "cpu",
        devices=1,
        precision="auto",
        max_steps=chosen.steps + 1,
        logger=True,
        log_every_n_steps=1,
        default_root_dir="/tmp/step_shares",
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[Counted(shares)],
    )
    plain = {
        owner: {name: getattr(owner, name) for name in names}
        for owner, names in (
            (distributed, ("gather", "transpose")),
            (zoo_module, ("mean_over_ranks",)),
            (_BaseDataLoaderIter, ("__next__",)),
        )
    }
    if chosen.trace is None:
        trainer.fit(ZooModule(Backbone(name), CSCLIP()), data)
    else:
        with profile() as traced:
            trainer.fit(ZooModule(Backbone(name), CSCLIP()), data)
        chosen.trace.mkdir(parents=True, exist_ok=True)
        operations = traced.key_averages().table(sort_by="self_cpu_time_total", row_limit=40)
        (chosen.trace / f"{name}.txt").write_text(operations)
    for owner, functions in plain.items():
        for function_name, function in functions.items():
            setattr(owner, function_name, function)
    shares.switch(REST)
    return {part: seconds / chosen.steps for part, seconds in shares.seconds.items()}


def write(found: dict[str, Any], stem: Path) -> None:
    """Writes both files, and prints the second."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    by_name = found["seconds a step"]
    lines = [
        "# What a training step of CS-CLIP spends its time on",
        "",
        f"`python benchmarks/speed/step_shares.py`: {found['batch']} images and six texts each, "
        f"on {found['device']}; milliseconds a step and shares.",
        "",
        "| part | " + " | ".join(f"{name}, ms | %" for name in by_name) + " |",
        "|---|" + "---:|---:|" * len(by_name),
    ]
    for part in PARTS:
        cells = (
            f"{1000 * of[part]:,.1f} | {100 * of[part] / sum(of.values()):.1f}"
            for of in by_name.values()
        )
        lines.append(f"| {part} | " + " | ".join(cells) + " |")
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
