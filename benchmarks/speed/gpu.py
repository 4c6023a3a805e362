r"""All that is measured of a GPU, in one command, in under ten minutes.

    python benchmarks/speed/gpu.py
    python benchmarks/speed/gpu.py --device cpu --tiny    # proves that it runs

Steps of CS-CLIP and TF-Local against bare towers, on made images and texts that lie on the device:
milliseconds, images a second, memory at most, losses. What each switch changes: bf16, TF32,
torch.compile, fused AdamW, channels side by side, chunks, and attention by each of torch's kernels.
Packed texts against groups of like length. Loading is left out, which image_loading.py measures.
Written as gpu_DEVICE.json and .md.
"""

import argparse
import contextlib
import json
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import packed_texts
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Compute, Tuning
from zoo.batch import Batch, Encoded, TextBank
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.cross_modal import CrossModal
from zoo.module import ZooModule
from zoo.objectives.base import Objective
from zoo.objectives.clip import CLIP
from zoo.objectives.cs_clip import CSCLIP
from zoo.optim import Optimization

RESULTS = Path(__file__).parents[1] / "results"
TEXTS = 6  # a caption, a negative, two units and two foils
MIB = 1 << 20
KERNELS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
    "plain": SDPBackend.MATH,
}


@dataclass(frozen=True)
class Step:
    """A step that is measured.

    Attributes:
        what: What a table calls it.
        name: The architecture.
        batch: Images of a batch.
        head: `cosine`, or `tf_local` over frozen towers.
        bf16: Whether towers run in bf16.
        compute: How towers are run.
        fused: Whether AdamW is.
        tf32: Whether fp32 products are in TF32.
        kernel: The one kernel that attention may take, None for torch's choice.
    """

    what: str
    name: str
    batch: int
    head: str = "cosine"
    bf16: bool = False
    compute: Compute = Compute()
    fused: bool = False
    tf32: bool = False
    kernel: str | None = None


@dataclass(frozen=True)
class Measured:
    """What was measured of a step.

    Attributes:
        what: What a table calls it.
        ms: Milliseconds of a step, and of towers alone.
        bare_ms: Milliseconds of forward, backward and update of the towers alone.
        images: Images a second.
        peak: MiB at most, None on a CPU.
        losses: Losses of the steps.
        fault: Why it could not run, in torch's words.
    """

    what: str
    ms: float = 0.0
    bare_ms: float = 0.0
    images: float = 0.0
    peak: float | None = None
    losses: tuple[float, ...] = ()
    fault: str = ""


def main() -> None:
    """Measures, prints and writes both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    parser.add_argument("--tiny", action="store_true", help="zoo-tiny and small batches")
    parser.add_argument("--steps", type=int, default=8, help="counted, after two that are not")
    parser.add_argument("--limit_s", type=float, default=540, help="no step is begun after it")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    device = torch.device(chosen.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    began, found = time.monotonic(), []
    for step in planned(chosen.tiny, device):
        if time.monotonic() - began < chosen.limit_s:
            found.append(measure(step, device, chosen.steps))
        else:
            found.append(Measured(step.what, fault="not begun, the time was over"))
        print(found[-1], flush=True)
    name = "zoo-tiny" if chosen.tiny else "ViT-B-32-quickgelu"
    packed = packed_texts.measure(name, 96 if chosen.tiny else 1536, 5, device)
    machine = torch.cuda.get_device_name() if device.type == "cuda" else "cpu, 1 thread"
    command = shlex.join(["python", *sys.argv])
    about: dict[str, str | int] = {"command": command, "device": machine}
    about |= {"torch": torch.__version__}
    about |= {"seconds in all": round(time.monotonic() - began)}
    write(about, found, packed, chosen.out / f"gpu_{chosen.device}")


def planned(tiny: bool, device: torch.device) -> list[Step]:
    """Returns the steps in the order in which they are measured."""
    b_32, l_14 = ("zoo-tiny",) * 2 if tiny else ("ViT-B-32-quickgelu", "ViT-L-14-quickgelu")
    small, large = ("zoo-tiny",) * 2 if tiny else ("B/32", "L/14")
    batch = 8 if tiny else 256
    backend = "inductor" if device.type == "cuda" else "aot_eager"
    return [
        Step(f"CS-CLIP, {small}, fp32", b_32, batch),
        Step("the same, TF32", b_32, batch, tf32=True),
        Step("the same, fused AdamW", b_32, batch, fused=True),
        Step("the same, channels side by side", b_32, batch, compute=Compute(channels_last=True)),
        Step("the same, packed texts", b_32, batch, compute=Compute(packed=True)),
        Step("the same, torch.compile", b_32, batch, compute=Compute(compile=backend)),
        Step("the same, chunks of a quarter", b_32, batch, compute=Compute(chunk=batch // 4)),
        Step("the same, bf16", b_32, batch, bf16=True),
        *(
            Step(f"the same, bf16, attention: {kernel}", b_32, batch, bf16=True, kernel=kernel)
            for kernel in KERNELS
        ),
        Step(
            "the same, bf16, torch.compile, fused",
            b_32,
            batch,
            bf16=True,
            fused=True,
            compute=Compute(compile=backend),
        ),
        *(
            Step(f"CS-CLIP, {small}, bf16, batch {n}", b_32, n, bf16=True)
            for n in (batch // 2, 2 * batch, 4 * batch)
        ),
        Step(
            f"CS-CLIP, {large}, bf16, chunks",
            l_14,
            batch,
            bf16=True,
            compute=Compute(chunk=batch // 4),
        ),
        Step(f"TF-Local, {small}, fp32", b_32, 4 if tiny else 50, head="tf_local"),
        Step(f"TF-Local, {small}, bf16", b_32, 4 if tiny else 50, head="tf_local", bf16=True),
    ]


def measure(step: Step, device: torch.device, steps: int) -> Measured:
    """Returns what a step takes; one that cannot run says why."""
    before = torch.get_float32_matmul_precision()
    kernel = contextlib.nullcontext() if step.kernel is None else sdpa_kernel(KERNELS[step.kernel])
    try:
        torch.set_float32_matmul_precision("high" if step.tf32 else "highest")
        with kernel:
            return _measured(step, device, steps)
    except RuntimeError as error:
        return Measured(step.what, fault=" ".join(str(error).split())[:160])
    finally:
        torch.set_float32_matmul_precision(before)
        if device.type == "cuda":
            torch.cuda.empty_cache()


def _measured(step: Step, device: torch.device, steps: int) -> Measured:
    torch.manual_seed(0)
    module = built(step).to(device)
    setting = Optimization(lr=1e-4, fused=step.fused)
    optimizer = setting.build(module.named_parameters(), module.learning_rate_part, 1000, 1.0)[
        "optimizer"
    ]
    batch = made(module.backbone, step.batch).to(device)

    def whole() -> Tensor:
        encoded, scores = module.score(batch)
        total: Tensor = module.objective(encoded, scores).total
        return total

    def bare() -> Tensor:
        encoded = module.encode(batch)
        assert isinstance(encoded.images, Encoded)
        assert isinstance(encoded.texts, Encoded)
        towers = encoded.images.pooled.float().mean() + encoded.texts.pooled.float().mean()
        return towers + 0 * sum(p.sum() for p in module.head.parameters())

    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    taken, losses = timed(whole, optimizer, device, step.bf16, steps)
    peak = torch.cuda.max_memory_allocated() / MIB if device.type == "cuda" else None
    of_towers, _ = timed(bare, optimizer, device, step.bf16, steps)
    return Measured(
        step.what,
        round(1000 * taken, 2),
        round(1000 * of_towers, 2),
        round(step.batch / taken, 1),
        None if peak is None else round(peak),
        tuple(losses),
    )


def built(step: Step) -> ZooModule:
    """Returns the module of a step."""
    local = step.head == "tf_local"
    head: Head = Cosine()
    if local and step.name == "zoo-tiny":
        head = CrossModal(granularity="local", width=32, ffn=64, layers=1, attention_heads=2)
    elif local:
        head = CrossModal(granularity="local", layers=4)
    objective: Objective = CLIP() if local else CSCLIP()
    tuning = Tuning("none" if local else "both")
    return ZooModule(Backbone(step.name, tuning=tuning, compute=step.compute), objective, head)


def timed(
    loss_of: Callable[[], Tensor],
    optimizer: torch.optim.Optimizer,
    device: torch.device,
    bf16: bool,
    steps: int,
) -> tuple[float, list[float]]:
    """Returns the median of the seconds of forward, backward and update, and all losses."""
    taken, losses = [], []
    for _ in range(steps + 2):
        began = packed_texts.now(device)
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            loss = loss_of()
        loss.backward()
        optimizer.step()
        taken.append(packed_texts.now(device) - began)
        losses.append(float(loss.detach()))
    return median(taken[2:]), losses


def made(backbone: Backbone, rows: int) -> Batch:
    """Returns a batch of CS-CLIP: random images, texts of lengths as captions and units have."""
    bank = packed_texts.drawn(TEXTS * rows, backbone.context)
    assert isinstance(bank, TextBank)
    of_rows = torch.arange(TEXTS * rows).view(TEXTS, rows)
    generator = torch.Generator().manual_seed(0)
    height, width = backbone.image_size
    images = torch.randint(0, 256, (rows, 3, height, width), dtype=torch.uint8, generator=generator)
    missing = torch.full((rows,), -1)
    return Batch(
        images=images,
        texts=bank,
        captions=of_rows[0],
        negatives=of_rows[1][:, None],
        positives=missing[:, None][:, :0],
        negative_images=missing,
        units=of_rows[2:4].T,
        foils=of_rows[4:].T,
        image_ids=torch.arange(rows),
        hashes=bank.hashes,
        samples=torch.arange(rows),
        primary=rows,
    )


def write(about: dict[str, Any], found: list[Measured], packed: list[str], stem: Path) -> None:
    """Writes both files, and prints the second."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    data = about | {"steps": [asdict(m) for m in found], "packed texts": packed}
    stem.with_suffix(".json").write_text(json.dumps(data, indent=1) + "\n")
    first = found[0]
    lines = [
        "# Steps and switches on one device",
        "",
        f"`{about['command']}` on {about['device']}, torch {about['torch']}, "
        f"{about['seconds in all']} seconds in all. Images and texts are made and lie on the "
        "device, six texts an image; weights are random. The last column is the loss of the last "
        f"step, after {len(first.losses) - 1} updates, less that of the first line.",
        "",
        "| step | ms | images a second | of bare towers' | MiB at most | first loss | last, less "
        "the first line's |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for m in found:
        if m.fault:
            lines.append(f"| {m.what} | {m.fault} | | | | | |")
            continue
        alike = m.what.startswith("the same") or m is first
        off = f"{m.losses[-1] - first.losses[-1]:+.1e}" if alike else ""
        peak = "" if m.peak is None else f"{m.peak:,.0f}"
        lines.append(
            f"| {m.what} | {m.ms:,.1f} | {m.images:,.0f} | {100 * m.bare_ms / m.ms:.0f} % | {peak} "
            f"| {m.losses[0]:.5f} | {off} |"
        )
    stem.with_suffix(".md").write_text(
        "\n".join([*lines, "", "## Packed texts, and groups of like length", "", *packed]) + "\n"
    )
    print(stem.with_suffix(".md").read_text())


if __name__ == "__main__":
    main()
