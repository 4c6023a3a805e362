"""ARO's order sets: captions perturbed once with a seed and saved to a file that can be shared."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from zoo.benchmarks.base import Case
from zoo.benchmarks.blip_captions import read_blip_captions
from zoo.benchmarks.derived_files import header_digest, write_rows
from zoo.benchmarks.hub import HubDataset
from zoo.benchmarks.parquet_rows import read_parquet_rows, shard_paths
from zoo.errors import ZooError
from zoo.language.spacy_tagger import SPACY_MODEL
from zoo.language.tagger import Tagger
from zoo.negatives.aro import perturbations, pre_caption
from zoo.sources.images import infer_image_ref
from zoo.support.caches import cache_folder
from zoo.support.schema import read_json_lines, validate_record
from zoo.support.text_files import read_bytes

COCO_ORDER, FLICKR_ORDER = "COCO-Order", "Flickr30k-Order"
COCO_ORDER_COPY = HubDataset("mteb/ARO-COCO-order", "53c20afc02a87fed8c0245dde2e00f054da4b861")
FLICKR_ORDER_COPY = HubDataset("mteb/ARO-Flickr-Order", "e5d7f3502345b2c398a6645b4d09b44e650287bf")
VERSION = 1
WORDS = 30
REBUILD_ADVICE = "delete the file to have it made again"


class _OrderFileHeader(Struct):
    """The first line of a file of perturbed captions."""

    subset: str
    n: int


class _PerturbedRow(Struct):
    """A caption and its perturbations, with the number of the caption among those of its image."""

    image: str
    caption: int
    texts: Annotated[tuple[str, ...], Meta(min_length=2)]


class _CopyRow(Struct):
    """A row of a copy on the hub: a caption and its perturbations."""

    correct_caption: str
    hard_text_1: str
    hard_text_2: str
    hard_text_3: str
    hard_text_4: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The caption and its perturbations, the caption first."""
        wrong = self.hard_text_1, self.hard_text_2, self.hard_text_3, self.hard_text_4
        return self.correct_caption, *wrong


@dataclass(frozen=True)
class OrderSet:
    """An order set.

    Attributes:
        cases: The cases.
        files: The files that they were read from.
        note: The file of perturbed captions and the settings that produced it.
    """

    cases: list[Case]
    files: list[Path]
    note: str


def load_order_set(
    source: Path, subset: str, seed: int, tagger: Tagger, folder: Path | None
) -> OrderSet:
    """Returns one case per caption, [the caption, four perturbations], all cleaned as in ARO.

    An existing file of perturbed captions is reused if its name shows the same captions, seed,
    tagger and rules.

    Args:
        source: BLIP's caption file, or a file of perturbed captions (.jsonl).
        subset: The order set.
        seed: Seed of the perturbations.
        tagger: The tagger for the perturbations.
        folder: The folder where perturbed captions are read and saved. None saves them in the
            user's cache, since data folders are shared, and also reads files in the folder `order`
            next to the captions.

    Raises:
        ZooError: A file is invalid or cannot be written.
    """
    if source.suffix == ".jsonl":
        return _read_order(source, subset)
    header = _build_header(source, subset, seed, tagger)
    name = f"{subset}_{header['tagger']}_seed{seed}_{header_digest(header)}.jsonl"
    target_folder = order_cache_folder() if folder is None else folder
    folders = [target_folder] if folder is not None else [source.parent / "order", target_folder]
    perturbed_file = next((path for path in (f / name for f in folders) if path.is_file()), None)
    if perturbed_file is None:
        rows = list(_perturbed_captions(source, subset, seed, tagger))
        advice = "set order_dir of ARO to a folder with enough space"
        perturbed_file = write_rows(target_folder / name, header, rows, advice)
    return _read_order(perturbed_file, subset, source)


def hub_copy_cases(path: Path, subset: str) -> Iterator[Case]:
    """Yields a case for each row of an order set's copy on the hub, which also has the images.

    Args:
        path: A table of the copy.
        subset: The order set.

    Raises:
        ZooError: The file is invalid. The error names the file and the row.
    """
    table = (
        record
        for file in shard_paths(path)
        for record in read_parquet_rows(file, _CopyRow, ("images",))
    )
    for i, (_, row, images) in enumerate(table):
        match = np.arange(len(row.texts))[None] == 0
        yield Case(images, row.texts, match, "i2t", subset, f"row {i}", right_listed_first=True)


def order_cache_folder() -> Path:
    """Returns the folder for perturbed captions in the user's cache."""
    return cache_folder("aro_order")


def _build_header(source: Path, subset: str, seed: int, tagger: Tagger) -> dict[str, Any]:
    return {
        "benchmark": "aro",
        "subset": subset,
        "version": VERSION,
        "seed": seed,
        "tagger": tagger.name,
        "tagger_version": tagger.version,
        "source_sha256": hashlib.sha256(read_bytes(source)).hexdigest(),
    }


def _perturbed_captions(
    source: Path, subset: str, seed: int, tagger: Tagger
) -> Iterator[dict[str, Any]]:
    for captioned in read_blip_captions(source):
        for k, caption in enumerate(captioned.captions):
            rng = Random(f"{seed}/{subset}/{captioned.image.key}#{k}")
            yield {
                "image": str(captioned.image),
                "caption": k,
                "texts": _caption_options(caption, rng, tagger),
            }


def _caption_options(caption: str, rng: Random, tagger: Tagger) -> list[str]:
    """Returns the caption and its perturbations, cleaned.

    An identity permutation is replaced by the caption itself, without spaces before its commas, so
    that it can be identified by its text.
    """
    options = [caption, *perturbations(caption, rng, tagger)]
    unspaced = "".join(caption.split())
    return [
        pre_caption(caption if "".join(option.split()) == unspaced else option, WORDS)
        for option in options
    ]


def _read_order(path: Path, subset: str, source: Path | None = None) -> OrderSet:
    rows = read_json_lines(path, dict[str, Any], REBUILD_ADVICE)
    place, description = next(rows, (f"{path}:1", {}))
    header = validate_record(description, _OrderFileHeader, place, REBUILD_ADVICE)
    if header.subset != subset:
        raise ZooError(
            f"{path} has the perturbed captions of {header.subset}, not of {subset}: "
            "use another file"
        )
    cases = []
    for place, row in rows:
        perturbed = validate_record(row, _PerturbedRow, place, REBUILD_ADVICE)
        image, match = infer_image_ref(perturbed.image), np.arange(len(perturbed.texts))[None] == 0
        identity = f"{image.key}#{perturbed.caption}"
        cases.append(
            Case((image,), perturbed.texts, match, "i2t", subset, identity, right_listed_first=True)
        )
    if len(cases) != header.n:
        raise ZooError(
            f"{path} holds {len(cases):,} of its {header.n:,} perturbed captions: {REBUILD_ADVICE}"
        )
    note = ", ".join(
        f"{key} {description[key]}"
        for key in ("tagger", "tagger_version", "seed", "version")
        if key in description
    )
    note_text = f"perturbed captions in {path} ({note})"
    if SPACY_MODEL not in str(description.get("tagger_version")):
        note_text += (
            f"; official results use spaCy's {SPACY_MODEL}; another tagger gives other "
            "perturbations, and the effect was not measured"
        )
    return OrderSet(cases, [path] if source is None else [source, path], note_text)
