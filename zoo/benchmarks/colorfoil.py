"""ColorFoil (Samin et al. 2025): COCO captions against the same captions with other colours."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from msgspec import Struct
from PIL import ImageColor

from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.derived_files import header_digest, write_rows
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import coco_ref
from zoo.sources.readers.coco_captions import CocoCaptions
from zoo.support.caches import cache_folder
from zoo.support.schema import Text, read_json_lines, validate_record
from zoo.support.text_files import read_bytes

VERSION = 1
INSTRUCTIONS = download_command("colorfoil")
REBUILD_ADVICE = "delete the file to have it created again"
CSS_COLORS = frozenset(ImageColor.colormap) - {"rebeccapurple"}  # the 147 names of CSS3
FOIL_COLORS = (
    "blue",
    "black",
    "red",
    "pink",
    "yellow",
    "grey",
    "orange",
    "white",
    "green",
    "brown",
)


class _ColorFoilHeader(Struct):
    n: int
    seed: int


class _ColorFoilRow(Struct):
    image: str
    caption: Text
    foil: Text


class ColorFoil(PublishedBenchmark):
    """ColorFoil: a caption of COCO, and a foil in which zoo replaces the colours at random.

    The authors publish a script that samples foils, but no foils. zoo samples foils for the
    captions of COCO's val2017 once, with a seed, and saves them to a file that you can share. To
    use the foils of another run, save the file of that run as `colorfoil/colorfoil.jsonl` in
    `DATA_ROOT`, or give its path in argument `files`. Each image has at most one case, with the
    first of its captions that contains a colour. The protocol is `i2t`, and a tie is wrong.

    zoo replaces each word that is one of CSS3's 147 colour names. The new word is one of the ten
    colours in the authors' script. If a word occurs several times in a caption, all occurrences get
    the same new word. The authors' script also replaces parts of words, such as "red" in "redhead".
    zoo does not. The authors' script makes about 2,500 cases.

    Args:
        seed: Seed of the replacement colours.
        folder: The folder where zoo saves the foils. By default, your cache folder.
        files: For subset `colorfoil`, the path of COCO's captions (by default,
            coco/annotations/captions_val2017.json in the data root), or the path of a file of foils
            (.jsonl) that another run saved.
        subsets: The chosen subsets; None for all.

    Examples:
        A foil is made from COCO's captions and saved in a folder:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import ColorFoil
        >>> _ = Path("captions.json").write_text('''{"images": [{"id": 7, "file_name": "7.jpg"}],
        ... "annotations": [{"id": 1, "image_id": 7, "caption": "a red cup on a red tray"}]}''')
        >>> benchmark = ColorFoil(seed=1, folder="foils", files={"colorfoil": "captions.json"})
        >>> benchmark.read(Path()).cases[0].texts
        ('a red cup on a red tray', 'a green cup on a green tray')
    """

    name = "colorfoil"
    licence = "MIT; captions: CC BY 4.0"
    citation = "Samin et al., ColorFoil, NAACL SRW 2025, arXiv:2405.11685"
    published = (
        Subset(
            "colorfoil",
            ("colorfoil/colorfoil.jsonl", "coco/annotations/captions_val2017.json"),
            None,
            INSTRUCTIONS,
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
        """Returns a case for each image that has a caption with a colour."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases; the foils are created and saved if they do not exist yet."""
        foil_file = path if path.suffix == ".jsonl" else self._find_or_write_foils(path)
        rows = read_json_lines(foil_file, dict[str, Any], REBUILD_ADVICE)
        place, first_row = next(rows, (f"{foil_file}:1", {}))
        header = validate_record(first_row, _ColorFoilHeader, place, REBUILD_ADVICE)
        foils = [
            (place, validate_record(row, _ColorFoilRow, place, REBUILD_ADVICE))
            for place, row in rows
        ]
        if len(foils) != header.n:
            raise ZooError(
                f"{foil_file} holds {len(foils):,} of its {header.n:,} foils: {REBUILD_ADVICE}"
            )
        match = np.array([[True, False]])
        cases = []
        for place, row in foils:
            image = coco_ref(row.image, place)
            cases.append(Case((image,), (row.caption, row.foil), match, "i2t", subset, image.key))
        note = f"foils sampled by zoo, not the authors', in {foil_file} (seed {header.seed})"
        return Contents(cases, list(dict.fromkeys([path, foil_file])), [], {subset: note})

    def _find_or_write_foils(self, path: Path) -> Path:
        header = {
            "benchmark": self.name,
            "version": VERSION,
            "seed": self.seed,
            "source_sha256": hashlib.sha256(read_bytes(path)).hexdigest(),
        }
        folder = cache_folder(self.name) if self.folder is None else self.folder
        file = folder / f"{self.name}_seed{self.seed}_{header_digest(header)}.jsonl"
        if file.is_file():
            return file
        advice = "set the folder of ColorFoil to one with enough space"
        return write_rows(file, header, list(_foil_rows(path, self.seed)), advice)


def _foil_rows(path: Path, seed: int) -> Iterator[dict[str, str]]:
    finished_images = set()
    for sample in CocoCaptions(path).checked_samples():
        if sample.image_id in finished_images:
            continue
        foil = replace_colors(sample.caption, Random(f"{seed}/{sample.image_id}"))
        if foil != sample.caption:
            finished_images.add(sample.image_id)
            name = f"{int(sample.image.key):012d}.jpg"
            yield {"image": name, "caption": sample.caption, "foil": foil}


def replace_colors(caption: str, rng: Random) -> str:
    """Replaces each colour word of a caption by another colour, equal words by the same one.

    Words are separated by spaces, as in the authors' script. That script also replaces parts of
    words ("redhead"); this function does not.

    Args:
        caption: The caption.
        rng: The generator that samples the colours.
    """
    words = caption.split(" ")
    replacements = {
        word: rng.choice([color for color in FOIL_COLORS if color != word])
        for word in dict.fromkeys(words)
        if word in CSS_COLORS
    }
    return " ".join(replacements.get(word, word) for word in words)
