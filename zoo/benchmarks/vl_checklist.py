"""VL-CheckList (Zhao et al. 2022): objects, attributes and relations of four sets of images."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from zoo.benchmarks.annotations import identical_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.images import image_ref, visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.ranges import PositiveInt
from zoo.support.schema import read_list

HOW = (
    "`git clone https://github.com/om-ai-lab/VL-CheckList` and copy its data/* into "
    "DATA_ROOT/vl_checklist; images are Visual Genome's (in DATA_ROOT/visual_genome), SWiG's (in "
    "DATA_ROOT/swig/images_512) and HAKE's (in DATA_ROOT/hake, a folder for each of its sources)"
)
ATTRIBUTES = ("action", "color", "material", "size", "state")
PLACES = {
    "Location": ("center", "mid", "margin"),
    "Size": ("large", "medium", "small"),
}
# accuracy of OpenAI's ViT-B/32 as vl_compo measured it, of the one kind that is a single corpus
PUBLISHED = {"Relation/spatial/vg": 54.0}

Texts = Annotated[tuple[str, ...], Meta(min_length=1)]


class _TextPair(Struct, rename="upper"):
    pos: Texts
    neg: Texts


def _corpora() -> Iterator[tuple[str, str]]:
    """Yields the corpora, as the authors' tree names them, and their files."""
    for asked, kinds in PLACES.items():
        for kind in kinds:
            place, folder = f"Object/{asked}/{kind}", f"Object/{asked}"
            yield f"{place}/hake", f"{folder}/hake_{asked.lower()}/hake_obj_{kind}"
            for role in ("swig_agent", "swig_destination", "swig_item", "swig_tool"):
                yield f"{place}/{role}", f"{folder}/swig_{asked.lower()}/{role}/{role}_{kind}"
            for part in ("vg_obj", "vg_subj"):
                yield f"{place}/{part}", f"{folder}/vg_{asked.lower()}/{part}_{kind}"
    for attribute in ATTRIBUTES:
        for source in ("vaw", "vg"):
            yield f"Attribute/{attribute}/{source}", f"Attribute/{source}/{attribute}"
    yield "Relation/action/hake", "Relation/hake_action"
    yield "Relation/action/swig", "Relation/swig_action"
    yield "Relation/action/vg", "Relation/vg/action"
    yield "Relation/spatial/vg", "Relation/vg/spatial"


class VLCheckList(PublishedBenchmark):
    """VL-CheckList: 56 corpora of captions with one word changed, 1,000 rows of each.

    The subsets are the corpora, named as in the authors' tree (Attribute/color/vg). A row may have
    several captions and foils, of which the first ones are asked about. A case's id is its row.

    Args:
        rows: How many rows of a corpus are asked about: the first whose images are found.
        files: Other places of the annotations, by subset.
        subsets: The subsets wanted, None for all.
    """

    name = "vl_checklist"
    version = 2
    licence = "none stated"
    citation = "Zhao et al., VL-CheckList, EMNLP 2022, arXiv:2207.00221"
    published = tuple(
        Subset(
            corpus,
            (f"vl_checklist/{file}.json",),
            None,
            HOW,
            chance={"i2t": 50.0},
            published={"i2t": PUBLISHED[corpus]} if corpus in PUBLISHED else {},
        )
        for corpus, file in _corpora()
    )

    def __init__(
        self,
        rows: PositiveInt = 1_000,
        files: dict[str, str] | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        super().__init__(files, subsets)
        self.rows = rows

    def cases(self, path: Path, subset: str) -> Iterable[Case]:
        """Returns a case for each row: the image, its first caption and its first foil."""
        return self.read_subset(path, subset).cases

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of all rows, how many are asked about, and notes of odd foils."""
        match, cases = np.array([[True, False]]), []
        for i, (place, (name, texts)) in enumerate(read_list(path, tuple[str, _TextPair])):
            image, pair = _image(name, subset, place), (texts.pos[0], texts.neg[0])
            cases.append(Case((image,), pair, match, "i2t", subset, str(i)))
        notes = identical_note(subset, cases)
        bare = sum(case.texts[1].startswith(" ") for case in cases)
        if bare:
            notes[f"{subset} bare foils"] = f"{bare:,} are a name after a blank, not a caption"
        return Contents(cases, [path], [], notes, limits={subset: self.rows})


def _image(name: str, subset: str, place: str) -> ImageRef:
    source = subset.rpartition("/")[2]
    if source.startswith("swig"):
        return ImageRef("published", f"swig/images_512/{Path(name).name}")
    if source != "hake":
        return visual_genome_ref(name, place)
    known = image_ref(f"hake/{name}")
    return known if known.source == "coco" else ImageRef("published", known.key)
