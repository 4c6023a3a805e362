"""ColorFoil (Samin et al. 2025): COCO's captions against the same with other colours."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from msgspec import Struct
from PIL import ImageColor

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.kept import digest, keep
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import coco_ref
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.support.caches import cache_folder
from zoo.support.schema import Text, lines, record
from zoo.support.text_files import content

VERSION = 1
HOW = (
    "put captions_val2017.json (annotations_trainval2017.zip of cocodataset.org) into "
    "DATA_ROOT/coco/annotations: the foils are made of it; images are COCO's val2017, in "
    "DATA_ROOT/coco/val2017"
)
REMADE = "delete the file to have it made again"
NAMED = frozenset(ImageColor.colormap) - {"rebeccapurple"}  # the 147 names of CSS3
PUT = ("blue", "black", "red", "pink", "yellow", "grey", "orange", "white", "green", "brown")


class _ColorFoilHeader(Struct):
    n: int
    seed: int


class _ColorFoilRow(Struct):
    image: str
    caption: Text
    foil: Text


class ColorFoil(PublishedBenchmark):
    """ColorFoil, in foils of our own: an image's first caption with a colour, and others put in.

    The authors publish no foils, but a script that draws them anew. Here they are drawn once by
    seed and kept in a file that can be shared. A case's id is COCO's number of the image.

    Args:
        seed: Settles the colours that are put in.
        folder: The folder where foils are kept. None takes the user's cache folder; the data root
            is only read.
        files: Other places of the captions, by subset, or a file of foils (.jsonl) that another
            run made.
        subsets: The subsets wanted, None for all.
    """

    name = "colorfoil"
    licence = "MIT; of the captions, CC BY 4.0"
    citation = "Samin et al., ColorFoil, NAACL SRW 2025, arXiv:2405.11685"
    published = (
        Subset(
            "colorfoil",
            ("colorfoil/colorfoil.jsonl", "coco/annotations/captions_val2017.json"),
            None,
            HOW,
            chance={"i2t": 50.0},
        ),
    )

    def __init__(
        self,
        seed: int = 1,
        folder: str | None = None,
        files: dict[str, str] | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        super().__init__(files, subsets)
        self.seed = seed
        self.folder = None if folder is None else Path(folder)

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each image with a colour in a caption."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases; foils are made, and kept, where that was not done before."""
        kept = path if path.suffix == ".jsonl" else self._cached_file(path)
        rows = lines(kept, dict[str, Any], REMADE)
        place, described = next(rows, (f"{kept}:1", {}))
        header = record(described, _ColorFoilHeader, place, REMADE)
        found = [(place, record(row, _ColorFoilRow, place, REMADE)) for place, row in rows]
        if len(found) != header.n:
            raise ZooError(f"{kept} holds {len(found):,} of its {header.n:,} foils: {REMADE}")
        match = np.array([[True, False]])
        cases = []
        for place, row in found:
            image = coco_ref(row.image, place)
            cases.append(Case((image,), (row.caption, row.foil), match, "i2t", subset, image.key))
        note = f"foils of our own, not the authors', in {kept} (seed {header.seed})"
        return Contents(cases, list(dict.fromkeys([path, kept])), [], {subset: note})

    def _cached_file(self, path: Path) -> Path:
        header = {
            "benchmark": self.name,
            "version": VERSION,
            "seed": self.seed,
            "source_sha256": hashlib.sha256(content(path)).hexdigest(),
        }
        folder = cache_folder(self.name) if self.folder is None else self.folder
        kept = folder / f"{self.name}_seed{self.seed}_{digest(header)}.jsonl"
        if kept.is_file():
            return kept
        mend = "give ColorFoil's folder one with room for it"
        return keep(kept, header, list(_rows(path, self.seed)), mend)


def _rows(path: Path, seed: int) -> Iterator[dict[str, str]]:
    done = set()
    for sample in CocoCaptions(path).checked_samples():
        if sample.image_id in done:
            continue
        foil = replace_colors(sample.caption, Random(f"{seed}/{sample.image_id}"))
        if foil != sample.caption:
            done.add(sample.image_id)
            name = f"{int(sample.image.key):012d}.jpg"
            yield {"image": name, "caption": sample.caption, "foil": foil}


def replace_colors(caption: str, rng: Random) -> str:
    """Returns a caption in which each word that names a colour is another one, the same for equals.

    Words are what stands between blanks, as in the authors' script; it replaces parts of other
    words too ("redhead"), and this does not.

    Args:
        caption: The caption.
        rng: Draws the colours.
    """
    words = caption.split(" ")
    put = {
        word: rng.choice([color for color in PUT if color != word])
        for word in dict.fromkeys(words)
        if word in NAMED
    }
    return " ".join(put.get(word, word) for word in words)
