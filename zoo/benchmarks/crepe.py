"""CREPE (Ma et al. 2023): captions of ever more parts against their own hard negatives."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import identical_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.literals import texts_of
from zoo.benchmarks.published import PublishedBenchmark
from zoo.benchmarks.tabled import read_csv
from zoo.errors import ZooError
from zoo.sources.images import visual_genome_ref
from zoo.sources.sample import ImageRef

HOW = (
    "`git clone https://github.com/RAIVNLab/CREPE` and unpack its data/{zip} into "
    "DATA_ROOT/crepe; images are Visual Genome's, as large as published, in DATA_ROOT/visual_genome"
)
# accuracy of OpenAI's ViT-B/32 as vl_compo measured it, over all complexities
PRODUCTIVITY = {"atom": 19.0, "swap": 17.3, "negate": 34.9}
COMPLEXITIES = range(4, 13)
FOLDER = "crepe/prod_hard_negatives"
FILE = "prod_vg_hard_negs_{}_complexity_{}.csv"
NAMED = re.compile(r"(prod_vg_hard_negs_\w+_complexity_)(\d+)\.csv(\.gz)?")
SYSTEMATICITY = {
    f"{seen}_{data}_{kind}": (f"syst_vg_hard_negs_{seen}_compounds_in_{data}.csv", kind)
    for data in ("cc12m", "yfcc", "laion")
    for seen in ("seen", "unseen")
    for kind in ("atom", "comp")
}


class _CREPERow(Struct):
    image_id: str
    caption: str
    x: str
    y: str
    width: str
    height: str


class _Negatives(_CREPERow, rename={"negatives": "hard_negs"}):
    negatives: str


class _Atoms(_CREPERow, rename={"negatives": "valid_hard_negs_atom"}):
    negatives: str


class _Compounds(_CREPERow, rename={"negatives": "valid_hard_negs_comp"}):
    negatives: str


class CREPE(PublishedBenchmark):
    """CREPE: productivity by complexity, and systematicity by what a training set had.

    A case is a box of an image, its caption and its hard negatives, and accuracy is the authors'
    recall at 1. They list the caption first and sort by score, so that a tie counts as right. A
    case of productivity has the complexity as its group. The subsets of systematicity are meant
    for models that were trained on that set.
    """

    name = "crepe"
    version = 2
    licence = "none stated"
    citation = "Ma et al., CREPE, CVPR 2023, arXiv:2212.07796"
    published = (
        *(
            Subset(
                kind,
                tuple(
                    f"crepe/prod_hard_negatives/{kind}/{FILE.format(kind, c)}" for c in COMPLEXITIES
                ),
                None,
                HOW.format(zip="prod_hard_negatives.zip"),
                published={"i2t": accuracy},
            )
            for kind, accuracy in PRODUCTIVITY.items()
        ),
        *(
            Subset(
                subset,
                (f"crepe/syst_hard_negatives/{file}",),
                None,
                HOW.format(zip="syst_hard_negatives.zip"),
            )
            for subset, (file, _) in SYSTEMATICITY.items()
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each row: a box, its caption and the hard negatives."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset, of productivity those of the files beside it too."""
        files = {None: path} if subset in SYSTEMATICITY else _complexities(path)
        cases, lacking = [], 0
        for complexity, file in files.items():
            for case in _cases(file, subset, complexity):
                if case.match.all():
                    lacking += 1
                else:
                    cases.append(case)
        notes = identical_note(subset, cases)
        if lacking:
            notes[f"{subset} lacking"] = f"{lacking:,} without a hard negative left out"
        absent = [str(c) for c in COMPLEXITIES if {None, str(c)}.isdisjoint(files)]
        if absent:
            notes[f"{subset} complexities"] = f"without {', '.join(absent)}, whose files are absent"
        return Contents(cases, list(files.values()), [], notes)


def _complexities(path: Path) -> dict[str | None, Path]:
    """Returns the files of all complexities that lie beside one of them."""
    named = NAMED.fullmatch(path.name)
    if named is None:
        return {None: path}
    beside = {str(c): path.with_name(f"{named[1]}{c}.csv{named[3] or ''}") for c in COMPLEXITIES}
    return {c: file for c, file in beside.items() if file.is_file()}


def _cases(path: Path, subset: str, complexity: str | None) -> Iterator[Case]:
    schema: type[_Negatives | _Atoms | _Compounds] = _Negatives
    if subset in SYSTEMATICITY:
        schema = _Atoms if SYSTEMATICITY[subset][1] == "atom" else _Compounds
    for i, (place, row) in enumerate(read_csv(path, schema)):
        negatives = texts_of(row.negatives, schema.__struct_encode_fields__[-1], place)
        texts = (row.caption, *negatives)
        match = np.arange(len(texts))[None] == 0
        identity = str(i) if complexity is None else f"{complexity}-{i}"
        image = _image(row, place)
        yield Case((image,), texts, match, "i2t", subset, identity, complexity, correct_first=True)


def _image(row: _CREPERow, place: str) -> ImageRef:
    try:
        left, top, width, height = (int(float(n)) for n in (row.x, row.y, row.width, row.height))
    except (ValueError, OverflowError) as error:
        raise ZooError(f"{place} has a box that is no number ({error}): fetch it again") from error
    if width < 1 or height < 1:
        raise ZooError(
            f"{place} has a box of {width} x {height} pixels, which shows nothing: "
            "fetch the file again"
        )
    image = visual_genome_ref(f"{row.image_id}.jpg", place)
    return replace(image, crop=(left, top, width, height))
