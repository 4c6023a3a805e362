r"""A CS-CLIP step as zoo takes it, against the bare towers and a step with whole texts.

In the latter every text is encoded at full context.

    python benchmarks/speed/cs_clip_step.py --data_root DATA_ROOT --units F.jsonl \
        [--name ViT-B-32-quickgelu] [--batch 32] [--steps 5]
    python benchmarks/speed/cs_clip_step.py --data_root DATA_ROOT --units F.jsonl \
        --device cuda --precision bf16 --batch 32 64 128 256

Batches are of real captions of Flickr8k: an image's caption, its negative, two units and two foils.
Steps of the kinds are taken turn by turn, so that what else the machine does falls on all of them;
a ratio is the median of those of the turns. A line is appended to
benchmarks/results/cs_clip_step.jsonl.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import torch
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.batch import Batch, Encoded, TextBank
from zoo.datamodules.captions import CaptionDataModule
from zoo.module import ZooModule
from zoo.negatives.negclip_swap import NegCLIPSwap
from zoo.objectives.base import Loss
from zoo.objectives.cs_clip import CSCLIP
from zoo.sources.readers.flickr_token import FlickrToken
from zoo.units.sampler import UnitSampler

RESULTS = Path(__file__).parents[1] / "results" / "cs_clip_step.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data_root", type=Path, required=True)
    parser.add_argument("--units", required=True)
    parser.add_argument("--name", default="ViT-B-32-quickgelu")
    parser.add_argument("--batch", type=int, nargs="+", default=[32])
    parser.add_argument(
        "--steps", type=int, default=5, help="counted steps of each kind, after one that is not"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--workers", type=int, default=2)
    chosen = parser.parse_args()
    for batch in chosen.batch:
        line = measure(chosen, batch)
        print(json.dumps(line, indent=1), flush=True)
        RESULTS.parent.mkdir(exist_ok=True)
        with RESULTS.open("a") as file:
            file.write(json.dumps(line) + "\n")


def measure(chosen: argparse.Namespace, batch_size: int) -> dict[str, object]:
    """Returns seconds of each kind of step at a batch size, their ratios, and how losses differ."""
    torch.manual_seed(0)
    device = torch.device(chosen.device)
    module = ZooModule(Backbone(chosen.name), CSCLIP()).to(device)
    optimizer = torch.optim.AdamW([p for p in module.parameters() if p.requires_grad], lr=1e-6)
    batches = endless(chosen.data_root, chosen.units, module, batch_size, chosen.workers)
    lengths = module.backbone.text_lengths

    def cut(batch: Batch) -> Tensor:
        module.backbone.text_lengths = lengths
        encoded, scores = module.score(batch)
        loss: Loss = module.objective(encoded, scores)
        return loss.total

    def whole(batch: Batch) -> Tensor:
        module.backbone.text_lengths = [module.backbone.context]
        encoded, scores = module.score(repeated(batch))
        loss: Loss = module.objective(encoded, scores)
        return loss.total

    def bare(batch: Batch) -> Tensor:
        module.backbone.text_lengths = lengths
        encoded = module.encode(batch)
        assert isinstance(encoded.images, Encoded)
        assert isinstance(encoded.texts, Encoded)
        return encoded.images.pooled.float().mean() + encoded.texts.pooled.float().mean()

    kinds: dict[str, Callable[[Batch], Tensor]] = {"cut": cut, "whole": whole, "bare towers": bare}
    seconds: dict[str, list[float]] = {name: [] for name in [*kinds, "cut, loading included"]}
    differences, peak = [], 0
    for i in range(chosen.steps + 1):
        began = time.perf_counter()
        batch = next(batches).to(device)
        loading = time.perf_counter() - began
        losses = {}
        for name, loss_of in kinds.items():
            if device.type == "cuda":
                torch.cuda.reset_peak_memory_stats()
            took, losses[name] = step(loss_of, batch, optimizer, chosen.precision)
            if name == "cut" and device.type == "cuda":
                peak = max(peak, torch.cuda.max_memory_allocated())
            if i:
                seconds[name].append(took)
        if i:
            seconds["cut, loading included"].append(seconds["cut"][-1] + loading)
        differences.append(abs(losses["cut"] - losses["whole"]))
    middle = {name: median(times) for name, times in seconds.items()}
    return {
        "backbone": chosen.name,
        "batch": batch_size,
        "texts an image": 6,
        "device": torch.cuda.get_device_name()
        if device.type == "cuda"
        else f"cpu, {torch.get_num_threads()} threads",
        "precision": chosen.precision,
        "seconds (median)": {name: round(value, 4) for name, value in middle.items()},
        "seconds (all)": {name: [round(t, 4) for t in times] for name, times in seconds.items()},
        "whole / cut": round(ratio(seconds["whole"], seconds["cut"]), 2),
        "images a second / bare towers', loading included": round(
            ratio(seconds["bare towers"], seconds["cut, loading included"]), 3
        ),
        "largest difference of losses": max(differences),
        "peak memory, MiB": peak >> 20 or None,
    }


def ratio(one: list[float], other: list[float]) -> float:
    """Returns the median over turns."""
    return median(a / b for a, b in zip(one, other, strict=True))


def step(
    loss_of: Callable[[Batch], Tensor],
    batch: Batch,
    optimizer: torch.optim.Optimizer,
    precision: str,
) -> tuple[float, float]:
    """Returns seconds and loss of forward, backward and update.

    Weights are put back, so that all kinds start from the same.
    """
    device = batch.captions.device
    began = time.perf_counter()
    optimizer.zero_grad()
    with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
        loss = loss_of(batch)
    loss.backward()
    for group in optimizer.param_groups:
        group["lr"] = 0.0  # the update is paid for and changes nothing
        group["weight_decay"] = 0.0
    optimizer.step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began, float(loss.detach())


def repeated(batch: Batch) -> Batch:
    """Returns the batch with a bank in which every text that a row names stands by itself."""
    bank = batch.texts
    assert isinstance(bank, TextBank)
    roles = {name: getattr(batch, name) for name in ("captions", "negatives", "units", "foils")}
    named = torch.cat([rows.reshape(-1) for rows in roles.values()])
    place = torch.where(named >= 0, (named >= 0).cumsum(0) - 1, -1)
    rows: dict[str, Tensor] = {}
    start = 0
    for name, role in roles.items():
        rows[name] = place[start : start + role.numel()].reshape(role.shape)
        start += role.numel()
    texts = bank.map(lambda t: t[named[named >= 0]])
    return replace(
        batch,
        texts=texts,
        hashes=texts.hashes,
        captions=rows["captions"],
        negatives=rows["negatives"],
        units=rows["units"],
        foils=rows["foils"],
    )


def endless(
    root: Path, units: str, module: ZooModule, batch_size: int, workers: int
) -> Iterator[Batch]:
    """Yields training batches of Flickr8k's captions."""
    folder = root / "flickr8k"
    reader = FlickrToken(folder / "Flickr8k.token.txt", folder / "Flickr_8k.trainImages.txt")
    data = CaptionDataModule(
        reader,
        [str(root)],
        batch_size=batch_size,
        negatives=NegCLIPSwap(),
        units=UnitSampler(units, with_replacement=False),
        workers=workers,
    )
    data.trainer = SimpleNamespace(world_size=1, global_rank=0, lightning_module=module)  # type: ignore[assignment]
    while True:
        yield from data.train_dataloader()


if __name__ == "__main__":
    main()
