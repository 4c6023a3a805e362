"""A data root made on the spot.

It has images of two coloured shapes, captions, units, and the recipe that trains on them.
"""

import json
from itertools import product
from pathlib import Path

from PIL import Image, ImageDraw

COLORS = ("red", "green", "blue", "yellow")
SHAPES = ("square", "circle", "triangle")


def make_root(root: Path, n: int = 12) -> Path:
    """Writes n images, captions.tsv, units.jsonl, pairs.csv and recipe.yaml into `root`.

    beside.jsonl has for each caption a paraphrase, a negative and an image of the negative.

    Returns `root`.
    """
    for folder in ("pictures", "negative_pictures"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    beside = []
    rows, units, pairs = ["filepath\ttitle"], [], ["image,caption,foil,subset"]
    for i, (color, shape) in enumerate(list(product(COLORS, SHAPES))[:n]):
        other, below = COLORS[(i + 1) % 4], SHAPES[(i + 1) % 3]
        path = root / "pictures" / f"{i:03}.png"
        draw(color, shape, other, below).save(path)
        caption = f"a {color} {shape} above a {other} {below}"
        rows.append(f"{path}\t{caption}")
        units.append(record(i, path, caption, (color, shape), (other, below)))
        negative_path = root / "negative_pictures" / path.name
        draw(other, shape, color, below).save(negative_path)
        texts_beside = {
            "caption": caption,
            "positive": f"a {other} {below} below a {color} {shape}",
            "negative": f"a {other} {shape} above a {color} {below}",
            "negative_image": str(negative_path),
        }
        beside.append(json.dumps(texts_beside))
        pairs.append(f"{path},{caption},a {other} {shape} above a {color} {below},colours")
    (root / "captions.tsv").write_text("\n".join(rows) + "\n")
    (root / "units.jsonl").write_text("".join(json.dumps(unit) + "\n" for unit in units))
    (root / "beside.jsonl").write_text("\n".join(beside) + "\n")
    (root / "pairs.csv").write_text("\n".join(pairs) + "\n")
    (root / "recipe.yaml").write_text(RECIPE.replace("ROOT", str(root)))
    return root


def draw(color: str, shape: str, other: str, below: str) -> Image.Image:
    picture = Image.new("RGB", (48, 48), "white")
    pen = ImageDraw.Draw(picture)
    for fill, kind, top in ((color, shape, 2), (other, below, 26)):
        box = (14, top, 34, top + 20)
        if kind == "square":
            pen.rectangle(box, fill=fill)
        elif kind == "circle":
            pen.ellipse(box, fill=fill)
        else:
            pen.polygon([(24, top), (14, top + 20), (34, top + 20)], fill=fill)
    return picture


def record(
    i: int, path: Path, caption: str, first: tuple[str, str], second: tuple[str, str]
) -> dict[str, object]:
    a, b = " ".join(first), " ".join(second)
    foil = f"{COLORS[(COLORS.index(first[0]) + 2) % 4]} {first[1]}"
    return {
        "caption_id": str(i),
        "image_id": str(path),
        "caption": caption,
        "entities": [
            {"text": a, "foils": [{"text": foil, "edit": "attribute_change"}]},
            {"text": b, "foils": []},
        ],
        "relations": [
            {
                "subject": a,
                "predicate": "above",
                "object": b,
                "foils": [
                    {"subject": b, "predicate": "above", "object": a, "edit": "argument_swap"},
                    {
                        "subject": a,
                        "predicate": "below",
                        "object": b,
                        "edit": "predicate_change",
                        "component": "predicate",
                    },
                ],
            }
        ],
        "source": {"extractor": "made"},
    }


RECIPE = """
model:
  backbone:
    class_path: zoo.backbones.backbone.Backbone
    init_args: {name: zoo-tiny}
  objective: {class_path: zoo.objectives.cs_clip.CSCLIP}
  head: {class_path: zoo.heads.cosine.Cosine}
  optimizer: {lr: 5.0e-4, warmup_steps: 1}
data:
  class_path: zoo.datamodules.captions.CaptionDataModule
  init_args:
    train:
      class_path: zoo.sources.readers.csv_table.CsvTable
      init_args: {file: ROOT/captions.tsv}
    val_images: 4
    image_roots: [ROOT]
    negatives: {class_path: zoo.negatives.negclip_swap.NegCLIPSwap}
    units: {class_path: zoo.units.sampler.UnitSampler, init_args: {file: ROOT/units.jsonl}}
    batch_size: 4
    workers: 0
trainer:
  max_epochs: 2
  accelerator: cpu
  enable_progress_bar: false
  enable_model_summary: false
  log_every_n_steps: 1
"""
