"""A data root in small: twelve drawn images, with captions in the files that recipes read.

All are laid out and named as published.
"""

import csv
import io
import json
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.made import COLORS, SHAPES, draw, record
from tests.support.shards import write_tar
from zoo.language.taggers import default_tagger
from zoo.negatives.replace import replaceable_words
from zoo.negatives.table import write_table
from zoo.sources.tar_index import write_index

CAPTIONS = 2  # of an image
SPLITS = ("train",) * 8 + ("restval",) * 2 + ("val",) * 2


def make_published(root: Path) -> Path:
    """Writes coco/, flickr8k/, neg_clip/, trohn_img/, laion_coco/, cc3m/ and replacements.arrow.

    Returns `root`.
    """
    pictures = []
    for i, (color, shape) in enumerate(product(COLORS, SHAPES)):
        first, second = (color, shape), (COLORS[(i + 1) % 4], SHAPES[(i + 1) % 3])
        texts = [" ".join([*("a", *one), where, *("a", *other)]) for one, where, other in (
            (first, "above", second), (second, "below", first))]  # fmt: skip
        content = io.BytesIO()
        draw(*first, *second).save(content, "jpeg")
        pictures.append((content.getvalue(), texts, (first, second)))
    for folder in (
        "coco/train2017",
        "coco/annotations",
        "flickr8k/images",
        "neg_clip",
        "laion_coco",
        "cc3m",
        "trohn_img",
        "negated",
        "triplets",
    ):
        (root / folder).mkdir(parents=True)
    _coco(root / "coco", pictures)
    _flickr8k(root / "flickr8k", pictures)
    for split, chosen in (("train", range(10)), ("valid", range(2))):
        _neg_clip(
            root / "neg_clip" / f"{split}_neg_clip.tsv",
            [(f"{i:012d}.jpg", pictures[i][1]) for i in chosen],
        )
    for split, chosen in (("train", range(10)), ("validation", range(10, 12))):
        _trohn_img(
            root / "trohn_img" / f"{split}-00000-of-00001.parquet", {i: pictures[i] for i in chosen}
        )
    captions = [text for _, texts, _ in pictures for text in texts]
    table = [f"coco/train2017/{i:012d}.jpg\t{texts[0]}" for i, (_, texts, _) in enumerate(pictures)]
    (root / "cc3m/coca_captions.tsv").write_text("\n".join(["filepath\ttitle", *table]) + "\n")
    for folder in (root, root / "laion_coco", root / "cc3m"):
        write_replacements(folder / "replacements.arrow", captions)
    for shard in range(2):  # as img2dataset writes them
        files = []
        for i, (image, texts, _) in enumerate(pictures[shard * 6 : shard * 6 + 6]):
            key = f"{shard:05}{i:04}"
            fields = json.dumps({"top_caption": texts[1]}).encode()
            files += [(f"{key}.jpg", image), (f"{key}.txt", texts[0].encode())]
            files.append((f"{key}.json", fields))
        for folder in ("laion_coco", "cc3m"):
            tar = write_tar(root / folder / f"{shard:05}.tar", files)
            write_index(str(tar), tar.with_name(f"{tar.name}.arrow"))
    for folder in ("negated", "triplets"):
        _with_negative_images(root / folder, pictures)
    return root


Picture = tuple[bytes, list[str], tuple[tuple[str, str], tuple[str, str]]]


def _with_negative_images(folder: Path, pictures: list[Picture]) -> None:
    """Writes captions.tsv and negatives.jsonl, in which an image's negative is the next one."""
    table, lines = ["filepath\ttitle"], []
    for i, (_, texts, _) in enumerate(pictures):
        j = (i + 1) % len(pictures)
        table.append(f"coco/train2017/{i:012d}.jpg\t{texts[0]}")
        line = {
            "caption": texts[0],
            "negative": pictures[j][1][0],
            "negative_image": f"coco/train2017/{j:012d}.jpg",
        }
        lines.append(json.dumps(line))
    (folder / "captions.tsv").write_text("\n".join(table) + "\n")
    (folder / "negatives.jsonl").write_text("\n".join(lines) + "\n")


def _coco(folder: Path, pictures: list[Picture]) -> None:
    images, annotations, units = [], [], []
    for i, (content, texts, (first, second)) in enumerate(pictures):
        path = folder / "train2017" / f"{i:012d}.jpg"
        path.write_bytes(content)
        sentences = [
            {"raw": text, "sentid": CAPTIONS * i + k, "imgid": i, "tokens": text.split()}
            for k, text in enumerate(texts)
        ]
        images.append(
            {
                "cocoid": i,
                "imgid": i,
                "split": SPLITS[i],
                "filepath": "train2014",
                "filename": path.name,
                "sentences": sentences,
            }
        )
        annotations += [{"image_id": i, "id": s["sentid"], "caption": s["raw"]} for s in sentences]
        if (
            SPLITS[i] == "train"
        ):  # a part of all that is trained on, so that one file serves every choice of splits
            units.append(
                record(i, path, texts[0], first, second)
                | {"caption_id": f"coco_{i}_{CAPTIONS * i}", "image_id": f"coco:{i}"}
            )
    (folder / "dataset_coco.json").write_text(json.dumps({"dataset": "coco", "images": images}))
    published = {
        "images": [{"id": image["cocoid"]} for image in images],
        "annotations": annotations,
    }
    (folder / "annotations" / "captions_train2017.json").write_text(json.dumps(published))
    (folder / "units_train.jsonl").write_text("".join(json.dumps(unit) + "\n" for unit in units))


def _flickr8k(folder: Path, pictures: list[Picture]) -> None:
    names = [f"{1000 + i}_{i:010x}.jpg" for i in range(len(pictures))]
    lines, units = [], []
    for i, (name, (content, texts, (first, second))) in enumerate(
        zip(names, pictures, strict=True)
    ):
        (folder / "images" / name).write_bytes(content)
        lines += [f"{name}#{k}\t{text}" for k, text in enumerate(texts)]
        units.append(
            record(i, Path(name), texts[0], first, second)
            | {"caption_id": f"{name}#0", "image_id": f"flickr:{1000 + i}"}
        )
    (folder / "Flickr8k.token.txt").write_text("\n".join(lines) + "\n")
    (folder / "Flickr_8k.trainImages.txt").write_text("\n".join(names[:10]) + "\n")
    (folder / "Flickr_8k.devImages.txt").write_text("\n".join(names[10:]) + "\n")
    (folder / "units.jsonl").write_text("".join(json.dumps(unit) + "\n" for unit in units))


def _neg_clip(file: Path, rows: list[tuple[str, list[str]]]) -> None:
    with file.open("w", newline="") as content:
        table = csv.writer(content, delimiter="\t")
        table.writerow(["", "title", "filepath", "neg_caption", "neg_image"])
        for i, (name, (text, _)) in enumerate(rows):
            words = text.split()
            negative = " ".join(
                [*words[:1], words[5], *words[2:5], words[1], *words[6:]]
            )  # the colours exchanged
            table.writerow(
                [
                    i,
                    text,
                    f"coco/train2014/COCO_train2014_{name}",
                    str([negative]),
                    str([(i + 1) % len(rows)] * 3),
                ]
            )


def write_replacements(file: Path, captions: list[str]) -> None:
    """Writes a table for these captions, in which everything may become a colour or a shape."""
    parts = {
        (part.lowercase_text, part.tag)
        for text in captions
        for part in replaceable_words(default_tagger().analyse(text))
        if part.tag is not None
    }
    write_table(
        file,
        {key: dict.fromkeys((*COLORS, *SHAPES), 1.0) for key in sorted(parts)},
        tagger=default_tagger().name,
    )


def _trohn_img(file: Path, pictures: dict[int, Picture]) -> None:
    contents = {i: content for i, (content, *_) in pictures.items()}
    table = {
        "image_id": [f"{i:012d}.jpg" for i in pictures],
        "caption": [texts[0] for _, texts, _ in pictures.values()],
        "negative_caption": [
            texts[0].replace("above", "left of") for _, texts, _ in pictures.values()
        ],
        "negative_image": [
            {"bytes": content, "path": f"{i}.jpg"} for i, content in contents.items()
        ],
    }
    pq.write_table(pa.table(table), file)
