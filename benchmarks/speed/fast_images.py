r"""What `--fast_images` changes: outcomes, scores and seconds, by PIL and by torchvision.

    python benchmarks/speed/fast_images.py --benchmarks sugarcrepe --data_root DATA_ROOT
        [--name ViT-B-32-quickgelu] [--pretrained openai]

Each measurement is of the same model in the same process. Without `--pretrained` weights are
random, whose scores of right and wrong lie closer together than those of a trained model, so that
more outcomes change. Written as fast_images.json and .md.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch

from zoo.backbones.backbone import Backbone
from zoo.datamodules.benchmarks import EvaluationDataModule
from zoo.module import ZooModule
from zoo.training.trainer import ZooTrainer

RESULTS = Path(__file__).parents[1] / "results" / "fast_images"


def main() -> None:
    """Measures, prints and writes both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--benchmarks", nargs="+", required=True)
    parser.add_argument("--data_root", required=True)
    parser.add_argument("--name", default="ViT-B-32-quickgelu")
    parser.add_argument("--pretrained")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    torch.manual_seed(0)
    module = ZooModule(Backbone(chosen.name, pretrained=chosen.pretrained))
    plain, of_plain = measure(chosen, module, fast=False)
    fast, of_fast = measure(chosen, module, fast=True)
    pairs = [(a, b) for a, b in zip(plain, fast, strict=True) if a["right"] is not None]
    scores = [
        abs(x - y)
        for a, b in pairs
        for x, y in zip(a["scores"] or [], b["scores"] or [], strict=True)
    ]
    found = {
        "backbone": chosen.name,
        "weights": chosen.pretrained or "random",
        "benchmarks": ", ".join(chosen.benchmarks),
        "outcomes": len(pairs),
        "outcomes that change": sum(a["right"] != b["right"] for a, b in pairs),
        "right by PIL": sum(a["right"] for a, _ in pairs),
        "right by torchvision": sum(b["right"] for _, b in pairs),
        "largest difference of scores": max(scores),
        "seconds by PIL": round(of_plain, 1),
        "seconds by torchvision": round(of_fast, 1),
        "torch": torch.__version__,
    }
    write(found, chosen.out)


def measure(
    chosen: argparse.Namespace, module: ZooModule, fast: bool
) -> tuple[list[dict[str, Any]], float]:
    """Returns the rows of outcomes, and how long the measurement took."""
    with tempfile.TemporaryDirectory() as folder:
        data = EvaluationDataModule(
            chosen.benchmarks,
            chosen.data_root,
            out=folder,
            workers=chosen.workers,
            quiet=True,
            cache=None,
            fast_images=fast,
        )
        trainer = ZooTrainer(logger=False, enable_progress_bar=False, enable_checkpointing=False)
        began = time.perf_counter()
        trainer.validate(module, data, verbose=False)
        took = time.perf_counter() - began
        return pq.read_table(Path(folder) / "cases.parquet").to_pylist(), took


def write(found: dict[str, Any], stem: Path) -> None:
    """Writes both files, and prints the second."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    lines = [
        "# What `--fast_images` changes",
        "",
        "`python benchmarks/speed/fast_images.py`: the same model by PIL's pixels and by "
        "torchvision's.",
        "",
        "| | |",
        "|---|---:|",
        *(f"| {what} | {value} |" for what, value in found.items()),
    ]
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
