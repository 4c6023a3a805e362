"""CREPE (Ma et al. 2023): captions of increasing complexity against hard negatives."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.annotations import unanswerable_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.csv_rows import parse_texts, read_csv
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.sources.images import visual_genome_ref
from zoo.sources.sample import ImageRef

INSTRUCTIONS = download_command("crepe")
# accuracy of OpenAI's ViT-B/32 as vl_compo measured it, over all complexities
PRODUCTIVITY = {"atom": 19.0, "swap": 17.3, "negate": 34.9}
COMPLEXITIES = range(4, 13)
FOLDER = "crepe/prod_hard_negatives"
FILE = "prod_vg_hard_negs_{}_complexity_{}.csv"
FILE_PATTERN = re.compile(r"(prod_vg_hard_negs_\w+_complexity_)(\d+)\.csv(\.gz)?")
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
    """CREPE: long captions (productivity), and seen or unseen word combinations (systematicity).

    A case has a region of an image (a box), a caption of this region, and foils. The protocol is
    `i2t`, which is the authors' recall at 1. The authors' script lists the caption first and sorts
    by score, so a tie is right.

    Subsets `atom`, `swap` and `negate` test productivity. In `atom`, a foil replaces a part of the
    caption. In `swap`, most foils exchange two parts. In `negate`, a foil adds a negation. This
    makes the foil longer, so the shortest text of a case is nearly always right. The complexity of
    a caption, from 4 to 12, is its number of objects, attributes and relations. Each of these three
    subsets has one file per complexity. The table shows the first file. Column `group` of
    `cases.parquet` has the complexity. The published values are from vl_compo, over all
    complexities.

    The other subsets test systematicity. They are for models that were trained on CC12M, YFCC or
    LAION. The name of a subset contains the training set. The word combinations in a caption occur
    in this training set (`seen`) or do not (`unseen`). There are two kinds of foils. For the
    caption "a red brick paved sidewalk", a foil of kind `atom` replaces a word ("a brown brick
    paved sidewalk"). A foil of kind `comp` has two phrases, each with a word of the caption ("a red
    mall and blue sidewalk"). zoo's code for these subsets was written from the authors' script,
    without access to the files.

    Images are from Visual Genome, at their published size. If many boxes extend beyond your images,
    the images were probably resized. zoo then evaluates none
    of the cases.

    Examples:
        A tie is right, since the official script lists the caption first:

        >>> import numpy as np
        >>> from pathlib import Path
        >>> from zoo.benchmarks import CREPE
        >>> _ = Path("cc.csv").write_text('''image_id,caption,x,y,width,height,valid_hard_negs_comp
        ... 7,a red cup,1,1,4,4,['a blue cup']''')
        >>> [case] = CREPE({"seen_cc12m_comp": "cc.csv"}, ["seen_cc12m_comp"]).read(Path()).cases
        >>> case.tie_is_right(case.judge(np.array([[2.0, 2.0]]))[0])
        True
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
                INSTRUCTIONS,
                published={"i2t": accuracy},
            )
            for kind, accuracy in PRODUCTIVITY.items()
        ),
        *(
            Subset(
                subset,
                (f"crepe/syst_hard_negatives/{file}",),
                None,
                INSTRUCTIONS,
            )
            for subset, (file, _) in SYSTEMATICITY.items()
        ),
    )

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each row: a box, its caption and the hard negatives."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset; productivity also reads the other complexities' files."""
        files = {None: path} if subset in SYSTEMATICITY else _files_by_complexity(path)
        cases, n_omitted = [], 0
        for complexity, file in files.items():
            for case in _cases(file, subset, complexity):
                if case.match.all():
                    n_omitted += 1
                else:
                    cases.append(case)
        notes = unanswerable_note(subset, cases)
        if n_omitted:
            notes[f"{subset} omitted"] = f"{n_omitted:,} without a hard negative"
        absent = [str(c) for c in COMPLEXITIES if {None, str(c)}.isdisjoint(files)]
        if absent:
            notes[f"{subset} complexities"] = (
                f"without {', '.join(absent)}, whose files are missing"
            )
        return Contents(cases, list(files.values()), [], notes)


def _files_by_complexity(path: Path) -> dict[str | None, Path]:
    """Returns the files of all complexities that are in the folder of one of them."""
    name_match = FILE_PATTERN.fullmatch(path.name)
    if name_match is None:
        return {None: path}
    candidates = {
        str(c): path.with_name(f"{name_match[1]}{c}.csv{name_match[3] or ''}") for c in COMPLEXITIES
    }
    return {c: file for c, file in candidates.items() if file.is_file()}


def _cases(path: Path, subset: str, complexity: str | None) -> Iterator[Case]:
    schema: type[_Negatives | _Atoms | _Compounds] = _Negatives
    if subset in SYSTEMATICITY:
        schema = _Atoms if SYSTEMATICITY[subset][1] == "atom" else _Compounds
    for i, (place, row) in enumerate(read_csv(path, schema)):
        negatives = parse_texts(row.negatives, schema.__struct_encode_fields__[-1], place)
        texts = (row.caption, *negatives)
        match = np.arange(len(texts))[None] == 0
        identity = str(i) if complexity is None else f"{complexity}-{i}"
        image = _image(row, place)
        yield Case(
            (image,), texts, match, "i2t", subset, identity, complexity, right_listed_first=True
        )


def _image(row: _CREPERow, place: str) -> ImageRef:
    try:
        left, top, width, height = (int(float(n)) for n in (row.x, row.y, row.width, row.height))
    except (ValueError, OverflowError) as error:
        raise ZooError(
            f"{place} has a box that is not a number ({error}): download it again"
        ) from error
    if width < 1 or height < 1:
        raise ZooError(
            f"{place} has a box of {width} x {height} pixels, which is empty: download the file "
            "again"
        )
    image = visual_genome_ref(f"{row.image_id}.jpg", place)
    return replace(image, crop=(left, top, width, height))
