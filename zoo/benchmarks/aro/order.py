"""ARO's order sets: captions perturbed once, by seed, and kept in a file that can be shared."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from zoo.benchmarks.base import Case
from zoo.benchmarks.captioned import read_captioned
from zoo.benchmarks.hub import Hub
from zoo.benchmarks.kept import digest, keep
from zoo.benchmarks.parquet import rows, shards
from zoo.errors import ZooError
from zoo.language.spacy_tagger import SPACY_MODEL
from zoo.language.tagger import Tagger
from zoo.negatives.aro import perturbations, pre_caption
from zoo.sources.images import image_ref
from zoo.support.caches import cache_folder
from zoo.support.schema import lines, record
from zoo.support.text_files import content

COCO_ORDER, FLICKR_ORDER = "COCO-Order", "Flickr30k-Order"
COCO_ORDER_COPY = Hub("mteb/ARO-COCO-order", "53c20afc02a87fed8c0245dde2e00f054da4b861")
FLICKR_ORDER_COPY = Hub("mteb/ARO-Flickr-Order", "e5d7f3502345b2c398a6645b4d09b44e650287bf")
VERSION = 1
WORDS = 30
REMADE = "delete the file to have it made again"


class _OrderFileHeader(Struct):
    """The first line of a file of perturbed captions."""

    subset: str
    n: int


class _Perturbed(Struct):
    """A caption's number among those of its image, the caption and its perturbations."""

    image: str
    caption: int
    texts: Annotated[tuple[str, ...], Meta(min_length=2)]


class _Copied(Struct):
    """A row of a copy: a caption and its perturbations, which are no longer made here."""

    correct_caption: str
    hard_text_1: str
    hard_text_2: str
    hard_text_3: str
    hard_text_4: str

    @property
    def texts(self) -> tuple[str, ...]:
        """The caption first."""
        wrong = self.hard_text_1, self.hard_text_2, self.hard_text_3, self.hard_text_4
        return self.correct_caption, *wrong


@dataclass(frozen=True)
class OrderCases:
    """An order set.

    Attributes:
        cases: The cases.
        files: The files that they came from.
        note: Who perturbed the captions, and where they are kept.
    """

    cases: list[Case]
    files: list[Path]
    note: str


def order_cases(
    source: Path, subset: str, seed: int, tagger: Tagger, folder: Path | None
) -> OrderCases:
    """Returns one case a caption, [the caption, four perturbations], all cleaned as ARO does.

    Perturbed captions that are there are used again, where the file's name says the same captions,
    seed, tagger and rules.

    Args:
        source: BLIP's caption file, or a file of perturbed captions (.jsonl).
        subset: The order set.
        seed: Settles the perturbations.
        tagger: The tagger that they need.
        folder: The folder where perturbed captions are looked for and kept. None keeps them in the
            user's cache, since data are shared, and also reads those that somebody put in `order`
            beside the captions.

    Raises:
        ZooError: A file is broken or cannot be written.
    """
    if source.suffix == ".jsonl":
        return _read(source, subset)
    header = _header(source, subset, seed, tagger)
    name = f"{subset}_{header['tagger']}_seed{seed}_{digest(header)}.jsonl"
    written_to = user_cache() if folder is None else folder
    folders = [written_to] if folder is not None else [source.parent / "order", written_to]
    kept = next((path for path in (f / name for f in folders) if path.is_file()), None)
    if kept is None:
        rows = list(_perturbed_captions(source, subset, seed, tagger))
        mend = "give ARO's order_dir a folder with room for it"
        kept = keep(written_to / name, header, rows, mend)
    return _read(kept, subset, source)


def ordered_copy(path: Path, subset: str) -> Iterator[Case]:
    """Yields a case for each row of an order set's copy on the hub, which has the images too.

    Args:
        path: A table of it.
        subset: The order set.

    Raises:
        ZooError: The file is wrong. The error names file and row.
    """
    table = (found for file in shards(path) for found in rows(file, _Copied, ("images",)))
    for i, (_, row, images) in enumerate(table):
        match = np.arange(len(row.texts))[None] == 0
        yield Case(images, row.texts, match, "i2t", subset, f"row {i}", correct_first=True)


def user_cache() -> Path:
    """Returns the folder for perturbed captions in the user's cache."""
    return cache_folder("aro_order")


def _header(source: Path, subset: str, seed: int, tagger: Tagger) -> dict[str, Any]:
    return {
        "benchmark": "aro",
        "subset": subset,
        "version": VERSION,
        "seed": seed,
        "tagger": tagger.name,
        "tagger_version": tagger.version,
        "source_sha256": hashlib.sha256(content(source)).hexdigest(),
    }


def _perturbed_captions(
    source: Path, subset: str, seed: int, tagger: Tagger
) -> Iterator[dict[str, Any]]:
    for captioned in read_captioned(source):
        for k, caption in enumerate(captioned.captions):
            rng = Random(f"{seed}/{subset}/{captioned.image.key}#{k}")
            yield {
                "image": str(captioned.image),
                "caption": k,
                "texts": _options(caption, rng, tagger),
            }


def _options(caption: str, rng: Random, tagger: Tagger) -> list[str]:
    """Returns the caption and its perturbations, cleaned.

    An identity permutation is written as the caption itself, without blanks before its commas, so
    that it can be told by its text.
    """
    options = [caption, *perturbations(caption, rng, tagger)]
    unspaced = "".join(caption.split())
    return [
        pre_caption(caption if "".join(option.split()) == unspaced else option, WORDS)
        for option in options
    ]


def _read(path: Path, subset: str, source: Path | None = None) -> OrderCases:
    rows = lines(path, dict[str, Any], REMADE)
    place, described = next(rows, (f"{path}:1", {}))
    header = record(described, _OrderFileHeader, place, REMADE)
    if header.subset != subset:
        raise ZooError(
            f"{path} holds the perturbed captions of {header.subset}, not of {subset}: "
            "name another file"
        )
    cases = []
    for place, row in rows:
        perturbed = record(row, _Perturbed, place, REMADE)
        image, match = image_ref(perturbed.image), np.arange(len(perturbed.texts))[None] == 0
        identity = f"{image.key}#{perturbed.caption}"
        cases.append(
            Case((image,), perturbed.texts, match, "i2t", subset, identity, correct_first=True)
        )
    if len(cases) != header.n:
        raise ZooError(
            f"{path} holds {len(cases):,} of its {header.n:,} perturbed captions: {REMADE}"
        )
    note = ", ".join(
        f"{key} {described[key]}"
        for key in ("tagger", "tagger_version", "seed", "version")
        if key in described
    )
    made = f"perturbed captions in {path} ({note})"
    if SPACY_MODEL not in str(described.get("tagger_version")):
        made += (
            f"; official results have those of spaCy's {SPACY_MODEL}, another tagger draws others, "
            "and what that changes was not measured"
        )
    return OrderCases(cases, [path] if source is None else [source, path], made)
