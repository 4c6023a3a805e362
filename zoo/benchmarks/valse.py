"""VALSE (Parcalabescu et al. 2022): a caption against a foil, by linguistic phenomenon."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import unanswerable_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.images import coco_ref, visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import read_object

INSTRUCTIONS = (
    f"{download_command('valse')}; "
    "put SWiG's images into DATA_ROOT/swig/images_512, and VisDial's val2018 into "
    "DATA_ROOT/visdial"
)
# subset: number of valid cases, and accuracy of OpenAI's ViT-B/32 as measured by vl_compo
PUBLISHED = {
    "existence": (505, 69.3),
    "plurals": (851, 57.6),
    "counting-hard": (868, 64.5),
    "counting-small-quant": (900, 61.9),
    "counting-adversarial": (691, 58.2),
    "relations": (535, 66.0),
    "action-replacement": (648, 77.8),
    "actant-swap": (949, 71.8),
    "coreference-standard": (708, 54.9),
    "coreference-hard": (104, 51.9),
    "foil-it": (943, 90.1),
}
VALID = 2  # votes of three annotators


class _Votes(Struct):
    caption: int


class _VALSEEntry(Struct):
    dataset: str
    image_file: str
    caption: str
    foil: str
    mturk: _Votes


class VALSE(PublishedBenchmark):
    """VALSE: foils for six linguistic phenomena and for nouns (7,702 valid cases).

    A case is valid if at least two of three annotators judged that the caption is true and the foil
    is not. Other cases are left out. The caption has to score above the foil (protocol `i2t`,
    called pairwise accuracy by the authors). A tie is wrong. In `foil-it`, the foil has another
    noun. Images are from COCO, SWiG, VisDial and Visual7W. zoo reads the images of Visual7W from
    Visual Genome. The published values were measured with vl_compo.

    Examples:
        An entry is left out if only one of three annotators judged only the caption to be true:

        >>> from pathlib import Path
        >>> from zoo.benchmarks import VALSE
        >>> _ = Path("existence.json").write_text('''{"key_1": {"dataset": "visual7w",
        ... "image_file": "v7w_7.jpg", "caption": "There are no cups.", "foil": "There are cups.",
        ... "mturk": {"caption": 1, "foil": 2, "other": 0}}}''')
        >>> contents = VALSE({"existence": "existence.json"}, ["existence"]).read(Path())
        >>> contents.notes["existence invalid"]
        '1 left out, as fewer than two annotators judged them valid'
    """

    name = "valse"
    licence = "MIT"
    citation = "Parcalabescu et al., VALSE, ACL 2022, arXiv:2112.07566"
    published = tuple(
        Subset(
            subset,
            (f"valse/{subset}.json",),
            n,
            INSTRUCTIONS,
            chance={"i2t": 50.0},
            published={"i2t": accuracy},
        )
        for subset, (n, accuracy) in PUBLISHED.items()
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each valid entry: the image, its caption and the foil."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the valid cases, with a note on the number of invalid ones."""
        match, cases, invalid = np.array([[True, False]]), [], 0
        for place, key, entry in read_object(path, _VALSEEntry):
            if entry.mturk.caption < VALID:
                invalid += 1
                continue
            image, texts = _image(entry, place), (entry.caption, entry.foil)
            cases.append(Case((image,), texts, match, "i2t", subset, key))
        notes = unanswerable_note(subset, cases)
        if invalid:
            notes[f"{subset} invalid"] = (
                f"{invalid:,} left out, as fewer than two annotators judged them valid"
            )
        return Contents(cases, [path], [], notes)


def _image(entry: _VALSEEntry, place: str) -> ImageRef:
    name = entry.image_file
    if entry.dataset == "visual7w":
        return visual_genome_ref(name.removeprefix("v7w_"), place)
    if entry.dataset == "SWiG":
        return ImageRef("published", f"swig/images_512/{name}")
    if name.startswith("VisualDialog_"):
        return ImageRef("published", f"visdial/{name}")
    return coco_ref(name, place)
