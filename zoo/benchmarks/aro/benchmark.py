"""ARO (Yuksekgonul et al. 2023).

Relations and attributes are swapped on Visual Genome, and word order is spoilt on COCO and
Flickr30k.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from msgspec import Struct

from zoo.benchmarks.aro.order import ordered
from zoo.benchmarks.base import Case, Contents, Subset
from zoo.benchmarks.hub import Hub
from zoo.benchmarks.published import PublishedBenchmark
from zoo.errors import ZooError
from zoo.language.tagger import Tagger
from zoo.language.taggers import default_tagger
from zoo.sources.images import image_ref
from zoo.sources.sample import ImageRef
from zoo.support.schema import listed

VISUAL_GENOME_HOW = (
    "download {file} from Google Drive (id {drive}) into DATA_ROOT/aro; "
    "its images are vgr_vga_images.zip (id 1qaPlrwhGNMrR3a11iopZUT_GPP_LrgP9), "
    "unpacked in DATA_ROOT/visual_genome"
)
ORDER_HOW = (
    "put {file} (BLIP's annotation, "
    "storage.googleapis.com/sfr-vision-language-research/datasets/{file}) into DATA_ROOT/aro; "
    "its images go to DATA_ROOT/{images}"
)
RELATION, ATTRIBUTION, COCO_ORDER, FLICKR_ORDER = (
    "VG-Relation",
    "VG-Attribution",
    "COCO-Order",
    "Flickr30k-Order",
)


class _Swapped(Struct):
    image_path: str
    bbox_x: float
    bbox_y: float
    bbox_w: float
    bbox_h: float
    true_caption: str
    false_caption: str


class _Relation(_Swapped):
    relation_name: str


class _Attribution(_Swapped):
    attributes: tuple[str, str]


class ARO(PublishedBenchmark):
    """ARO: VG-Relation, VG-Attribution, COCO-Order and Flickr30k-Order, 82,695 cases.

    Args:
        files: Other places of the annotations, by subset. For an order set it may also be a file of
            perturbed captions (.jsonl) that another run made.
        seed: Settles the perturbations of the order sets.
        tagger: The tagger of the perturbations. Where None, spaCy's where it and its English
            pipeline are installed, else TextBlob's.
        order_dir: The folder where perturbed captions are kept. None takes the user's cache folder;
            the data root is only read.
        subsets: The subsets wanted, None for all four.
    """

    name = "aro"
    licence = "MIT"
    citation = (
        "Yuksekgonul et al., When and why vision-language models behave like bags-of-words, "
        "ICLR 2023, arXiv:2210.01936"
    )
    copies = (
        Hub("mteb/ARO-Visual-Relation", "53c1115ab5871ab33b09d5bb8856236d46bdaf2d"),
        Hub("mteb/ARO-Visual-Attribution", "25fe9b460426ff67cdb0608a737c94f8f49a901e"),
        Hub("mteb/ARO-COCO-order", "53c20afc02a87fed8c0245dde2e00f054da4b861"),
        Hub("mteb/ARO-Flickr-Order", "e5d7f3502345b2c398a6645b4d09b44e650287bf"),
    )
    published = (
        Subset(
            RELATION,
            ("aro/visual_genome_relation.json",),
            23_937,
            VISUAL_GENOME_HOW.format(
                file="visual_genome_relation.json", drive="1kX2iCHEv0CADL8dSO1nMdW-V0NqIAiP3"
            ),
            chance={"i2t": 50.0, "macro": 50.0},
            published={"macro": 59.9},
        ),
        Subset(
            ATTRIBUTION,
            ("aro/visual_genome_attribution.json",),
            28_748,
            VISUAL_GENOME_HOW.format(
                file="visual_genome_attribution.json", drive="13tWvOrNOLHxl3Rm9cR3geAdHx2qR3-Tw"
            ),
            chance={"i2t": 50.0, "macro": 50.0},
            published={"macro": 63.2},
        ),
        Subset(
            COCO_ORDER,
            ("aro/coco_karpathy_test.json",),
            25_010,
            ORDER_HOW.format(file="coco_karpathy_test.json", images="coco/val2014"),
            chance={"i2t": 20.0},
            published={"i2t": 47.6},
        ),
        Subset(
            FLICKR_ORDER,
            ("aro/flickr30k_test.json",),
            5_000,
            ORDER_HOW.format(file="flickr30k_test.json", images="flickr30k"),
            chance={"i2t": 20.0},
            published={"i2t": 59.6},
        ),
    )

    def __init__(
        self,
        files: dict[str, str] | None = None,
        seed: int = 1,
        tagger: Tagger | None = None,
        order_dir: str | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        super().__init__(files, subsets)
        self.seed, self.tagger = seed, tagger
        self.order_dir = None if order_dir is None else Path(order_dir)

    def read_subset(self, path: Path, subset: str) -> Contents:
        """Returns the cases of a subset.

        Captions of the order sets are perturbed, and kept, where that was not done before.

        Args:
            path: Its annotation file.
            subset: Its name.

        Raises:
            ZooError: The file is wrong, or perturbed captions cannot be written.
        """
        if subset in (RELATION, ATTRIBUTION):
            return super().read_subset(path, subset)
        tagger = self.tagger or default_tagger()
        order = ordered(path, subset, self.seed, tagger, self.order_dir)
        return Contents(order.cases, order.files, [], {subset: order.note})

    def cases(self, path: Path, subset: str) -> Iterator[Case]:
        """Yields a case for each entry of VG-Relation or VG-Attribution: a box and two captions."""
        match = np.array([[True, False]])
        schema: type[_Relation | _Attribution]
        schema = _Relation if subset == RELATION else _Attribution
        for i, (place, entry) in enumerate(listed(path, schema)):
            texts = entry.true_caption, entry.false_caption
            image = (_cropped(entry, place),)
            yield Case(image, texts, match, "i2t", subset, str(i), _group(entry))


def _group(entry: _Relation | _Attribution) -> str:
    """Returns what the macro average is taken over."""
    return entry.relation_name if isinstance(entry, _Relation) else "_".join(entry.attributes)


def _cropped(entry: _Swapped, place: str) -> ImageRef:
    box = entry.bbox_x, entry.bbox_y, entry.bbox_w, entry.bbox_h
    left, top, width, height = map(int, box)
    if width < 1 or height < 1:
        raise ZooError(
            f"{place} has a box of {width} x {height} pixels, which shows nothing: "
            "fetch the file again"
        )
    return replace(image_ref(f"visual_genome/{entry.image_path}"), crop=(left, top, width, height))
