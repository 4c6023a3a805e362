r"""Memory of the loss on one of several processes: local rows against the columns of all.

    python benchmarks/speed/loss_memory.py [--rows 1024] [--processes 1 2 4]

A step of CS-CLIP on vectors (Cosine) and on tokens (MaxSim) as a tower would give them: two
sentences and two units a row with their foils. There are no towers, so that what forward and
backward of head and objective take is all there is. Processes meet by gloo on this machine. Memory
is by how much the first process's peak rises, or MiB that every process sends. Tokens travel in
fp32 and in bf16. Written as loss_memory.json and .md.
"""

import argparse
import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from peak_memory import peak_now, reset_peak, return_memory
from torch import Tensor
from torch.multiprocessing.spawn import start_processes

from zoo.batch import Batch, Encoded, TowerShapes
from zoo.heads.base import Head
from zoo.heads.cosine import Cosine
from zoo.heads.max_sim import MaxSim
from zoo.objectives.cs_clip import CSCLIP
from zoo.scores import Scores
from zoo.support import distributed

RESULTS = Path(__file__).parents[1] / "results" / "loss_memory"
HEADS = {"Cosine": Cosine, "MaxSim": MaxSim}
WIDTH, PATCHES, WORDS = 512, 49, 16
TEXTS = 6  # a caption, a negative, two units and two foils
MIB = 1 << 20


@dataclass(frozen=True)
class Measured:
    """A step on several processes.

    Attributes:
        head: The head.
        processes: How many there are.
        tokens: What tokens travel in.
        rows: Rows of the batch of all processes.
        peak: MiB by which the first process's peak rises.
        sent: MiB of texts and scores that a process gives to others, forward.
        loss: The loss of the batch.
    """

    head: str
    processes: int
    tokens: str
    rows: int
    peak: float
    sent: float
    loss: float


def main() -> None:
    """Measures, prints and writes both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1024, help="of the batch, for Cosine")
    parser.add_argument("--token_rows", type=int, default=64, help="of the batch, for MaxSim")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    steps = []
    for head, rows in (("Cosine", chosen.rows), ("MaxSim", chosen.token_rows)):
        for tokens in ("fp32", "bf16")[: 1 + (head == "MaxSim")]:
            for processes in chosen.processes:
                found = measure(head, rows, processes, half=tokens == "bf16")
                steps.append(Measured(head, processes, tokens, rows, **found))
                print(steps[-1], flush=True)
    write(steps, chosen.out)


def measure(
    head: str,
    rows: int,
    processes: int,
    device: str = "cpu",
    half: bool = False,
    start_method: str = "spawn",
) -> dict[str, float]:
    """Returns what a step takes: peak MiB of the first process, MiB sent, and the loss.

    Args:
        head: A key of `HEADS`.
        rows: Rows of the batch of all processes.
        processes: How many there are; on `cuda` each has a separate GPU.
        device: `cpu` or `cuda`.
        half: Whether tokens travel in bf16.
        start_method: How processes are started.
    """
    with tempfile.TemporaryDirectory() as folder:
        given = (processes, head, rows, half, Path(folder), device)
        start_processes(work, given, nprocs=processes, start_method=start_method)
        found: dict[str, float] = json.loads((Path(folder) / "found.json").read_text())
    return found


def work(
    rank: int, processes: int, head: str, rows: int, half: bool, folder: Path, kind: str
) -> None:
    """One process: its share of the batch, forward and backward."""
    torch.set_num_threads(1)
    on_gpu = kind == "cuda"
    device = torch.device(kind, rank) if on_gpu else torch.device(kind)
    if on_gpu:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "nccl" if on_gpu else "gloo",
        init_method=f"file://{folder}/meet",
        rank=rank,
        world_size=processes,
    )
    sent = counted()
    scorer = HEADS[head]()
    scorer.attach(TowerShapes(WIDTH, WIDTH, WIDTH, PATCHES, 1, 77, scale=14.3))
    objective = CSCLIP()
    scorer.to(device)
    first = batch(scorer, rank, processes, rows=processes).to(device)
    step(scorer, objective, first, half)  # warms up
    share = batch(scorer, rank, processes, rows).to(device)
    sent.clear()
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
        allocated = torch.cuda.memory_allocated()
        loss = step(scorer, objective, share, half)
        peak = (torch.cuda.max_memory_allocated() - allocated) / MIB
    else:
        return_memory()
        before = reset_peak()
        loss = step(scorer, objective, share, half)
        peak = (peak_now() - before) / 1024
    mean = distributed.mean_over_ranks(loss)
    if rank == 0:
        found = {"peak": round(peak, 1), "sent": round(sum(sent) / MIB, 2), "loss": float(mean)}
        (folder / "found.json").write_text(json.dumps(found))
    dist.barrier()
    distributed.leave_group()


def counted() -> list[int]:
    """Has every gathered or transposed tensor counted, in bytes; returns the list of them."""
    sent: list[int] = []
    for name in ("_Gather", "_Exchange"):
        kind = getattr(distributed, name)

        def counting(ctx: Any, x: Tensor, plain: Any = kind.forward) -> Tensor:
            sent.append(x.nbytes)
            given: Tensor = plain(ctx, x)
            return given

        kind.forward = staticmethod(counting)
    return sent


def step(head: Head, objective: CSCLIP, share: Batch, half: bool) -> Tensor:
    """Returns the loss after forward and backward."""
    total: Tensor = objective(share, Scores(head, share, tokens_in_bf16=half)).total
    total.backward()
    return total.detach()


def batch(head: Head, rank: int, processes: int, rows: int) -> Batch:
    """Returns a process's rows of a batch that is the same on any number of processes."""
    own = rows // processes
    here = torch.arange(rank * own, (rank + 1) * own)
    images = items(head, here, 0, PATCHES, head.needs.image_keys)
    texts = items(
        head,
        (here[:, None] * TEXTS + torch.arange(TEXTS)).flatten(),
        1,
        WORDS,
        head.needs.text_keys,
    )
    pointers = torch.arange(own * TEXTS).view(own, TEXTS)
    missing = torch.full((own,), -1)
    return Batch(
        images=images,
        texts=texts,
        captions=pointers[:, 0].contiguous(),
        negatives=pointers[:, 1:2].contiguous(),
        positives=missing[:, None][:, :0],
        negative_images=missing,
        units=pointers[:, 2:4].contiguous(),
        foils=pointers[:, 4:].contiguous(),
        image_ids=here,
        hashes=torch.arange(len(texts)) + rank * len(texts),
        samples=here,
        primary=own,
    )


def items(head: Head, which: Tensor, side: int, length: int, keys: Any) -> Encoded:
    """Returns vectors, and tokens where a head reads them, that depend on the items alone."""

    def drawn(*shape: int) -> Tensor:
        made = []
        for i in which.tolist():
            generator = torch.Generator().manual_seed(2 * i + side)
            made.append(torch.randn(*shape, generator=generator))
        return torch.stack(made).requires_grad_()

    tokens = {key: drawn(length, WIDTH) for key in keys}
    masks = {key: torch.ones(len(which), length, dtype=torch.bool) for key in keys}
    return Encoded(drawn(WIDTH), tokens, masks)


def write(steps: list[Measured], stem: Path) -> None:
    """Writes figures and table."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".json").write_text(
        json.dumps({"torch": torch.__version__, "steps": [asdict(s) for s in steps]}, indent=1)
        + "\n"
    )
    first = {s.head: s for s in reversed(steps) if s.tokens == "fp32"}
    lines = [
        "# Memory of the loss on one of several processes",
        "",
        "`python benchmarks/speed/loss_memory.py`: head and objective of CS-CLIP, forward and "
        f"backward, on vectors and tokens of width {WIDTH} ({PATCHES} patches, {WORDS} words), "
        "without towers. Memory is that of the first process, above vectors and tokens as towers "
        "give them; sent is what a process gives to the others, forward.",
        "",
        "| head | tokens travel in | processes | rows of the batch | scores of a process | memory, "
        "MiB | sent, MiB | loss, less that of the first |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {s.head} | {s.tokens if s.head == 'MaxSim' else ''} | {s.processes} | {s.rows:,} | "
            f"{s.rows // s.processes:,} x {4 * s.rows:,} | {s.peak:,.1f} | {s.sent:,.2f} | "
            f"{s.loss - first[s.head].loss:+.1e} |"
            for s in steps
        ),
    ]
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
