"""Synthetic JPEGs of COCO's sizes with captions and units, for measurements without a data set."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from PIL import Image

from zoo.support.files import write_bytes

ADJECTIVES = (
    "red green blue yellow white black brown grey small large old new wooden round tall  "
    "short wet dirty clean bright dark young striped spotted open empty broken heavy narrow  "
    "wide"
)
NOUNS = (
    "dog cat horse cow sheep bird elephant zebra giraffe man woman boy girl bench bicycle  "
    "car bus train truck boat kite surfboard umbrella bag bottle cup fork knife spoon bowl  "
    "banana apple sandwich orange pizza cake chair couch table clock vase book lamp window  "
    "door mirror laptop"
)
RELATIONS = ("next to", "behind", "under", "above", "in front of", "near", "beside", "facing")
OBJECTS = 3  # of a caption, with a relation between neighbours: about 11 words, as COCO's
QUALITY = 90


def make_images(folder: Path, images: int, size: tuple[int, int]) -> None:
    """Writes JPEGs of smooth colours with some noise.

    Args:
        folder: Where they are written.
        images: How many.
        size: Height and width; every third image is turned by 90 degrees.
    """
    folder.mkdir(parents=True)

    def write(i: int) -> None:
        height, width = size if i % 3 else size[::-1]
        bytes_of = Random(i).randbytes
        parts = []
        for divisor in (32, 2):
            shape = (max(1, width // divisor), max(1, height // divisor))
            part = Image.frombytes("RGB", shape, bytes_of(3 * shape[0] * shape[1]))
            parts.append(part.resize((width, height), Image.Resampling.BICUBIC))
        Image.blend(parts[0], parts[1], 0.25).save(folder / f"{i:06}.jpg", quality=QUALITY)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(write, range(images)))


def write_captions(folder: Path, images: int, captions: int) -> tuple[Path, Path]:
    """Writes captions of the images in turn, and their units, unless they were written before.

    Args:
        folder: The folder above the images, which are in its folder `images`.
        images: How many there are.
        captions: How many captions are written.

    Returns:
        A table that open_clip reads as well, and a file of units.
    """
    table, units = folder / f"captions_{captions}.tsv", folder / f"units_{captions}.jsonl"
    if table.exists():
        return table, units
    rng, rows, records = Random(0), ["filepath\ttitle"], []
    for i in range(captions):
        path = folder / "images" / f"{i % images:06}.jpg"
        caption, record = draw_caption(rng)
        rows.append(f"{path}\t{caption}")
        identity = {"caption_id": str(i), "image_id": f"file:{path}", "caption": caption}
        records.append(json.dumps(identity | record))
    write_bytes(units, ("\n".join(records) + "\n").encode())
    write_bytes(table, ("\n".join(rows) + "\n").encode())
    return table, units


def draw_caption(rng: Random) -> tuple[str, dict[str, object]]:
    """Returns a caption with its entities, relations and their foils."""
    nouns = rng.sample(NOUNS.split(), OBJECTS + 1)
    adjectives = rng.sample(ADJECTIVES.split(), OBJECTS + 1)
    entities = [f"{a} {n}" for a, n in zip(adjectives, nouns, strict=True)][:OBJECTS]
    predicates = rng.sample(RELATIONS, OBJECTS)
    caption = f"a {entities[0]}"
    relations = []
    for first, predicate, second in zip(entities, predicates, entities[1:], strict=False):
        caption += f" {predicate} a {second}"
        swap = {"subject": second, "predicate": predicate, "object": first, "edit": "argument_swap"}
        change = {
            "subject": first,
            "predicate": predicates[-1],
            "object": second,
            "edit": "predicate_change",
            "component": "predicate",
        }
        relation = {"subject": first, "predicate": predicate, "object": second}
        relations.append(relation | {"foils": [swap, change]})
    described = [
        {
            "text": entity,
            "foils": [
                {"text": f"{adjectives[-1]} {entity.split()[1]}", "edit": "attribute_change"},
                {"text": f"{entity.split()[0]} {nouns[-1]}", "edit": "object_change"},
            ],
        }
        for entity in entities
    ]
    source = {"extractor": "synthetic"}
    return caption, {"entities": described, "relations": relations, "source": source}
