"""VL-CheckList (Zhao et al. 2022): objects, attributes and relations in four image datasets."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from zoo.benchmarks.annotations import unanswerable_note
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.download_commands import download_command
from zoo.benchmarks.published import PublishedBenchmark
from zoo.sources.images import infer_image_ref, visual_genome_ref
from zoo.sources.sample import ImageRef
from zoo.support.ranges import PositiveInt
from zoo.support.schema import read_list

INSTRUCTIONS = (
    f"{download_command('vl_checklist')}; "
    "put SWiG's images into DATA_ROOT/swig/images_512, and HAKE's into DATA_ROOT/hake, in the "
    "folders that the annotations name"
)
ATTRIBUTES = ("action", "color", "material", "size", "state")
PLACES = {
    "Location": ("center", "mid", "margin"),
    "Size": ("large", "medium", "small"),
}
# accuracy of OpenAI's ViT-B/32 as measured by vl_compo, for the only kind with a single corpus
PUBLISHED = {"Relation/spatial/vg": 54.0}

Texts = Annotated[tuple[str, ...], Meta(min_length=1)]


class _TextPair(Struct, rename="upper"):
    pos: Texts
    neg: Texts


def _corpora() -> Iterator[tuple[str, str]]:
    """Yields the name of each corpus, as in the authors' folders, and its file."""
    for aspect, kinds in PLACES.items():
        for kind in kinds:
            place, folder = f"Object/{aspect}/{kind}", f"Object/{aspect}"
            yield f"{place}/hake", f"{folder}/hake_{aspect.lower()}/hake_obj_{kind}"
            for role in ("swig_agent", "swig_destination", "swig_item", "swig_tool"):
                yield f"{place}/{role}", f"{folder}/swig_{aspect.lower()}/{role}/{role}_{kind}"
            for part in ("vg_obj", "vg_subj"):
                yield f"{place}/{part}", f"{folder}/vg_{aspect.lower()}/{part}_{kind}"
    for attribute in ATTRIBUTES:
        for source in ("vaw", "vg"):
            yield f"Attribute/{attribute}/{source}", f"Attribute/{source}/{attribute}"
    yield "Relation/action/hake", "Relation/hake_action"
    yield "Relation/action/swig", "Relation/swig_action"
    yield "Relation/action/vg", "Relation/vg/action"
    yield "Relation/spatial/vg", "Relation/vg/spatial"


class VLCheckList(PublishedBenchmark):
    """VL-CheckList: captions and foils with one changed word, in 56 corpora of 1,000 cases each.

    Each subset is one corpus. The name of a subset follows the authors' folders. The last part of
    the name identifies the source of the images: Visual Genome (`vg`, `vaw`), SWiG (`swig`) or HAKE
    (`hake`, which has images of seven data sets). The caption has to score above the foil (protocol
    `i2t`). A tie is wrong. If a row of the annotations has several captions and foils, zoo uses the
    first caption and the first foil.

    As in the authors' script, the cases of a corpus are the first 1,000 rows whose images exist.
    The cases therefore depend on which images you have. A note counts the skipped rows. If images
    exist for fewer than 1,000 rows, the missing cases count as not scored. In some rows, the foil
    equals the caption. In other rows, the foil is not a sentence, but only a noun after a space.
    Notes count both kinds of rows.

    vl_compo publishes means over corpora. Only the mean of `Relation/spatial` is over a single
    corpus, so only this value is in the table.

    Args:
        rows: The number of rows per corpus. The first rows whose images exist are used.
        files: Paths of annotation files, by subset, if they are not the default ones.
        subsets: The chosen subsets; None for all.

    Examples:
        The first ten rows of each corpus of colours, instead of 1,000:

        >>> from zoo.benchmarks import VLCheckList
        >>> colors = [name for name in VLCheckList.subset_names if "/color/" in name]
        >>> [subset.name for subset in VLCheckList(rows=10, subsets=colors).subsets]
        ['Attribute/color/vaw', 'Attribute/color/vg']
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
            INSTRUCTIONS,
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
        """Returns the cases of all rows with the limit on their number, and notes on odd foils."""
        match, cases = np.array([[True, False]]), []
        for i, (place, (name, texts)) in enumerate(read_list(path, tuple[str, _TextPair])):
            image, pair = _image(name, subset, place), (texts.pos[0], texts.neg[0])
            cases.append(Case((image,), pair, match, "i2t", subset, str(i)))
        notes = unanswerable_note(subset, cases)
        bare = sum(case.texts[1].startswith(" ") for case in cases)
        if bare:
            notes[f"{subset} bare foils"] = f"{bare:,} are a name after a space, not a caption"
        return Contents(cases, [path], [], notes, limits={subset: self.rows})


def _image(name: str, subset: str, place: str) -> ImageRef:
    source = subset.rpartition("/")[2]
    if source.startswith("swig"):
        return ImageRef("published", f"swig/images_512/{Path(name).name}")
    if source != "hake":
        return visual_genome_ref(name, place)
    image = infer_image_ref(f"hake/{name}")
    return image if image.source == "coco" else ImageRef("published", image.key)
