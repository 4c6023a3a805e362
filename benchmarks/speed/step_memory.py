r"""Peak memory and time of a CS-CLIP step against batch size.

The towers take the whole batch, or chunks of it.

    python benchmarks/speed/step_memory.py --data_root DATA_ROOT --units F.jsonl \
        [--batch 8 16 32 64] [--chunk 16]
    python benchmarks/speed/step_memory.py --data_root DATA_ROOT --units F.jsonl \
        --device cuda --precision bf16 --batch 64 128 256 512 --chunk 64

Batches are of real captions of Flickr8k, six texts an image. Every metric is of a process of its
own: by how much forward, backward and update raise its peak over what weights, gradients and the
optimiser's moments take (on a GPU: what was allocated at most, less those). Seconds are of the
processor on a CPU, so that other work on the machine does not count. Written as
step_memory_DEVICE.json, .md and .svg.
"""

import argparse
import json
import multiprocessing
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from cs_clip_step import endless
from figures import draw_step_memory
from peak_memory import peak_now, reset_peak, return_memory

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Compute
from zoo.module import ZooModule
from zoo.objectives.cs_clip import CSCLIP
from zoo.results.drawing import render_figure

RESULTS = Path(__file__).parents[1] / "results"


@dataclass(frozen=True)
class Measured:
    """A step.

    Attributes:
        batch: Images of the batch.
        chunk: Items that a tower takes at once, None for all.
        peak: MiB above `kept`.
        kept: MiB of weights, gradients and moments.
        seconds: How long the step takes.
        loss: Its loss.
    """

    batch: int
    chunk: int | None
    peak: float
    kept: float
    seconds: float
    loss: float


def main() -> None:
    """Measures, prints and writes the three files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data_root", type=Path, required=True)
    parser.add_argument("--units", required=True)
    parser.add_argument("--name", default="ViT-B-32-quickgelu")
    parser.add_argument("--batch", type=int, nargs="+", default=[8, 16, 32, 64])
    parser.add_argument("--chunk", type=int, default=16)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    steps = []
    for batch in chosen.batch:
        for chunk in (None, chosen.chunk):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                steps.append(pool.apply(measure, (chosen, batch, chunk)))
            print(steps[-1], flush=True)
    about = {"backbone": chosen.name, "precision": chosen.precision, "torch": torch.__version__}
    device = (
        torch.cuda.get_device_name()
        if chosen.device == "cuda"
        else f"cpu, {torch.get_num_threads()} threads"
    )
    write(about | {"device": device}, steps, chosen.out / f"step_memory_{chosen.device}")


def measure(chosen: argparse.Namespace, batch_size: int, chunk: int | None) -> Measured:
    """Returns the second of two steps; the first makes gradients and moments."""
    torch.manual_seed(0)
    device = torch.device(chosen.device)
    module = ZooModule(Backbone(chosen.name, compute=Compute(chunk)), CSCLIP()).to(device)
    optimizer = torch.optim.AdamW(
        [p for p in module.parameters() if p.requires_grad], lr=0.0, weight_decay=0.0
    )
    for p in module.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    batch = next(endless(chosen.data_root, chosen.units, module, batch_size, workers=0)).to(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
        kept = torch.cuda.memory_allocated() >> 10
    else:
        return_memory()
        kept = reset_peak()
    began = time.process_time() if device.type == "cpu" else time.perf_counter()
    with torch.autocast(device.type, torch.bfloat16, enabled=chosen.precision == "bf16"):
        encoded, scores = module.score(batch)
        loss = module.objective(encoded, scores).total
    loss.backward()
    optimizer.step()
    value = loss.item()
    seconds = (time.process_time() if device.type == "cpu" else time.perf_counter()) - began
    peak = (torch.cuda.max_memory_allocated() >> 10) if device.type == "cuda" else peak_now()
    return Measured(
        batch_size,
        chunk,
        round((peak - kept) / 1024, 1),
        round(kept / 1024, 1),
        round(seconds, 3),
        value,
    )


def write(about: dict[str, Any], steps: list[Measured], stem: Path) -> None:
    """Writes metrics, table and plot."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".json").write_text(
        json.dumps(about | {"steps": [asdict(step) for step in steps]}, indent=1) + "\n"
    )
    chunk = next(step.chunk for step in steps if step.chunk)
    pairs = [
        (whole, chunked)
        for whole in steps
        for chunked in steps
        if whole.batch == chunked.batch and not whole.chunk and chunked.chunk
    ]
    lines = [
        "# Peak memory of a CS-CLIP step against batch size",
        "",
        f"`python benchmarks/speed/step_memory.py`: {about['backbone']}, {about['precision']}, "
        f"{about['device']}; six texts an image. Memory is what a step takes above weights, "
        f"gradients and moments ({pairs[0][0].kept:,.0f} MiB with the program); "
        f"`chunk` is `--model.backbone.compute.chunk {chunk}`.",
        "",
        "| batch | whole, MiB | chunks, MiB | whole / chunks | time, chunks / whole | difference "
        "of losses |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for whole, chunked in pairs:
        lines.append(
            f"| {whole.batch} | {whole.peak:,.0f} | {chunked.peak:,.0f} | "
            f"{whole.peak / chunked.peak:.1f} | {chunked.seconds / whole.seconds:.2f} | "
            f"{abs(whole.loss - chunked.loss):.1e} |"
        )
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    figure = draw_step_memory(about | {"steps": [asdict(step) for step in steps]})
    stem.with_suffix(".svg").write_bytes(render_figure(figure, "svg"))


if __name__ == "__main__":
    main()
