r"""Text towers over cut and over whole texts.

Compared are seconds of forward and backward, and how far vectors and gradients are apart.

    python benchmarks/speed/text_cutting.py CAPTIONS [--name ViT-B-32-quickgelu] \
        [--texts 192] [--repeats 3] [--device cpu]

CAPTIONS is a text file, a caption a line; of a Flickr token file (`1.jpg#0<tab>caption`) what
follows the tab.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from zoo.backbones.backbone import Backbone
from zoo.backbones.settings import Tuning
from zoo.batch import TextBank, build_text_bank


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("captions", type=Path)
    parser.add_argument("--name", default="ViT-B-32-quickgelu")
    parser.add_argument("--texts", type=int, default=192)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    settings = parser.parse_args()

    torch.manual_seed(0)
    backbone = Backbone(settings.name, tuning=Tuning("text")).to(settings.device)
    lines = [
        line.rpartition("\t")[2]
        for line in settings.captions.read_text("utf-8").splitlines()[: settings.texts]
    ]
    bank = build_text_bank(*backbone.tokenizer(lines))[0].map(lambda t: t.to(settings.device))
    cut_to, direction = (
        backbone.text_lengths,
        torch.randn(len(bank), backbone.shapes.width, device=settings.device),
    )

    seconds: dict[str, list[float]] = {"whole": [], "cut": []}
    vectors, gradients = {}, {}
    for _ in range(
        settings.repeats
    ):  # turn by turn, so that what else the machine does falls on both
        for kind, lengths in (("whole", [backbone.context]), ("cut", cut_to)):
            backbone.text_lengths = lengths
            took, vectors[kind], gradients[kind] = step(backbone, bank, direction)
            seconds[kind].append(took)
    print(
        json.dumps(
            {
                "backbone": settings.name,
                "texts": len(bank),
                "tokens": int(bank.lengths.sum()),
                "device": torch.cuda.get_device_name()
                if bank.ids.is_cuda
                else f"cpu, {torch.get_num_threads()} threads",
                "seconds": seconds,
                "times faster": round(min(seconds["whole"]) / min(seconds["cut"]), 2),
                "relative difference of vectors": difference(vectors["cut"], vectors["whole"]),
                "relative difference of gradients": difference(
                    gradients["cut"], gradients["whole"]
                ),
            },
            indent=2,
        )
    )


def step(
    backbone: Backbone, bank: TextBank, direction: torch.Tensor
) -> tuple[float, torch.Tensor, torch.Tensor]:
    """Returns seconds of forward and backward, the vectors [T, D], and the gradients in a row."""
    backbone.zero_grad()
    began = time.perf_counter()
    vectors = backbone.encode_texts(bank).pooled
    (vectors * direction).sum().backward()
    if bank.ids.is_cuda:
        torch.cuda.synchronize()
    took = time.perf_counter() - began
    return (
        took,
        vectors.detach(),
        torch.cat([p.grad.flatten() for p in backbone.parameters() if p.grad is not None]),
    )


def difference(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return float((ours - theirs).norm() / theirs.norm())


if __name__ == "__main__":
    main()
