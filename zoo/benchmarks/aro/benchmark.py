"""ARO (Yuksekgonul et al. 2023).

Relations and attributes are swapped on Visual Genome, and word order is spoilt on COCO and
Flickr30k.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zoo.benchmarks.annotations import chosen, count_notes, locate, overridden, overrides, read_list
from zoo.benchmarks.aro.order import ordered
from zoo.benchmarks.base import Benchmark, Case, Contents, Subset
from zoo.errors import ZooError
from zoo.language.tagger import Tagger
from zoo.language.taggers import default_tagger
from zoo.sources.images import image_ref
from zoo.sources.sample import ImageRef
from zoo.support.text_files import field

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
RELATION, ATTRIBUTION, COCO_ORDER, FLICKR_ORDER = SUBSETS = (
    "VG-Relation",
    "VG-Attribution",
    "COCO-Order",
    "Flickr30k-Order",
)


class ARO(Benchmark):
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
    offers = SUBSETS

    def __init__(
        self,
        files: dict[str, str] | None = None,
        seed: int = 1,
        tagger: Tagger | None = None,
        order_dir: str | None = None,
        subsets: list[str] | None = None,
    ) -> None:
        self.wanted = chosen(self.name, subsets, self.offers)
        self.files = overrides(self.name, files, SUBSETS)
        self.seed, self.tagger = seed, tagger
        self.order_dir = None if order_dir is None else Path(order_dir)

    @property
    def subsets(self) -> tuple[Subset, ...]:
        """The subsets asked for."""
        relation, attribution = "visual_genome_relation.json", "visual_genome_attribution.json"
        coco, flickr = "coco_karpathy_test.json", "flickr30k_test.json"
        subsets = (
            Subset(
                RELATION,
                (f"aro/{relation}",),
                23_937,
                VISUAL_GENOME_HOW.format(file=relation, drive="1kX2iCHEv0CADL8dSO1nMdW-V0NqIAiP3"),
                chance={"i2t": 50.0, "macro": 50.0},
                published={"macro": 59.9},
            ),
            Subset(
                ATTRIBUTION,
                (f"aro/{attribution}",),
                28_748,
                VISUAL_GENOME_HOW.format(
                    file=attribution, drive="13tWvOrNOLHxl3Rm9cR3geAdHx2qR3-Tw"
                ),
                chance={"i2t": 50.0, "macro": 50.0},
                published={"macro": 63.2},
            ),
            Subset(
                COCO_ORDER,
                (f"aro/{coco}",),
                25_010,
                ORDER_HOW.format(file=coco, images="coco/val2014"),
                chance={"i2t": 20.0},
                published={"i2t": 47.6},
            ),
            Subset(
                FLICKR_ORDER,
                (f"aro/{flickr}",),
                5_000,
                ORDER_HOW.format(file=flickr, images="flickr30k"),
                chance={"i2t": 20.0},
                published={"i2t": 59.6},
            ),
        )
        return overridden((subset for subset in subsets if subset.name in self.wanted), self.files)

    def read(self, root: Path) -> Contents:
        """Returns the cases of the subsets whose files are there.

        Captions of the order sets are perturbed, and kept, where that was not done before.

        Args:
            root: A data root.

        Raises:
            ZooError: A file is wrong, or perturbed captions cannot be written.
        """
        contents, counts = Contents([], [], []), []
        for subset in self.subsets:
            path = locate(root, subset)
            if path is None:
                contents.absent.append(subset)
                continue
            if subset.name in (RELATION, ATTRIBUTION):
                cases = list(_swapped(path, subset.name))
                contents.files.append(path)
            else:
                tagger = self.tagger or default_tagger()
                order = ordered(path, subset.name, self.seed, tagger, self.order_dir)
                cases = list(order.cases)
                contents.files.extend(order.files)
                contents.notes[subset.name] = order.note
            counts.append((subset, len(cases)))
            contents.cases.extend(cases)
        contents.notes.update(count_notes(counts))
        return contents


def _swapped(path: Path, subset: str) -> Iterator[Case]:
    match = np.array([[True, False]])
    group = _relation if subset == RELATION else _attributes
    for i, entry in enumerate(read_list(path)):
        origin = f"{path}[{i}]"
        texts = (
            field(entry, "true_caption", str, origin),
            field(entry, "false_caption", str, origin),
        )
        yield Case(
            (_cropped(entry, origin),), texts, match, "i2t", subset, str(i), group(entry, origin)
        )


def _cropped(entry: Any, origin: str) -> ImageRef:
    image = image_ref(f"visual_genome/{field(entry, 'image_path', str, origin)}")
    left, top, width, height = (
        int(field(entry, f"bbox_{side}", (int, float), origin)) for side in "xywh"
    )
    if width < 1 or height < 1:
        raise ZooError(
            f"{origin} has a box of {width} x {height} pixels, which shows nothing: "
            "fetch the file again"
        )
    return replace(image, crop=(left, top, width, height))


def _relation(entry: Any, origin: str) -> str:
    return str(field(entry, "relation_name", str, origin))


def _attributes(entry: Any, origin: str) -> str:
    pair = field(entry, "attributes", list, origin)
    if len(pair) != 2:
        raise ZooError(
            f"{origin} has {len(pair)} attributes, where the benchmark compares two: "
            "fetch the file again"
        )
    return f"{pair[0]}_{pair[1]}"
