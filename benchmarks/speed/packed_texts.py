r"""Packed texts against groups of like length, by `backbone.compute.packed`.

    python benchmarks/speed/packed_texts.py [--name zoo-tiny] [--texts 384] [--device cuda]

Texts of a text tower stand in one sequence without padding, or are cut to few lengths, each length
a call. Both give the same vectors and gradients, which is checked. Seconds are of forward and
backward, of the processor on a CPU. Prints one table, or adds it to a file.
"""

import argparse
import shlex
import sys
import time
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Compute
from zoo.batch import TextBank

SENTENCES, UNITS = (8, 24), (4, 9)  # tokens at least and at most, drawn evenly
END = 49_407


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--name", default="zoo-tiny")
    parser.add_argument("--texts", type=int, default=384)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--add_to", type=Path, help="a file that the table is added to")
    chosen = parser.parse_args()
    if chosen.device == "cpu":
        torch.set_num_threads(1)
    lines = measure(chosen.name, chosen.texts, chosen.turns, torch.device(chosen.device))
    print("\n".join(lines))
    if chosen.add_to is not None:
        told = f"`{shlex.join(['python', *sys.argv])}`, torch {torch.__version__}"
        with chosen.add_to.open("a") as file:
            file.write("\n".join(["", told, "", *lines]) + "\n")


def measure(name: str, texts: int, turns: int, device: torch.device) -> list[str]:
    """Returns the lines of a table: seconds of each way, and how far they are from each other."""
    torch.manual_seed(0)
    backbone = Backbone(name).to(device)
    bank = draw_texts(texts, backbone.context).map(lambda t: t.to(device))
    other = Backbone(name, compute=Compute(packed=True)).to(device)
    other.load_state_dict(backbone.state_dict())
    ways = {"groups": backbone, "packed": other}
    taken: dict[str, list[float]] = {way: [] for way in ways}
    vectors, gradients = [], []
    for turn in range(turns + 1):
        for way, model in ways.items():
            model.zero_grad()
            began = now(device)
            pooled = model.encode_texts(bank).pooled
            F.normalize(pooled, dim=-1).square().cumsum(1).mean().backward()
            if turn:
                taken[way].append(now(device) - began)
            else:
                vectors.append(pooled.detach())
                given = [p.grad for p in model.parameters() if p.grad is not None]
                gradients.append(torch.cat([gradient.flatten() for gradient in given]))
    cut = sum(min(n for n in backbone.text_lengths if n >= m) for m in bank.lengths.tolist())
    ratio = median(g / p for g, p in zip(taken["groups"], taken["packed"], strict=True))
    return [
        f"| {name}, {device.type}, {texts} texts | |",
        "|---|---:|",
        f"| tokens, real | {int(bank.lengths.sum()):,} |",
        f"| tokens, in groups | {cut:,} |",
        *(f"| {way}, ms | {1000 * median(seconds):,.1f} |" for way, seconds in taken.items()),
        f"| groups / packed, median over turns | {ratio:.2f} |",
        f"| largest difference of vectors | {float((vectors[0] - vectors[1]).abs().max()):.1e} |",
        f"| of gradients | {float((gradients[0] - gradients[1]).abs().max()):.1e} |",
    ]


def now(device: torch.device) -> float:
    """Returns seconds of the processor, or of the clock where a GPU does the work."""
    if device.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def draw_texts(texts: int, context: int, seed: int = 0) -> TextBank:
    """Returns texts as CS-CLIP's batches have them: two sentences, two units and their foils."""
    made = torch.Generator().manual_seed(seed)
    third = texts // 3
    lengths = torch.cat(
        [
            torch.randint(low, high + 1, (count,), generator=made)
            for (low, high), count in ((SENTENCES, third), (UNITS, texts - third))
        ]
    )
    ids = torch.randint(1, END - 1, (texts, context), generator=made)
    ids[torch.arange(context) >= lengths[:, None]] = 0
    ids[torch.arange(texts), lengths - 1] = END
    return TextBank(ids, lengths, torch.arange(texts), texts)


if __name__ == "__main__":
    main()
