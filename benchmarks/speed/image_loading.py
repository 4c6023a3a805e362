r"""Images a second of one core: decoded, cropped at random, resized and put into a batch.

    python benchmarks/speed/image_loading.py --data_root DATA_ROOT [--images 96] [--turns 5]

Images are JPEGs of COCO, whose shorter side is brought to 480 pixels first (COCO's own are 480 x
640 for the most part). The ways take turns, on one thread, and seconds are of the processor, so
that what else the machine does falls on all of them. A ratio is the median of those of the turns.
Beside speed, how far pixels differ from PIL's is given, in grey levels and without random crops,
which the cache draws from smaller images. Written as image_loading.json and .md.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from zoo.backbones.backbone import Backbone
from zoo.backbones.preparation import normalize_pixels
from zoo.datamodules.dataset import ImageFiles
from zoo.pixels.cache import ImageCache, cached_pixels
from zoo.sources.images import ImageFinder
from zoo.sources.sample import ImageRef

RESULTS = Path(__file__).parents[1] / "results" / "image_loading"
SHORTER = 480
BATCH = 32


def main() -> None:
    """Measures, prints and writes both files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data_root", type=Path, required=True)
    parser.add_argument("--name", default="ViT-B-32-quickgelu")
    parser.add_argument("--images", type=int, default=96)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        refs = enlarged(chosen.data_root, chosen.images, Path(folder))
        found = measure(Backbone(chosen.name), refs, chosen.turns, folder)
    write(found | {"backbone": chosen.name, "torch": torch.__version__}, chosen.out)


def enlarged(data_root: Path, count: int, folder: Path) -> list[ImageRef]:
    """Returns images of COCO, brought to its own size."""
    refs = []
    for file in sorted((data_root / "coco" / "val2017").glob("*.jpg"))[:count]:
        image = Image.open(file).convert("RGB")
        ratio = SHORTER / min(image.size)
        image.resize((round(image.width * ratio), round(image.height * ratio))).save(
            folder / file.name, quality=90
        )
        refs.append(ImageRef("file", str(folder / file.name)))
    return refs


def ways(
    backbone: Backbone, refs: list[ImageRef], folder: str, training: bool
) -> dict[str, ImageFiles]:
    """Returns what is compared, that which was first; training images are cropped at random."""
    finder = ImageFinder([])
    kept = cached_pixels(ImageCache(folder), backbone.min_side_for_crops, refs, finder)
    by_pil = backbone.train_transform if training else backbone.eval_transform
    pixels = backbone.train_uint8_transform if training else backbone.eval_uint8_transform
    return {
        "pil": ImageFiles(finder, by_pil, "pil"),
        "torchvision": ImageFiles(finder, pixels, "torchvision"),
        "cache": ImageFiles(finder, pixels, "torchvision", kept),
    }


def measure(backbone: Backbone, refs: list[ImageRef], turns: int, folder: str) -> dict[str, Any]:
    """Returns milliseconds an image of each way, ratios to the first, and grey levels between."""
    compared = ways(backbone, refs, folder, training=True)
    whole = ways(backbone, refs, folder, training=False)
    taken: dict[str, list[float]] = {name: [] for name in compared}
    for turn in range(turns + 1):
        for name, images in compared.items():
            seconds = timed(partial(batches, images, refs, turn))
            if turn:
                taken[name].append(seconds / len(refs) * 1000)
    first = taken[next(iter(taken))]
    return {
        "images": len(refs),
        "shorter side of the cache": backbone.min_side_for_crops,
        "cache, MiB": round(
            sum(file.stat().st_size for file in Path(folder).glob("*/pixels.bin")) / (1 << 20), 1
        ),
        "milliseconds an image (median)": {n: round(median(t), 3) for n, t in taken.items()},
        "milliseconds an image (all)": {n: [round(s, 3) for s in t] for n, t in taken.items()},
        "times as fast": {
            name: round(median(a / b for a, b in zip(first, t, strict=True)), 2)
            for name, t in taken.items()
        },
        "grey levels from PIL's": {
            name: differences(whole["pil"], images, refs, backbone)
            for name, images in whole.items()
        },
    }


def timed(work: Callable[[], object]) -> float:
    """Returns seconds of the processor."""
    began = time.process_time()
    work()
    return time.process_time() - began


def batches(images: ImageFiles, refs: list[ImageRef], turn: int) -> None:
    """Loads the images and stacks them, as a loader does."""
    for start in range(0, len(refs), BATCH):
        torch.stack([images(ref, f"{turn} {ref}") for ref in refs[start : start + BATCH]])


def differences(
    wanted: ImageFiles, found: ImageFiles, refs: list[ImageRef], backbone: Backbone
) -> dict[str, float]:
    """Returns the largest and the mean difference in grey levels, of images not cropped."""
    settings = backbone.model.visual.preprocess_cfg
    std = torch.tensor(settings["std"]).view(3, 1, 1)

    def numbers(image: Tensor) -> Tensor:
        return normalize_pixels(image[None], settings)[0] if image.dtype == torch.uint8 else image

    off = torch.stack(
        [
            (numbers(found(ref, str(ref))) - numbers(wanted(ref, str(ref)))).mul(std * 255).abs()
            for ref in refs
        ]
    )
    return {"largest": round(float(off.max()), 2), "mean": round(float(off.mean()), 4)}


def write(found: dict[str, Any], stem: Path) -> None:
    """Writes both files, and prints the second."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n")
    speed, off = found["times as fast"], found["grey levels from PIL's"]
    lines = [
        "# Loading a training image on one core",
        "",
        f"`python benchmarks/speed/image_loading.py`: {found['images']} JPEGs of COCO, shorter "
        f"side {SHORTER}, cropped at random for {found['backbone']} and stacked; milliseconds of "
        "the processor, one thread, medians. The cache has a shorter side of "
        f"{found['shorter side of the cache']} pixels, {found['cache, MiB']} MiB in all. A ratio "
        "is the median of the ratios of the turns, not that of the medians. Grey levels are those "
        "of images that are resized and not cropped at random.",
        "",
        "| way | milliseconds an image | times as fast as PIL | grey levels from PIL's, largest | "
        "mean |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {name} | {took} | {speed[name]} | {off[name]['largest']} | {off[name]['mean']} |"
            for name, took in found["milliseconds an image (median)"].items()
        ),
    ]
    stem.with_suffix(".md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
